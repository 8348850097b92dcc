package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fabemu/emu"
	"fabemu/emu/report"
	"fabemu/emu/reproduce"

	"github.com/spf13/cobra"
)

func reportCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write " + report.PageFile + " for the results of a run: one file for browsers, offline",
		Long: `Write ` + report.PageFile + ` into directories of results, of fabemu run: the verdict, the
claims, how rates, buffers and limits went, the machine, the scenario. It is one file
and opens offline. A directory in which something is missing is refused.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			var wrong []error
			for _, dir := range dirs {
				path, err := writeReport(dir, force)
				if err != nil {
					wrong = append(wrong, err)
					continue
				}
				fmt.Fprintln(c.OutOrStdout(), path)
			}
			return errors.Join(wrong...)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "write over a "+report.PageFile+" that is there")
	return c
}

// writeReport writes the report of one directory and returns its path.
func writeReport(dir string, force bool) (string, error) {
	page := filepath.Join(dir, report.PageFile)
	if _, err := os.Stat(filepath.Join(dir, reproduce.ClaimsFile)); err == nil {
		return "", fmt.Errorf("%s has the results of fabemu reproduce, whose report is there already: %s", dir, page)
	}
	d, err := report.ReadDir(dir)
	if err != nil {
		return "", &emu.Mistake{Err: err}
	}
	if _, err := os.Stat(page); !errors.Is(err, fs.ErrNotExist) && !force {
		return "", fmt.Errorf("%s is there already; --force writes over it", page)
	}
	if _, err := report.WritePage(d); err != nil {
		return "", failure{err}
	}
	return page, nil
}
