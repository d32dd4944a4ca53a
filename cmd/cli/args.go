package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dustin/go-humanize/english"
)

// takes checks the number of arguments and, where it is wrong, says what the
// command looks like.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("got %s, want '%s'", english.Plural(len(args), "argument", ""), cmd.UseLine())
		}
		return nil
	}
}
