package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// AllCommands returns every command of the program, including hidden commands, without the
// program's name.
func (p Program) AllCommands() (list []string) {
	a := &app{App: &console.App{Name: defaultName, Jobs: p.Jobs}, commands: p.Commands}
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		if c.Runnable() {
			list = append(list, strings.TrimPrefix(c.CommandPath(), defaultName+" "))
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(a.root())
	return list
}
