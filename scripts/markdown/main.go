// Command markdown turns documents into HTML, for scripts/site.py: it reads a JSON object of
// texts by path and writes one of HTML by path. Headings have the anchors that GitHub and
// GitLab give them.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

var (
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors are the anchors of a page so far, and how often each was wanted.
type anchors map[string]int

// Generate returns the anchor of a heading.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	words := linked.ReplaceAllString(strings.ToLower(string(heading)), "$1")
	id := strings.ReplaceAll(strings.TrimSpace(dropped.ReplaceAllString(words, "")), " ", "-")
	n := a[id]
	a[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put enters an anchor of the text itself.
func (a anchors) Put(id []byte) { a[string(id)]++ }

func main() {
	if err := convert(); err != nil {
		fmt.Fprintln(os.Stderr, "markdown:", err)
		os.Exit(1)
	}
}

func convert() error {
	var texts map[string]string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	m := goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithUnsafe())) // the documents are our own
	pages := map[string]string{}
	for path, text := range texts {
		var out bytes.Buffer
		if err := m.Convert([]byte(text), &out, parser.WithContext(parser.NewContext(parser.WithIDs(anchors{})))); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		pages[path] = out.String()
	}
	return json.NewEncoder(os.Stdout).Encode(pages)
}
