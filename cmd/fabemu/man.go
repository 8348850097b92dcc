package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"fabemu/emu/base/files"

	"github.com/spf13/cobra"
)

func manCommand() *cobra.Command {
	var f commonFlags
	c := &cobra.Command{
		Use:   "man [COMMAND...]",
		Short: "Print a manual page, or write all of them",
		RunE: func(c *cobra.Command, words []string) error {
			if f.Into != "" {
				return failed(writeManuals(f.Into, c.Root()))
			}
			of, err := commandAt(c.Root(), words)
			if err != nil {
				return err
			}
			writeManual(c.OutOrStdout(), of)
			return nil
		},
	}
	add(c, &f, "out")
	return c
}

// commandAt returns the command that words name.
func commandAt(root *cobra.Command, words []string) (*cobra.Command, error) {
	c, rest, err := root.Find(words)
	if err == nil && len(rest) > 0 {
		err = knownCommand(c, rest)
	}
	return c, err
}

// writeManuals writes the pages of a command and of those below it into a directory.
func writeManuals(dir string, c *cobra.Command) error {
	if !c.IsAvailableCommand() && c.HasParent() {
		return nil
	}
	var page bytes.Buffer
	writeManual(&page, c)
	err := files.MakeAll(dir)
	if err == nil {
		err = files.Replace(filepath.Join(dir, manualOf(c)+".1"), page.Bytes())
	}
	for _, below := range c.Commands() {
		if err == nil {
			err = writeManuals(dir, below)
		}
	}
	return err
}

// manualOf returns the name of the page of a command: fabemu-bench-limiter.
func manualOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// writeManual writes the page of a command in the macros of man(7).
func writeManual(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, ".TH %s 1 \"\" \"fabemu %s\"\n", roff(strings.ToUpper(manualOf(c))), roff(c.Root().Version))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", roff(manualOf(c)), roff(strings.ToLower(c.Short[:1])+c.Short[1:]))
	options := ".SH OPTIONS\n"
	for i, part := range describe(c) {
		switch part.kind {
		case heading:
			fmt.Fprintf(w, ".SH %s\n", strings.ToUpper(part.name))
		case flagsBelow:
			fmt.Fprintf(w, "%s.SS %s\n", options, roff(part.name))
			options = ""
		case paragraph:
			if i > 0 && part.intro {
				fmt.Fprintln(w, ".PP")
			}
			fmt.Fprintln(w, roff(strings.Join(strings.Fields(part.text), " ")))
		case literal:
			fmt.Fprintln(w, ".PP\n.nf")
			for line := range strings.Lines(part.text) {
				fmt.Fprintln(w, roff(strings.TrimRight(line, "\n")))
			}
			fmt.Fprintln(w, ".fi")
		case item:
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(part.name)), roff(part.text))
		}
	}
	if p := c.Parent(); p != nil {
		fmt.Fprintf(w, ".SH SEE ALSO\n.BR %s (1)\n", roff(manualOf(p)))
	}
}

// roff escapes the characters that troff interprets.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
