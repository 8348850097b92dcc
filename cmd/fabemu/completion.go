package main

import (
	"fabemu/emu/scenarios"

	"github.com/spf13/cobra"
)

// completeScenarios has the shell complete the scenarios that come with the
// program, each with what it shows, and then files.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, e := range scenarios.List() {
		names = append(names, cobra.CompletionWithDesc(e.Name, e.Description))
	}
	return names, cobra.ShellCompDirectiveDefault
}

// completeScenario is completeScenarios where one scenario is wanted.
func completeScenario(c *cobra.Command, taken []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(taken) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeScenarios(c, taken, word)
}
