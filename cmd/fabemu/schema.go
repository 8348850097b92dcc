package main

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/schema"

	"github.com/spf13/cobra"
)

func schemaCommand() *cobra.Command {
	var f commonFlags
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the language of scenarios as a JSON Schema, for editors",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.Format == "markdown" {
				tables := scenario.BuiltIn()
				fmt.Fprint(c.OutOrStdout(), schema.Markdown(scenario.Language(), tables.Algorithms, tables.Points))
			} else {
				c.OutOrStdout().Write(schema.JSON(scenario.Language()))
			}
			return nil
		},
	}
	f.formats(c, "json", "markdown")
	return c
}
