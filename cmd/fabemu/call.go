package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fabemu/emu/base/spelling"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// knownCommand refuses an argument that is no command below parent.
func knownCommand(parent *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !parent.HasAvailableSubCommands() {
		return fmt.Errorf("%s has no %q", parent.CommandPath(), args[0])
	}
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("there is no command %q%s: there are %s",
		args[0], spelling.DidYouMean(spelling.Nearest(args[0], names)), strings.Join(names, ", "))
}

// prepare makes a command, and the commands below it, check their flags, and show the right call where a call has
// too few or too many arguments.
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
	for _, below := range c.Commands() {
		prepare(below)
	}
}

// flagMistake explains the mistake in a flag.
func flagMistake(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w%s", err, spelling.DidYouMean("--"+near))
		}
	}
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		wanted := map[string]string{"uint64": "a whole number from 0 on", "int": "a whole number",
			"float64": "a number", "bool": "true or false"}[value.GetFlag().Value.Type()]
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("--%s %s: the number is too large", value.GetFlag().Name, value.GetValue())
		case wanted != "":
			return fmt.Errorf("--%s %s: %s is wanted", value.GetFlag().Name, value.GetValue(), wanted)
		}
	}
	return err
}

// helpCommand explains a command, and refuses a word that is no command.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		ValidArgsFunction: func(_ *cobra.Command, words []string, _ string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			var names []cobra.Completion
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
			c, rest, err := root.Find(words)
			if err == nil && len(rest) > 0 {
				err = knownCommand(c, rest)
			}
			if err != nil {
				return err
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}
