package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page, for man -l or a package",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			writeMan(c.OutOrStdout(), c.Root())
			return nil
		},
	}
}

// writeMan writes one page about a program and all of its commands, in the macros of
// man(7).
func writeMan(w io.Writer, root *cobra.Command) {
	fmt.Fprintf(w, ".TH %s 1 \"\" \"%s %s\"\n", roff(strings.ToUpper(root.Name())), root.Name(), roff(root.Version))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", root.Name(), roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIFLAGS\\fR]\n.SH DESCRIPTION\n", root.Name())
	manText(w, root.Long)
	fmt.Fprintln(w, ".SH COMMANDS")
	manCommands(w, root)
}

// manCommands writes a section about each command below one.
func manCommands(w io.Writer, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(w, ".SS %s\n", roff(c.UseLine()))
		manText(w, cmp.Or(longOf(c), c.Short+"."))
		c.InitDefaultHelpFlag()
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			name := `\fB` + roff("--"+f.Name) + `\fR`
			if f.Shorthand != "" {
				name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
			}
			if value != "" {
				name += ` \fI` + roff(value) + `\fR`
			}
			if d := f.DefValue; d != "" && d != "false" && d != "[]" && !strings.Contains(usage, "(default") {
				usage += " (default: " + d + ")"
			}
			fmt.Fprintf(w, ".TP\n%s\n%s\n", name, roff(usage))
		})
		manCommands(w, c)
	}
}

// manText writes paragraphs; lines that are indented stand as they are.
func manText(w io.Writer, text string) {
	verbatim := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ")
		switch {
		case line == "":
			if !verbatim {
				fmt.Fprintln(w, ".PP")
			}
			continue
		case indented && !verbatim:
			fmt.Fprintln(w, ".PP\n.nf")
		case !indented && verbatim:
			fmt.Fprintln(w, ".fi\n.PP")
		}
		verbatim = indented
		fmt.Fprintln(w, roff(strings.ReplaceAll(line, "\t", "    ")))
	}
	if verbatim {
		fmt.Fprintln(w, ".fi")
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
