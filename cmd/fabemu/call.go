package main

import (
	"fmt"
	"strings"

	"fabemu/emu/spelling"

	"github.com/spf13/cobra"
)

// knownCommand refuses what is no command.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("there is no command %q%s: there are %s", args[0], spelling.DidYouMean(spelling.Nearest(args[0], names)), strings.Join(names, ", "))
}

// sayUsage has a command, and those below it, say how it is called where it is called
// with too little or too much.
func sayUsage(c *cobra.Command) {
	if wanted := c.Args; wanted != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := wanted(c, args); err != nil {
				return fmt.Errorf("%w: the call is %s", err, c.UseLine())
			}
			return nil
		}
	}
	for _, below := range c.Commands() {
		sayUsage(below)
	}
}
