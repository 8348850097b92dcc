package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/base/terminal"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpText has a section for each command: its text, its examples, and its exit statuses if they
// differ from those of all commands. A word in braces is replaced by the section of that name, or
// by a list.
//
//go:embed help.txt
var helpText string

// placeholder is a word in braces.
const placeholder = `\{[a-z]+\}`

// section returns a section of the help.
func section(title string) string {
	switch title {
	case "{papers}":
		return papersText()
	case "{kinds}":
		return kindsText()
	case "{schemes}":
		return strings.Join(generate.Schemes(), ", ")
	case "{changes}":
		return "  " + strings.ReplaceAll(scenario.Commands, "\n", "\n  ")
	}
	_, rest, _ := strings.Cut("\n"+helpText, "\n## "+title+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return regexp.MustCompile(placeholder).ReplaceAllStringFunc(strings.Trim(text, "\n"), section)
}

// helpOf returns the text of a command, its examples and its exit statuses.
func helpOf(c *cobra.Command) (text, examples, status string) {
	text, status, _ = strings.Cut(section(c.CommandPath()), "Exit status: ")
	text, examples, _ = strings.Cut(text, "Examples:\n")
	return strings.TrimSpace(cmp.Or(text, c.Long, c.Short+".")), strings.TrimRight(examples, "\n"), cmp.Or(status, section("{done}"))
}

// A flagGroup is the flags below a heading.
type flagGroup struct {
	title string
	flags []*pflag.Flag
}

// groupOrder has the headings of flags that come before others, the most used first.
const groupOrder = "Scenario Link, Runs Measurement Clock Results Watching Event log Capture Perfetto trace Processes Hosts"

// groupsOf returns the flags of a command, without --help.
func groupsOf(c *cobra.Command) (groups []*flagGroup) {
	sorted := c.Flags().SortFlags
	c.Flags().SortFlags = false // in the order of their declaration
	defer func() { c.Flags().SortFlags = sorted }()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		title := "Flags"
		if g := f.Annotations[inGroup]; len(g) > 0 {
			title = cmp.Or(g[0], title)
		}
		i := slices.IndexFunc(groups, func(g *flagGroup) bool { return g.title == title })
		if i < 0 {
			i, groups = len(groups), append(groups, &flagGroup{title: title})
		}
		groups[i].flags = append(groups[i].flags, f)
	})
	slices.SortStableFunc(groups, func(a, b *flagGroup) int { return a.place() - b.place() })
	return groups
}

// place returns the place of a group; those that groupOrder does not have come last.
func (g *flagGroup) place() int {
	if i := strings.Index(groupOrder, g.title); i >= 0 {
		return i
	}
	return len(groupOrder)
}

// valueOf returns the value of a flag as its help shows it.
func valueOf(f *pflag.Flag) (value string) {
	switch arg := f.Annotations[argument]; {
	case f.Value.Type() == "bool":
	case f.Annotations[takesWords] != nil:
		value = strings.Join(f.Annotations[takesWords], "|")
	case len(arg) > 0:
		value = arg[0]
	}
	return value
}

// nameOf returns a flag and its value as in a call.
func nameOf(f *pflag.Flag) string {
	switch value := valueOf(f); {
	case value == "":
		return "--" + f.Name
	case f.NoOptDefVal != "":
		return "--" + f.Name + "[=" + value + "]"
	default:
		return "--" + f.Name + " " + value
	}
}

// usageOf returns the help of a flag, with its default.
func usageOf(f *pflag.Flag) string {
	if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" && !strings.Contains(f.Usage, "default:") {
		return f.Usage + " (default: " + d + ")"
	}
	return f.Usage
}

// A helpBlock is a block of the help of a command.
type helpBlock struct {
	kind       helpKind
	name, text string
	intro      bool // it is part of the text before the first heading, in which empty lines separate blocks
}

type helpKind uint8

const (
	heading    helpKind = iota // of the name
	flagsBelow                 // the heading of a group of flags
	paragraph
	literal // lines that are printed as they are
	item    // a name and its text
)

// describe returns the help of a command, which is its manual page, too.
func describe(c *cobra.Command) (all []helpBlock) {
	put := func(kind helpKind, name, text string) {
		intro := kind != heading && (len(all) == 0 || all[len(all)-1].intro)
		all = append(all, helpBlock{kind, name, strings.ReplaceAll(text, "\t", "  "), intro})
	}
	text, examples, status := helpOf(c)
	for block := range strings.SplitSeq(text, "\n\n") {
		kind := paragraph
		if strings.HasPrefix(block, "  ") || strings.HasPrefix(block, "\t") {
			kind = literal
		}
		put(kind, "", block)
	}
	put(heading, "Usage", "")
	put(literal, "", "  "+c.UseLine())
	if examples != "" {
		put(heading, "Examples", "")
		put(literal, "", examples)
	}
	if c.HasAvailableSubCommands() {
		put(heading, "Commands", "")
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			put(item, "  "+below.Name(), below.Short)
		}
	}
	for _, g := range groupsOf(c) {
		put(flagsBelow, g.title, "")
		for _, f := range g.flags {
			name := "      " + nameOf(f)
			if f.Shorthand != "" {
				name = "  -" + f.Shorthand + ", " + nameOf(f)
			}
			put(item, name, usageOf(f))
		}
	}
	put(heading, "Exit status", "")
	put(paragraph, "", status)
	return all
}

// showHelp prints the help of a command.
func showHelp(c *cobra.Command, _ []string) {
	const column = 30
	p := terminal.Page{Look: terminal.LookOf(os.Stdout)}
	for i, part := range describe(c) {
		if i > 0 && part.intro {
			p.Line("")
		}
		switch part.kind {
		case heading, flagsBelow:
			p.Title(part.name)
		case paragraph:
			p.Paragraph(0, part.text)
		case literal:
			p.Line("%s", part.text)
		case item:
			if terminal.Columns(part.name) > column-2 {
				p.Line("%s", part.name)
				part.name = ""
			}
			p.Hang(terminal.Left(part.name, column), strings.Repeat(" ", column), part.text)
		}
	}
	fmt.Fprint(c.OutOrStdout(), p.String())
}

// knownCommand refuses an argument that is no command below parent.
func knownCommand(parent *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !parent.HasAvailableSubCommands() {
		return fmt.Errorf("%s has no command %q", parent.CommandPath(), args[0])
	}
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s: the commands are %s",
		args[0], spelling.DidYouMean(spelling.Nearest(args[0], names)), strings.Join(names, ", "))
}
