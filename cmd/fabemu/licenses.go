package main

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

// licenses are the notices and license texts of all parts of a binary.
//
//go:embed licenses.txt
var licenses string

func licensesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the licenses of this program and of its parts",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			io.WriteString(c.OutOrStdout(), licenses)
			return nil
		},
	}
}
