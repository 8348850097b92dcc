package scenario

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"fabemu/emu/base/terminal"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Text prints s as a scenario file with every field given and every range expanded. Whether it is
// right is not looked at (package resolve has Text, which does).
func (s *Scenario) Text() []byte {
	p := &printer{tables: s.Tables()}
	p.Grow(64 * (len(s.Links) + len(s.Routes) + len(s.Flows)))
	of := p.tables.Section
	p.line("name: %s", param.Quote(s.Name))
	p.line("source: %s", param.Quote(s.Source))
	p.line("description: %s", param.Quote(s.Description))
	p.inline("model", of("model"), s.Model)
	p.inline("wall", of("wall"), s.Wall)
	if routing := of("routing"); s.Routing != param.Defaults(Routing{}) {
		p.inline("routing", routing, s.Routing)
	}
	if s.Subnet != (Subnet{}) {
		p.inline("subnet", of("subnet"), s.Subnet)
	}
	p.switches(s.Switches)
	p.endpoints(s)
	writeList(p, "links", s.Links)
	writeList(p, "routes", s.Routes)
	writeList(p, "sl2vl", s.LaneRules)
	writeList(p, "flows", s.Flows)
	writeList(p, "workload", s.Workloads)
	writeList(p, "events", s.Events)
	writeList(p, "programs", s.Programs)
	p.inline("measure", of("measure"), s.Measure)
	writeList(p, "expect", based(s.Expect))
	return bytes.Clone(p.Bytes()) // without the rest of the buffer: it is kept
}

// printer writes the lines of a file.
type printer struct {
	bytes.Buffer
	tables Tables
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// inline writes a mapping on one line.
func (p *printer) inline(key string, of *param.Struct, v any) {
	p.line("%s: %s", key, of.Mapping(v))
}

// writeList writes a list, each item on a line; some sections need not be there. The arithmetic of
// a flow's algorithm is before it. A link has its ends as one field, and its name if it has its
// own. Checks have long texts, and a line for each field.
func writeList[T any](p *printer, section string, all []T) {
	switch {
	case len(all) > 0:
		p.line("%s:", section)
	case !slices.Contains([]string{"routes", "sl2vl", "workload", "programs"}, section):
		p.line("%s: []", section)
	}
	of := p.tables.Section(section)
	for i := range all {
		switch item := any(&all[i]).(type) {
		case *Link:
			joins, name := item.A+" - "+item.B, ""
			if item.Name != joins {
				name = "name: " + param.Quote(item.Name) + ", "
			}
			p.line("  - {%sbetween: %s, %s}", name, param.Quote(joins), of.Fields(*item, ", ", "name"))
			continue
		case *Event:
			p.line("  - %s", item.Text())
			continue
		case *Check:
			p.line("  - %s", of.Fields(*item, "\n    "))
			continue
		case *Flow:
			p.explain("  ", item.Control.Params)
		case *Workload:
			p.explain("  ", item.Control.Params)
		}
		p.line("  - %s", of.Mapping(all[i]))
	}
}

// paramsOf prints the parameters of a scheme behind its name.
func paramsOf(params any) string {
	if all := param.Of(params).Fields(params, ", "); all != "" {
		return ", " + all
	}
	return ""
}

// explain writes the arithmetic behind the parameters of a scheme.
func (p *printer) explain(indent string, params any) {
	if e, ok := params.(param.Explainer); ok && e.Explain() != "" {
		p.line("%s# %s", indent, e.Explain())
	}
}

func (p *printer) switches(switches []Switch) {
	if len(switches) == 0 {
		p.line("switches: {}")
		return
	}
	p.line("switches:")
	of := p.tables.Section("switches")
	for _, s := range switches {
		p.line("  %s:", param.Quote(s.Name))
		if s.Alpha == 0 {
			s.Low = lowOf(s.High, s.Low)
		}
		without := []string{"marking"}
		if s.Lossless == AllPriorities {
			without = append(without, "lossless")
		}
		p.line("    %s", of.Fields(s, "\n    ", without...))
		p.explain("    ", s.Marking.Params)
		p.line("    marking: %v", s.Marking)
	}
}

// endpoints writes the endpoints: those without an adapter a few to a line.
func (p *printer) endpoints(s *Scenario) {
	p.line("endpoints:")
	plain := func(e Endpoint) bool { return e == Endpoint{Name: e.Name} }
	if slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return !plain(e) }) {
		without := map[string][]string{} // the keys that an endpoint on InfiniBand does not have
		for _, l := range s.Links {
			if l.Family() == wire.InfiniBand {
				without[l.A] = AdapterKeys()
				without[l.B] = AdapterKeys()
			}
		}
		for _, e := range s.Endpoints {
			if plain(e) {
				p.line("  - %s", param.Quote(e.Name))
				continue
			}
			e.Low = lowOf(e.High, e.Low)
			p.line("  - {%s}", p.tables.Section("endpoints").Fields(e, ", ", without[e.Name]...))
		}
		return
	}
	names := make([]string, len(s.Endpoints))
	for i, e := range s.Endpoints {
		names[i] = param.Quote(e.Name)
	}
	const width = 74 // of the text in the brackets
	p.line("  [%s", strings.Join(terminal.Wrap(strings.Join(names, ", ")+"]", width), "\n   "))
}

// AdapterKeys returns the keys that count only for an endpoint on Ethernet.
func AdapterKeys() []string { return []string{"egress", "ingress", "high", "low", "limiters"} }

// lowOf returns a low watermark for printing; without a high one there is none.
func lowOf(high, low unit.Size) unit.Size {
	if high == 0 {
		return auto
	}
	return low
}

// FirstDifference returns the key of the first part in which two scenarios differ, or nothing.
func FirstDifference(a, b *Scenario) string {
	c, d := *a, *b
	c.Expect, d.Expect = based(a.Expect), based(b.Expect)
	x, y := reflect.ValueOf(c), reflect.ValueOf(d)
	for i := range x.NumField() {
		key, v, w := x.Type().Field(i).Tag.Get("key"), x.Field(i), y.Field(i)
		switch {
		case key == "": // not a part of the language
		case v.Kind() != reflect.Slice:
			if !v.Equal(w) {
				return key
			}
		case v.Len() != w.Len():
			return "number of " + key
		case same[Link](v, w), same[Flow](v, w), same[Switch](v, w), same[Endpoint](v, w): // large fabrics have many
		default:
			for k := range v.Len() {
				if !v.Index(k).Equal(w.Index(k)) {
					return fmt.Sprintf("%s, item %d,", key, k+1)
				}
			}
		}
	}
	return ""
}

// same reports whether two values are equal slices of T, without reflection on each item.
func same[T comparable](v, w reflect.Value) bool {
	a, ok := v.Interface().([]T)
	return ok && slices.Equal(a, w.Interface().([]T))
}

// based returns checks that all have a basis: ours if a program gives none.
func based(checks []Check) []Check {
	out := slices.Clone(checks)
	for i := range out {
		out[i].Basis = cmp.Or(out[i].Basis, Ours)
	}
	return out
}

// String prints a marking as a mapping.
func (m Marking) String() string { return "{scheme: " + m.Scheme + paramsOf(m.Params) + "}" }

// String prints a transport as a mapping.
func (t Transport) String() string { return "{kind: " + t.Kind + paramsOf(t.Params) + "}" }

// String prints an algorithm as a mapping.
func (c Control) String() string { return "{algorithm: " + c.Algorithm + paramsOf(c.Params) + "}" }

// String prints it as a mapping.
func (c CBFC) String() string {
	var without []string
	if c.Carry == AllPriorities {
		without = append(without, "lossless")
	}
	return "{" + builtIn().Section("links").Find("cbfc").Object.Fields(c, ", ", without...) + "}"
}

// Text returns an event as it is in a list of events: "{at: 2s, link: trunk, rate: 5Gb/s}".
func (e Event) Text() string {
	t := builtIn()
	text := t.Section("events").Fields(e, ", ")
	if e.Act != nil {
		text += ", " + t.paramsOf(e.Act).Fields(e.Act, ", ")
	}
	return "{" + text + "}"
}
