package schema

import (
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/param"
)

// Page is a page of the reference, Markdown in a file of docs/reference.
type Page struct{ File, Text string }

// Pages returns the reference of a language: a page for each section of a scenario, algorithm,
// marking scheme and transport, and an index with the units.
func Pages(language *param.Param, algorithms []rp.Algorithm, points []cp.Point) []Page {
	r := reference{objects: map[string]string{}, lists: map[string]string{"marking": "* none marks nothing.\n"},
		names: map[string][]string{"marking": {"none"}}}
	all := choices(algorithms, points)
	for _, c := range all {
		for _, row := range c.rows {
			first, _, _ := strings.Cut(row.doc, "; ") // its page has the rest
			r.lists[c.key] += fmt.Sprintf("* [%s](%s) %s.\n", row.name, c.file(row), first)
			r.names[c.key] = append(r.names[c.key], fmt.Sprintf("[%s](%s)", row.name, c.file(row)))
		}
	}
	for _, c := range all {
		for _, row := range c.rows {
			text := fmt.Sprintf("# %s `%s`\n\n`%s` of %s. It %s.\n", c.title, row.name, fmt.Sprintf(c.chosen, row.name), c.of, row.doc)
			if len(row.also) > 0 {
				text += fmt.Sprintf("\nOther names: `%s`.\n", strings.Join(row.also, "`, `"))
			}
			if of := param.Of(row.params); len(of.Params) > 0 {
				text += "\n" + r.object(c.file(row), "", of) + setsOf(of)
			} else {
				text += "\nIt has no parameters.\n"
			}
			r.pages = append(r.pages, Page{c.file(row), text})
		}
	}
	index := document.NewTable("", []string{"Field", "Meaning"}, nil)
	for i := range language.Object.Params {
		p := &language.Object.Params[i]
		item, name := inner(p), entry(p)[0]
		if item == nil || p.Key == "defaults" {
			index.Add(name, p.Doc)
			continue
		}
		file := p.Key + ".md"
		index.Add(strings.Replace(name, "`"+p.Key+"`", fmt.Sprintf("[`%s`](%s)", p.Key, file), 1), p.Doc)
		r.pages = append(r.pages, Page{file, fmt.Sprintf("# Section `%s`\n\n%s\n\n", p.Key, p.Doc) + r.object(file, "", item)})
	}
	text := fmt.Sprintf(intro, index.Markdown(), r.lists["control"], r.lists["marking"], r.lists["transport"])
	return append([]Page{{"README.md", text}}, r.pages...)
}

// Markdown returns all pages of the reference, one after another.
func Markdown(language *param.Param, algorithms []rp.Algorithm, points []cp.Point) string {
	var b strings.Builder
	for _, page := range Pages(language, algorithms, points) {
		fmt.Fprintln(&b, page.Text)
	}
	return b.String()
}

// intro is the index.
const intro = `# Reference of scenarios

Every field of a scenario, generated from the program. [Scenarios](../guide/scenarios.md) is the introduction; [Metrics](metrics.md) lists what a check can measure.

| Value | Units | Example |
|---|---|---|
| duration | s, ms, us, ns, ps | 100us |
| rate | b/s, kb/s, Mb/s, Gb/s, Tb/s (bits); B/s, KB/s, MB/s, GB/s (bytes) | 10Gb/s |
| size | B, KB, MB, GB (powers of 1000); KiB, MiB, GiB (powers of 1024) | 128KiB |
| room | packets, or a size | 4 packets |
| integer, number, share | none | 0.5 |
| boolean | true, false | true |

Durations, rates and sizes are > 0, sizes and integers < 2³¹, unless a field states otherwise. Fields without a default are optional unless required. What a link, switch, endpoint or flow does not set comes from ` + "`defaults`" + `. In a default such as 0; connectx: 50, the second value applies with that preset, version, profile or algorithm. The source of a default is in parentheses. The rules of sets are computed from the fabric by ` + "`" + `fabemu generate --scheme` + "`" + ` and ` + "`" + `fabemu sweep --scheme` + "`" + `: ` + "`" + `rate` + "`" + ` is that of the endpoints' links, ` + "`" + `rtt` + "`" + ` the longest round trip without queues, ` + "`" + `one-switch` + "`" + ` that over one switch, ` + "`" + `per-switch` + "`" + ` what a further switch adds, ` + "`" + `switches` + "`" + ` their number on the longest path.

"Ethernet" before a text limits the field to links with ` + "`pause`, `pfc`, `none` or `cbfc`" + `, "InfiniBand" to links with ` + "`credit`" + `. A range of names, such as ` + "`h[1-4]`" + `, has the members h1 to h4.

## A scenario

%s
## Congestion control algorithms

%s
## Marking schemes

%s
## Transports

%s`

// choice is something that a scenario chooses by name, with its own parameters.
type choice struct {
	name   string
	also   []string
	doc    string
	params any
}

// choiceOf is a field that chooses.
type choiceOf struct {
	key, title, chosen, of string
	rows                   []choice
}

// file returns the page of a choice.
func (c *choiceOf) file(row choice) string { return c.key + "-" + row.name + ".md" }

func choices(algorithms []rp.Algorithm, points []cp.Point) []choiceOf {
	control := choiceOf{"control", "Algorithm", "control: {algorithm: %s}", "a flow", nil}
	for _, l := range algorithms {
		control.rows = append(control.rows, choice{l.Name, l.Also, l.Doc, l.Params})
	}
	marking := choiceOf{"marking", "Marking scheme", "marking: {scheme: %s}", "a switch", nil}
	for _, p := range points {
		marking.rows = append(marking.rows, choice{p.Name, p.Also, p.Doc, p.Params})
	}
	transport := choiceOf{"transport", "Transport", "transport: {kind: %s}", "a flow", nil}
	for _, t := range nodes.Transports() {
		transport.rows = append(transport.rows, choice{t.Name, t.Also, t.Doc, t.Params})
	}
	return []choiceOf{control, marking, transport}
}

// reference collects pages.
type reference struct {
	pages   []Page
	lists   map[string]string   // by the key of a choice, what can be chosen
	names   map[string][]string // the links to their pages
	objects map[string]string   // by what is written about an object, the link to it
	written []section
}

// section is an object that is written on a page.
type section struct {
	link string
	rows [][]string
}

// object returns the table of an object, and of the objects within it. Where it has all fields of
// an earlier one, or many of them, it names these, and the table has the others.
func (r *reference) object(file, key string, of *param.Struct) string {
	rows, link := rowsOf(of), fmt.Sprintf("[`%s`](%s)", strings.TrimSuffix(file, ".md"), file)
	if key != "" {
		link = fmt.Sprintf("[`%s`](%s#%s)", key, file, key)
	}
	r.objects[fmt.Sprint(rows)] = link
	names := func(rows [][]string) (names []string) {
		for _, row := range rows {
			name, _, _ := strings.Cut(row[0], " ")
			names = append(names, strings.Trim(name, "*"))
		}
		return names
	}
	shared := ""
	for _, s := range r.written {
		var common, other [][]string
		for _, row := range rows {
			if slices.ContainsFunc(s.rows, func(other []string) bool { return slices.Equal(row, other) }) {
				common = append(common, row)
			} else {
				other = append(other, row)
			}
		}
		missing := slices.DeleteFunc(names(s.rows), func(name string) bool { return slices.Contains(names(rows), name) })
		switch {
		case len(common) <= 2, len(common) <= 5 && len(missing) > 0:
			continue
		case len(missing) > len(common):
			shared = fmt.Sprintf("It has %s of %s, and these:\n\n", strings.Join(names(common), ", "), s.link)
		case len(missing) > 0:
			shared = fmt.Sprintf("It has the fields of %s except %s, and these:\n\n", s.link, strings.Join(missing, ", "))
		default:
			shared = fmt.Sprintf("It has the fields of %s, and these:\n\n", s.link)
		}
		rows = other
		break
	}
	r.written = append(r.written, section{link, slices.Clone(rows)}) // before rows have links to sections
	within := r.within(file, of)
	for i := range of.Params {
		item := inner(&of.Params[i])
		at := slices.IndexFunc(rows, func(row []string) bool { return slices.Equal(row, entry(&of.Params[i])) })
		if item == nil || at < 0 {
			continue
		}
		rows[at] = slices.Clone(rows[at])
		before, _, mapped := strings.Cut(rows[at][2], "a mapping")
		if !mapped {
			before += ", see "
		}
		rows[at][2] = before + r.objects[fmt.Sprint(rowsOf(item))]
	}
	return strings.TrimSpace(shared+table(rows)+"\n"+within) + "\n"
}

// within returns the sections of the objects within an object.
func (r *reference) within(file string, of *param.Struct) string {
	var b strings.Builder
	for i := range of.Params {
		p := &of.Params[i]
		item := inner(p)
		if item == nil || p.Key == "defaults" || r.objects[fmt.Sprint(rowsOf(item))] != "" {
			continue
		}
		fmt.Fprintf(&b, "## `%s`\n\n", p.Key)
		if r.lists[p.Key] != "" {
			r.objects[fmt.Sprint(rowsOf(item))] = fmt.Sprintf("[`%s`](%s#%s)", p.Key, file, p.Key)
			fmt.Fprintf(&b, "`%s` is one of %s, whose pages have the other fields.", item.Params[0].Key, strings.Join(r.names[p.Key], ", "))
			if fallback := entry(&item.Params[0])[3]; fallback != "" {
				fmt.Fprintf(&b, " Default: %s.", fallback)
			}
			b.WriteString("\n\n")
			continue
		}
		b.WriteString(r.object(file, p.Key, item) + "\n")
	}
	return b.String()
}

// inner returns the object that a field is, or that its items are; nil: a value.
func inner(p *param.Param) *param.Struct {
	for p.Kind == param.Map || p.Kind == param.List {
		p = p.Item
	}
	if p.Kind == param.Object {
		return p.Object
	}
	return nil
}

// rows returns the rows of the fields of an object.
func rowsOf(of *param.Struct) (rows [][]string) {
	for i := range of.Params {
		rows = append(rows, entry(&of.Params[i]))
	}
	return rows
}

// table returns a table of fields, without the column of defaults where none has one.
func table(rows [][]string) string {
	heads := []string{"Field", "Meaning", "Values", "Default"}
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[3] != "" }) {
		heads = heads[:3]
	}
	t := document.NewTable("", heads, nil)
	for _, row := range rows {
		t.Add(row[:len(heads)]...)
	}
	return t.Markdown()
}

// entry returns the row of a field.
func entry(p *param.Param) []string {
	name := "**`" + p.Key + "`**"
	switch {
	case p.Required && p.Inherits:
		name += " (required, here or in `defaults`)"
	case p.Required:
		name += " (required)"
	}
	fallback := p.Computed
	if p.Default != "" {
		fallback = "`" + p.Default + "`"
	}
	if origin := originOf(p); origin != "" {
		fallback = strings.TrimSpace(fallback + " (" + origin + ")")
	}
	values, bounds := written(p), rangeOf(p)
	switch {
	case values != "" && values == kinds[p.Kind] && bounds != "" && !strings.HasPrefix(bounds, "or "):
		values += " "
	case values != "" && bounds != "":
		values += ", "
	}
	return []string{name, p.Doc, values + bounds, fallback}
}

// originOf returns the source of the default, in which sets it has none, and the rules of sets.
func originOf(p *param.Param) string {
	var parts, guesses []string
	if p.Source != "" {
		parts = append(parts, p.Source)
	}
	for _, set := range p.SetsOf() {
		if p.GuessedIn(set, false) {
			guesses = append(guesses, set)
		}
	}
	if guesses != nil {
		parts = append(parts, "a guess in "+strings.Join(guesses, ", "))
	}
	for _, set := range p.SetsOf() {
		if rule := p.RuleIn(set); rule != "" {
			parts = append(parts, fmt.Sprintf("rule of %s: `%s`", set, rule))
		}
	}
	return strings.Join(parts, "; ")
}

// setsOf returns the table of the sets of values of a struct; empty: it has none.
func setsOf(of *param.Struct) string {
	sets := of.Sets()
	if sets == nil {
		return ""
	}
	t := document.NewTable("", []string{"`" + sets.Key + "`", "Source", "Made for"}, nil)
	for _, set := range sets.Words {
		t.Add("`"+set+"`", sets.SourceIn(set), sets.MadeFor(set).String())
	}
	return "\n" + t.Markdown()
}

// written describes the values of a field.
func written(p *param.Param) string {
	switch p.Kind {
	case param.Object:
		if p.Key == "defaults" {
			return p.Wanted() + ", each with the fields of its kind"
		}
		if p.Short != "" {
			return p.Wanted()
		}
		return "a mapping"
	case param.Duration, param.Rate, param.Size, param.Room, param.Whole, param.Decimal:
		if p.Values == "" && p.Form == nil {
			return kinds[p.Kind]
		}
	case param.Flag:
		return kinds[p.Kind]
	case param.Word:
		words := "`" + strings.Join(p.Beside(), "`, `") + "`"
		if len(p.Parts) > 0 {
			words += p.Wanted()[strings.Index(p.Wanted(), ", or a mapping"):]
		}
		return words
	}
	wanted := p.Wanted()
	if words := p.Beside(); len(words) == 1 {
		wanted = strings.TrimSuffix(wanted, ", or "+words[0]) // the range has it
	}
	return wanted
}

// kinds are the kinds of values, by their names in the index.
var kinds = map[param.Kind]string{param.Duration: "duration", param.Rate: "rate", param.Size: "size", param.Room: "room",
	param.Whole: "integer", param.Decimal: "number", param.Flag: "boolean"}

// most and zero are bounds that the index states once for all fields.
var most, zero = []string{"2147483647B", "2147483648"}, []string{"0s", "0b/s"}

// rangeOf gives the bounds of a value.
func rangeOf(p *param.Param) string {
	var parts []string
	low, high, above := p.Range()
	if slices.Contains(most, high) {
		high = ""
	}
	switch {
	case above && high != "":
		parts = append(parts, "in ("+low+", "+high+"]")
	case above && slices.Contains(zero, low), low == "1B" && high == "", high != "" && strings.HasSuffix(p.Values, " or "+high): // said elsewhere
	case above:
		parts = append(parts, "> "+low)
	case low == "" && high == "" && p.Kind == param.Duration && p.Values == "" && p.Form == nil:
		parts = append(parts, "≥ 0s")
	case low != "" && high != "" && low[0] != '-':
		parts = append(parts, low+"–"+high)
	case low != "" && high != "":
		parts = append(parts, low+" to "+high)
	case low != "":
		parts = append(parts, "≥ "+low)
	}
	switch {
	case p.Length > 0:
		parts = append(parts, fmt.Sprintf("%d items", p.Length))
	case p.Least > 0:
		parts = append(parts, "at least one item")
	}
	if words := p.Beside(); len(words) > 0 && p.Kind != param.Word && p.Kind != param.Flag && !strings.Contains(written(p), words[0]) {
		parts = append(parts, "or `"+strings.Join(words, "`, `")+"`")
	}
	return strings.Join(parts, ", ")
}
