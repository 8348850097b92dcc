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
		Short: "The add-on with which Wireshark explains the frames",
	}
	c.AddCommand(&cobra.Command{
		Use:   "print",
		Short: "Print the add-on, a script in Lua",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprint(c.OutOrStdout(), dissector.Script)
			return nil
		},
	})
	var force bool
	install := &cobra.Command{
		Use:   "install",
		Short: "Put the add-on where Wireshark finds it, and colours into a profile of its own",
		Long: `Put the add-on into the user's folder of Wireshark plugins, and colouring rules and
preferences into a profile named fabemu: wireshark -C fabemu. Files that this program
did not write are left alone, and then nothing is installed, unless --force is given.`,
		Args: cobra.NoArgs,
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
			if err := dissector.Install(files, force); err != nil {
				return err
			}
			for _, f := range files {
				fmt.Fprintln(c.OutOrStdout(), f.Path)
			}
			return nil
		},
	}
	install.Flags().BoolVar(&force, "force", false, "overwrite files that this program did not write")
	c.AddCommand(install)
	return c
}
