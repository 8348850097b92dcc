package main

import (
	"encoding/json"
	"io"
)

// printJSON writes a value for people and programs: ">=" stays as it is. Its error is one of the writer, which
// records it (output).
func printJSON(w io.Writer, v any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v)
}
