package main

import (
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
			return writing(writeMan(c.OutOrStdout(), c.Root()))
		},
	}
}

// writeMan writes one page about a program and all of its commands, in the macros of
// man(7).
func writeMan(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s %s\"\n", roff(strings.ToUpper(root.Name())), root.Name(), roff(root.Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", root.Name(), roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIFLAGS\\fR]\n.SH DESCRIPTION\n", root.Name())
	manText(&b, root.Long)
	b.WriteString(".SH COMMANDS\n")
	manCommands(&b, root)
	_, err := io.WriteString(w, b.String())
	return err
}

// manCommands writes a section about each command below one.
func manCommands(b *strings.Builder, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(b, ".SS %s\n", roff(c.UseLine()))
		text := longOf(c)
		if text == "" {
			text = c.Short + "."
		}
		manText(b, text)
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
			fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
		})
		manCommands(b, c)
	}
}

// manText writes paragraphs; lines that are indented stand as they are.
func manText(b *strings.Builder, text string) {
	verbatim := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ")
		switch {
		case line == "":
			if !verbatim {
				b.WriteString(".PP\n")
			}
			continue
		case indented && !verbatim:
			b.WriteString(".PP\n.nf\n")
		case !indented && verbatim:
			b.WriteString(".fi\n.PP\n")
		}
		verbatim = indented
		b.WriteString(roff(strings.ReplaceAll(line, "\t", "    ")) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
}

// roff escapes what means something to troff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
