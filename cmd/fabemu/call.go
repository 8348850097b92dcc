package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// prepare makes a command, and the commands below it, check their flags, and show the right call
// where a call has too few or too many arguments.
func prepare(c *cobra.Command) {
	if wanted := c.Args; wanted != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := wanted(c, args); err != nil {
				return fmt.Errorf("%w: the call is %s", err, c.UseLine())
			}
			return nil
		}
	}
	c.PreRunE = checkFlags
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if words := f.Annotations[takesWords]; words != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // once
		}
	})
	for _, below := range c.Commands() {
		prepare(below)
	}
}

// helpCommand explains a command, and refuses a word that is no command.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Explain a command",
		ValidArgsFunction: func(_ *cobra.Command, words []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if c, rest, err := root.Find(words); err == nil && len(rest) == 0 {
				for _, below := range c.Commands() {
					if below.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(below.Name(), below.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, words []string) error {
			c, err := commandAt(root, words)
			if err != nil {
				return err
			}
			return c.Help()
		},
	}
}
