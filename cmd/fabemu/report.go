package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/result/summary"
	"fabemu/emu/study/papers"

	"github.com/spf13/cobra"
)

func reportCommand() *cobra.Command {
	var f commonFlags
	var style plot.Style
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write " + report.PageFile + " for the results of a run: one file for browsers, offline",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			wrong := []error{style.Check()}
			if wrong[0] != nil {
				return wrong[0]
			}
			for _, dir := range dirs {
				paths, err := writeReport(dir, f.Force, &style)
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
	add(c, &f, "force")
	add(c, &style)
	c.Flags().Lookup("figures").Usage = strings.Replace(c.Flags().Lookup("figures").Usage, "svg)", "none)", 1)
	return c
}

// writeReport writes the report of one directory, and its pictures in the formats of a style. It
// returns the paths of the files that it has written.
func writeReport(dir string, force bool, style *plot.Style) (paths []string, err error) {
	page := filepath.Join(dir, report.PageFile)
	if _, err := os.Stat(filepath.Join(dir, papers.ClaimsFile)); err == nil {
		return nil, fmt.Errorf("%s has the results of fabemu reproduce, whose report is there already: %s", dir, page)
	}
	repeated, err := seeds.Read(dir)
	var d *report.Dir
	if err != nil {
		if d, err = report.ReadDir(dir); err != nil {
			return nil, &emu.Mistake{Err: err}
		}
	}
	if exists(page) && !force {
		return nil, isThere(page)
	}
	if hold, err := files.TakeHold(dir); err == nil { // else a run is going on, and tidies
		defer hold.Release()
		if err := hold.Tidy(report.PageFile); err != nil {
			return nil, failure{err}
		}
	}
	path := ""
	if d == nil {
		path, err = summary.WriteRepetitionsPage(dir, repeated, style)
	} else {
		path, err = summary.WritePage(d, style)
	}
	switch {
	case err != nil:
		return nil, failure{err}
	case style.Formats == nil:
		return []string{path}, nil
	case d == nil:
		paths, err = summary.DrawRepetitions(dir, repeated, style)
	default:
		paths, err = summary.WritePictures(d, style)
	}
	return append([]string{path}, paths...), failed(err)
}
