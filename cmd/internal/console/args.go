package console

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dustin/go-humanize/english"
)

// WantArgs returns a function that checks the number of arguments. The returned function's error
// contains the command's usage line.
func WantArgs(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("got %s, want '%s'", english.Plural(len(args), "argument", ""), cmd.UseLine())
		}
		return nil
	}
}
