package scenario

import (
	"errors"
	"fmt"
	"strings"

	goccy "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"go.yaml.in/yaml/v4"
)

// syntax reports that the YAML parser has refused the file: as a second parser puts it, whose words and
// places are nearer to what the user wrote but which takes four times as long, or if that one would take
// the file, as the first does.
func (r *reports) syntax(src string, err error) {
	at, message := spotAt(1, 1), err.Error()
	var e *yaml.LoadError
	if errors.As(err, &e) {
		at, message = spotAt(max(e.Mark.Line, 1), max(e.Mark.Column, 1)), e.Message
	}
	var deep errDeep
	var second goccy.Error
	switch err := explain(src); {
	case errors.As(err, &deep):
		at, message = deep.at, deep.Error()
	case errors.As(err, &second):
		message = second.GetMessage()
		if t := second.GetToken(); t != nil && t.Position != nil {
			at = spotAt(t.Position.Line, t.Position.Column)
		}
	}
	switch {
	case strings.Contains(message, "\t") || strings.Contains(message, "tab character"):
		message = "a tab stands where YAML wants spaces"
	case strings.Contains(message, "mapping value is not allowed"), strings.Contains(message, "mapping values are not allowed"):
		message += `; a text that holds ": " stands in quotes`
	}
	r.add(at, "this is not YAML: %s", message)
}

// errDeep says that a file nests too deeply, at a token.
type errDeep struct{ at spot }

func (errDeep) Error() string { return fmt.Sprintf("nested more than %d deep", maxDepth) }

// explain returns what the second parser refuses, or nothing. It calls itself for each level, so that the
// levels are counted before it runs; should it panic, it has nothing to say.
func explain(src string) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	tokens := lexer.Tokenize(src)
	flow, run, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			if t.Position.Line != line {
				run = 0
			}
			run++
		}
		line = t.Position.Line
		// A block level costs at least one column.
		if flow > maxDepth || run > maxDepth || t.Position.IndentNum > 4*maxDepth {
			return errDeep{spotAt(t.Position.Line, t.Position.Column)}
		}
	}
	_, err = parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	return err
}
