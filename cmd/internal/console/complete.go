package console

import "github.com/spf13/cobra"

// CompleteWords makes the shell complete a flag's value from a list of words.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	CompleteFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteFiles makes the shell complete the values of flags with file names.
func CompleteFiles(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		CompleteFlag(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	}
}

// CompleteFolders makes the shell complete a flag's value with folder names.
func CompleteFolders(cmd *cobra.Command, flag string) {
	CompleteFlag(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
}

func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // an error means that the flag is not registered, or already has a completion function
	}
}
