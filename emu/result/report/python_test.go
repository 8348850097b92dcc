package report_test

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest"
	"fabemu/emu/scenario"
)

// pythonHead is the part of python/fabemu/figures.py before its types.
const pythonHead = `"""The objects of a result that have figures, made from the table of figures by
go test ./emu/result/report -run TestPythonTypes -update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional, TypeVar

T = TypeVar("T")


def _parts(data: Optional[list[dict[str, Any]]]) -> dict[str, int]:
    """Return the parts of a figure: each has a name and a number."""
    return {name: number for name, number in (part.values() for part in data or [])}


def _maybe(read: Callable[[Any], T], data: Any) -> Optional[T]:
    """Return an object, if it is there."""
    return None if data is None else read(data)
`

// pythonType is how Python has a type of a field, and reads a value of it, or what an absent one
// is.
type pythonType struct{ name, read, absent string }

var pythonTypes = map[reflect.Type]pythonType{
	reflect.TypeFor[string]():                   {"str", "%s", `""`},
	reflect.TypeFor[scenario.GuestKind]():       {"str", "%s", `""`},
	reflect.TypeFor[netip.Addr]():               {"str", "%s", `""`},
	reflect.TypeFor[uint32]():                   {"int", "%s", "0"},
	reflect.TypeFor[int]():                      {"int", "%s", "0"},
	reflect.TypeFor[int64]():                    {"int", "%s", "0"},
	reflect.TypeFor[report.Number]():            {"Optional[float]", "%s", "None"},
	reflect.TypeFor[[][2]int64]():               {"tuple[tuple[int, int], ...]", "tuple((a, b) for a, b in %s)", "()"},
	reflect.TypeFor[[]report.Count]():           {"Mapping[str, int]", "_parts(%s)", "[]"},
	reflect.TypeFor[[]report.Stall]():           {"Mapping[str, int]", "_parts(%s)", "[]"},
	reflect.TypeFor[[]report.Straggler]():       {"Mapping[str, int]", "_parts(%s)", "[]"},
	reflect.TypeFor[map[string]report.Number](): {"Mapping[str, Optional[float]]", "%s", "{}"},
	reflect.TypeFor[map[string]int64]():         {"Mapping[str, int]", "%s", "{}"},
	reflect.TypeFor[report.Spread]():            {"Spread", "Spread.read(%s)", "{}"},
	reflect.TypeFor[*report.Spread]():           {"Optional[Spread]", "_maybe(Spread.read, %s)", "None"},
	reflect.TypeFor[[]report.SizeBand]():        {"tuple[SizeBand, ...]", "tuple(SizeBand.read(x) for x in %s)", "()"},
	reflect.TypeFor[*report.Collective]():       {"Optional[Collective]", "_maybe(Collective.read, %s)", "None"},
	reflect.TypeFor[*guest.RoCECounts]():        {"Optional[Adapter]", "_maybe(Adapter.read, %s)", "None"},
}

// pythonClass is a class of Python for an object of result.json. The fields that are named come
// first: they did before the others were there, and the order counts.
type pythonClass struct {
	of        metrics.Object
	name, doc string
	object    reflect.Type
	first     []string
}

const ofNoFigures = metrics.Object(255)

var pythonClasses = []pythonClass{
	{metrics.Flow, "Flow", "The totals of a flow.", reflect.TypeFor[report.Flow](),
		[]string{"name", "group", "source", "to", "bytes", "frames", "marked", "rate", "limit", "active_ps"}},
	{metrics.Link, "Link", "The totals of one direction of a link.", reflect.TypeFor[report.Link](), nil},
	{metrics.Buffer, "Buffer", "How full a receive buffer of a switch was.", reflect.TypeFor[report.Buffer](), nil},
	{ofNoFigures, "Spread", "The mean of many values, percentiles and the greatest; None where the values do not support it.", reflect.TypeFor[report.Spread](), nil},
	{ofNoFigures, "SizeBand", "The slowdown of flows of neighbouring sizes, in bytes.", reflect.TypeFor[report.SizeBand](), nil},
	{metrics.Collective, "Collective", "The figures of a collective operation.", reflect.TypeFor[report.Collective](), nil},
	{metrics.Workload, "Workload", "The figures of a workload.", reflect.TypeFor[report.Workload](), nil},
	{metrics.Adapter, "Adapter", "What the RoCEv2 adapter of a guest has counted.", reflect.TypeFor[guest.RoCECounts](), nil},
	{metrics.Guest, "Guest", "What a guest has counted.", reflect.TypeFor[guest.Report](), nil},
}

// text is the class. Its docstring has the figures, with their units.
func (c *pythonClass) text() string {
	type field struct {
		name, doc, class, read string
		figure                 bool
	}
	var fields []field
	for _, x := range reflect.VisibleFields(c.object) {
		key, options, _ := strings.Cut(x.Tag.Get("json"), ",")
		if x.Anonymous {
			continue
		}
		p, known := pythonTypes[x.Type]
		if !known {
			panic(fmt.Sprintf("Python has no type for %v, of %s.%s", x.Type, c.name, key))
		}
		f := field{name: key, class: p.name}
		if key == "from" { // a word that Python keeps
			f.name = "source"
		}
		value := fmt.Sprintf("data[%q]", key)
		if options != "" {
			value = fmt.Sprintf("data.get(%q, %s)", key, p.absent)
		}
		f.read = fmt.Sprintf(p.read, value)
		for row := range metrics.Figures(c.of) {
			if row.JSON == key {
				f.figure, f.doc = true, fmt.Sprintf("%s: %s (%s)", f.name, strings.ReplaceAll(row.Meaning, "`", "``"), row.Unit.Word)
			}
		}
		fields = append(fields, f)
	}
	slices.SortStableFunc(fields, func(a, b field) int {
		at := func(f field) int {
			if i := slices.Index(c.first, f.name); i >= 0 {
				return i
			}
			return len(c.first)
		}
		return at(a) - at(b)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "\n\nclass %s(NamedTuple):\n    \"\"\"%s", c.name, c.doc)
	if slices.ContainsFunc(fields, func(f field) bool { return f.figure }) {
		b.WriteString("\n")
		for _, f := range fields {
			if f.figure {
				b.WriteString("\n    " + f.doc)
			}
		}
		b.WriteString("\n    ")
	}
	b.WriteString("\"\"\"\n\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "    %s: %s\n", f.name, f.class)
	}
	fmt.Fprintf(&b, "\n    @staticmethod\n    def read(data: Mapping[str, Any]) -> %s:\n        \"\"\"Return the object that result.json has so.\"\"\"\n        return %s(\n", c.name, c.name)
	for _, f := range fields {
		fmt.Fprintf(&b, "            %s=%s,\n", f.name, f.read)
	}
	b.WriteString("        )\n")
	return b.String()
}

// The types of Python have the fields of result.json, with the meanings and units of the table.
func TestPythonTypes(t *testing.T) {
	text := pythonHead
	parts := map[string]bool{}
	for i := range pythonClasses {
		text += pythonClasses[i].text()
	}
	for _, f := range metrics.AllFigures() {
		if f.By() != "" && f.By() != "statistic" && f.JSON != "" && f.Of != metrics.Adapter {
			parts[f.JSON] = true
		}
	}
	text += fmt.Sprintf("\n\n#: The figures that have parts, such as causes.\nPARTS = (\"%s\")\n", strings.Join(slices.Sorted(maps.Keys(parts)), `", "`))
	golden.File(t, "../../../python/fabemu/figures.py", text)
}
