package param

import (
	_ "embed"
	"strings"
)

// docs has the documentation of fields in the comments above them, because a program cannot read its own comments: a line
// for each field, with the path of its package and its type, its key, its meaning, and the source of its default, with
// tabs between. A test writes it.
//
//go:embed docs.txt
var docs string

// A description is the documentation of a field.
type description struct{ doc, source string }

// described are the descriptions, by place.
var described = func() map[string]description {
	all := map[string]description{}
	for line := range strings.Lines(docs) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all[part[0]+"\t"+part[1]] = description{part[2], part[3]}
	}
	return all
}()
