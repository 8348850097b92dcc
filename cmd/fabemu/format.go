package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// formatFlag adds --format with the formats that there are, the default first.
func formatFlag(c *cobra.Command, format *string, formats ...string) {
	c.Flags().StringVar(format, "format", formats[0], "how to print: "+strings.Join(formats, ", "))
	complete(c, "format", formats...)
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *format) {
			return fmt.Errorf("--format %s: there are %s", *format, strings.Join(formats, ", "))
		}
		return nil
	}
}

// complete has the shell complete a flag with words.
func complete(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("fabemu: " + err.Error()) // the flag is not there
	}
}

// writing is the error of a command that could not print: none if nobody reads any more.
func writing(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return failure{err}
}

// A table is a list that is printed: for people, for spreadsheets, for programs.
type table struct {
	heads []string // of the columns, for people; as csv has them, in lower case with "_"
	rows  [][]string
	items any // the rows as JSON has them
}

func (t *table) print(w io.Writer, format string) error {
	switch format {
	case "json":
		return writing(printJSON(w, t.items))
	case "csv":
		c := csv.NewWriter(w)
		heads := make([]string, len(t.heads))
		for i, h := range t.heads {
			heads[i] = strings.ReplaceAll(strings.ToLower(h), " ", "_")
		}
		if err := c.Write(heads); err != nil {
			return writing(err)
		}
		return writing(c.WriteAll(t.rows))
	default:
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, strings.Join(t.heads, "\t"))
		for _, row := range t.rows {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
		return writing(tw.Flush())
	}
}

// printJSON writes a value for people and programs: ">=" stays as it is.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
