package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/study/papers"

	"github.com/spf13/cobra"
)

func reportCommand() *cobra.Command {
	var f commonFlags
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write " + report.PageFile + " for the results of a run: one file for browsers, offline",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			var wrong []error
			for _, dir := range dirs {
				paths, err := writeReport(dir, f.Force, f.PNG)
				if err != nil {
					wrong = append(wrong, err)
				}
				for _, path := range paths {
					fmt.Fprintln(c.OutOrStdout(), path)
				}
			}
			return errors.Join(wrong...)
		},
	}
	add(c, &f, "force", "png")
	return c
}

// writeReport writes the report of one directory, and the rates as PNG if asked to. It
// returns the paths of the files that it has written.
func writeReport(dir string, force, png bool) (paths []string, err error) {
	page := filepath.Join(dir, report.PageFile)
	if _, err := os.Stat(filepath.Join(dir, papers.ClaimsFile)); err == nil {
		return nil, fmt.Errorf("%s has the results of fabemu reproduce, whose report is there already: %s", dir, page)
	}
	d, err := report.ReadDir(dir)
	if err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	if exists(page) && !force {
		return nil, isThere(page)
	}
	if hold, err := files.TakeHold(dir); err == nil { // else a run is going on, and tidies
		defer hold.Release()
		if err := hold.Tidy(report.PageFile, report.PNGFile); err != nil {
			return nil, failure{err}
		}
	}
	writers := []func(*report.Dir) (string, error){summary.WritePage}
	if png {
		writers = append(writers, summary.WritePNG)
	}
	for _, write := range writers {
		path, err := write(d)
		if err != nil {
			return paths, failure{err}
		}
		paths = append(paths, path)
	}
	return paths, nil
}
