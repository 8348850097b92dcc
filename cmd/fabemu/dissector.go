package main

import (
	"fmt"
	"os"

	"fabemu/emu/watch/capture/dissector"

	"github.com/spf13/cobra"
)

func dissectorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "dissector",
		Short: "Print or install the Wireshark add-on for frames of fabemu",
	}
	c.AddCommand(&cobra.Command{
		Use:   "print",
		Short: "Print the add-on, a Lua script",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprint(c.OutOrStdout(), dissector.Script)
			return nil
		},
	})
	var f commonFlags
	install := &cobra.Command{
		Use:   "install",
		Short: "Install the add-on for Wireshark, with colours in a profile",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := os.UserHomeDir()
			if err != nil {
				return err
			}
			config, err := os.UserConfigDir()
			if err != nil {
				return err
			}
			files := dissector.Files(home, config)
			if err := dissector.Install(files, f.Force); err != nil {
				return err
			}
			for _, f := range files {
				fmt.Fprintln(c.OutOrStdout(), f.Path)
			}
			return nil
		},
	}
	add(install, &f, "force")
	c.AddCommand(install)
	return c
}
