package schema

import (
	"fmt"
	"strings"

	"fabemu/emu/scenario"
)

// Reference returns a language as Markdown: a section for each kind of object,
// and in it each field with what it means, what may stand there, its range, and
// its default with the document that it comes from.
func Reference(language scenario.Field) string {
	var b strings.Builder
	section(&b, "A scenario", language)
	return b.String()
}

// section writes an object, and then those within it.
func section(b *strings.Builder, title string, object scenario.Field) {
	fmt.Fprintf(b, "### %s\n\n| Field | Meaning | Written as | Range | Default |\n|---|---|---|---|---|\n", title)
	for _, f := range object.Fields {
		entry(b, f)
	}
	b.WriteByte('\n')
	for _, f := range object.Fields {
		if f.Name == "defaults" {
			continue // the fields are those of links, switches and flows
		}
		if o := objectOf(f); o.Form == scenario.FormObject {
			section(b, heading(o), o)
		}
	}
}

// objectOf returns what a field holds: itself, or what each of its items is.
func objectOf(f scenario.Field) scenario.Field {
	for f.Form == scenario.FormMap || f.Form == scenario.FormList {
		f = f.Fields[0]
	}
	return f
}

// heading returns the path of an object as one would write it.
func heading(f scenario.Field) string {
	return "`" + strings.NewReplacer(".*", ".NAME", "[]", "[ ]").Replace(f.Path) + "`"
}

// entry writes one field as a row.
func entry(b *strings.Builder, f scenario.Field) {
	name := "**`" + f.Name + "`**"
	switch {
	case f.Required && f.Inherits:
		name += "<br>required, here or under `defaults`"
	case f.Required:
		name += "<br>required"
	}
	fallback := f.Computed
	if f.Default != "" {
		fallback = "`" + f.Default + "`"
	}
	if f.Source != "" {
		fallback += ", from " + f.Source
	}
	cells := []string{name, f.Doc, written(f), rangeOf(f), fallback}
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// written says what stands in the place of a field, with its units.
func written(f scenario.Field) string {
	switch f.Form {
	case scenario.FormObject:
		if f.Name == "defaults" {
			return f.Wanted + ", each with the fields of its kind, see below"
		}
		if f.Short != "" {
			return f.Wanted + ", see below"
		}
		return "a mapping, see below"
	case scenario.FormWord, scenario.FormFlag:
		words := "`" + strings.Join(f.Words, "`, `") + "`"
		if len(f.Fields) > 0 {
			words += f.Wanted[strings.Index(f.Wanted, ", or a mapping"):]
		}
		return words
	}
	text := f.Wanted
	if f.Form == scenario.FormMap || f.Form == scenario.FormList {
		f = f.Fields[0]
	}
	if len(f.Units) > 0 {
		text += "<br>in " + strings.Join(f.Units, ", ")
	}
	return text
}

// rangeOf says between which bounds a value lies.
func rangeOf(f scenario.Field) string {
	var parts []string
	if f.Step != "" {
		parts = append(parts, "multiples of "+f.Step)
	}
	switch {
	case f.Above:
		parts = append(parts, "above "+f.Low)
	case f.Low != "" && f.High != "":
		parts = append(parts, f.Low+" to "+f.High)
	case f.Low != "":
		parts = append(parts, "at least "+f.Low)
	}
	if f.Above && f.High != "" {
		parts = append(parts, "at most "+f.High)
	}
	switch {
	case f.Least > 0 && f.Most == f.Least:
		parts = append(parts, fmt.Sprintf("%d items", f.Least))
	case f.Least > 0:
		parts = append(parts, "at least one item")
	}
	if len(f.Words) > 0 && f.Form != scenario.FormWord && f.Form != scenario.FormFlag {
		parts = append(parts, "or `"+strings.Join(f.Words, "`, `")+"`")
	}
	return strings.Join(parts, ", ")
}
