package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"text/tabwriter"
)

// writing is the error of a command that could not print: none if nobody reads any more.
func writing(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return failed(err)
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
