package main

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/schema"

	"github.com/spf13/cobra"
)

func schemaCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the language of scenarios as a JSON Schema, for editors",
		Long: `Print the language of scenarios as a JSON Schema (draft 7).

An editor with a YAML language server completes and explains a scenario that
begins with the line

  # yaml-language-server: $schema=fabemu.schema.json

if the schema was saved there: fabemu schema >fabemu.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if format == "markdown" {
				tables := scenario.BuiltIn()
				fmt.Fprint(c.OutOrStdout(), schema.Markdown(scenario.Language(), tables.Laws, tables.Points))
			} else {
				c.OutOrStdout().Write(schema.JSON(scenario.Language()))
			}
			return nil
		},
	}
	formatFlag(c, &format, "json", "markdown")
	return c
}
