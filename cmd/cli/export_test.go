package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Commands returns every command of a program with the given jobs, including hidden commands,
// without the program's name.
func Commands(known ...jobs.Job) (list []string) {
	a := &app{name: defaultName, jobs: known}
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
