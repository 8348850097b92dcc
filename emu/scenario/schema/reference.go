package schema

import (
	"fmt"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/wire/param"
)

// Reference returns a language as Markdown: a section for each kind of object,
// and in it each field with its meaning, its form, its range, and
// its default with the document that it comes from.
func Reference(language *param.Param) string {
	var b strings.Builder
	section(&b, map[*param.Struct]string{}, "A scenario", "", language)
	return b.String()
}

// section writes an object, and then the objects within it, each once.
func section(b *strings.Builder, written map[*param.Struct]string, title, path string, object *param.Param) {
	written[object.Object] = title
	t := document.NewTable("", []string{"Field", "Meaning", "Written as", "Range", "Default"}, nil)
	for i := range object.Object.Params {
		row := entry(&object.Object.Params[i])
		if at := written[object.Object.Params[i].Object]; at != "" {
			row[2] = "as " + at
		}
		t.Add(row...)
	}
	fmt.Fprintf(b, "### %s\n\n%s\n", title, t.Markdown())
	for i := range object.Object.Params {
		p := &object.Object.Params[i]
		if p.Key == "defaults" {
			continue // its fields are the fields of links, switches and flows
		}
		at := param.Path(path, p.Key)
		for ; p.Kind == param.Map || p.Kind == param.List; p = p.Item {
			at += map[param.Kind]string{param.Map: ".NAME", param.List: "[ ]"}[p.Kind]
		}
		if p.Kind == param.Object && written[p.Object] == "" {
			section(b, written, "`"+at+"`", at, p)
		}
	}
}

// entry returns the row of a field.
func entry(p *param.Param) []string {
	name := "**`" + p.Key + "`**"
	switch {
	case p.Required && p.Inherits:
		name += "<br>required, here or under `defaults`"
	case p.Required:
		name += "<br>required"
	}
	fallback := p.Computed
	if p.Default != "" {
		fallback = "`" + p.Default + "`"
	}
	if p.Source != "" {
		fallback += ", from " + p.Source
	}
	return []string{name, p.Doc, written(p), rangeOf(p), fallback}
}

// written describes the values of a field, with its units.
func written(p *param.Param) string {
	switch p.Kind {
	case param.Object:
		if p.Key == "defaults" {
			return p.Wanted() + ", each with the fields of its kind, see below"
		}
		if p.Short != "" {
			return p.Wanted() + ", see below"
		}
		return "a mapping, see below"
	case param.Word, param.Flag:
		words := "`" + strings.Join(p.Beside(), "`, `") + "`"
		if len(p.Parts) > 0 {
			words += p.Wanted()[strings.Index(p.Wanted(), ", or a mapping"):]
		}
		return words
	}
	text := p.Wanted()
	if p.Kind == param.Map || p.Kind == param.List {
		p = p.Item
	}
	if units := p.Units(); len(units) > 0 {
		text += "<br>in " + strings.Join(units, ", ")
	}
	return text
}

// rangeOf gives the bounds of a value.
func rangeOf(p *param.Param) string {
	var parts []string
	low, high, above := p.Range()
	switch {
	case above:
		parts = append(parts, "above "+low)
	case low != "" && high != "":
		parts = append(parts, low+" to "+high)
	case low != "":
		parts = append(parts, "at least "+low)
	}
	if above && high != "" {
		parts = append(parts, "at most "+high)
	}
	switch {
	case p.Length > 0:
		parts = append(parts, fmt.Sprintf("%d items", p.Length))
	case p.Least > 0:
		parts = append(parts, "at least one item")
	}
	if words := p.Beside(); len(words) > 0 && p.Kind != param.Word && p.Kind != param.Flag {
		parts = append(parts, "or `"+strings.Join(words, "`, `")+"`")
	}
	return strings.Join(parts, ", ")
}
