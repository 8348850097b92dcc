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
from functools import cache
from typing import Any, NamedTuple, Optional, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read(kind: Callable[..., T], data: Mapping[str, Any]) -> T:
    """Return an object of this kind that result.json has so."""
    return kind(*[value(data.get(key)) for key, value in _fields(kind)])


@cache
def _fields(kind: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the key of each field in result.json, and what reads it. Python keeps the word from."""
    return [("from" if name == "source" else name, _reader(of)) for name, of in get_type_hints(kind).items()]


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what reads a value of this kind from what result.json has; None: it leaves the value out."""
    outer, inner = get_origin(kind), get_args(kind)
    if outer is Mapping:  # of parts: each has a name and a number
        return lambda data: dict(x.values() for x in data) if isinstance(data, list) else data or {}
    if outer is None:
        known = hasattr(kind, "_fields")
        return lambda data: read(kind, data or {}) if known else kind() if data is None else data
    value = _reader(inner[0])
    if outer is Union:
        return lambda data: None if data is None else value(data)
    return lambda data: tuple(value(x) for x in data or [])
`

// pythonTypes are the types of Python of fields.
var pythonTypes = map[reflect.Type]string{
	reflect.TypeFor[string]():                   "str",
	reflect.TypeFor[scenario.GuestKind]():       "str",
	reflect.TypeFor[netip.Addr]():               "str",
	reflect.TypeFor[uint32]():                   "int",
	reflect.TypeFor[int]():                      "int",
	reflect.TypeFor[int64]():                    "int",
	reflect.TypeFor[report.Number]():            "Optional[float]",
	reflect.TypeFor[[][2]int64]():               "tuple[tuple[int, int], ...]",
	reflect.TypeFor[[]report.Count]():           "Mapping[str, int]",
	reflect.TypeFor[[]report.Stall]():           "Mapping[str, int]",
	reflect.TypeFor[[]report.Straggler]():       "Mapping[str, int]",
	reflect.TypeFor[map[string]report.Number](): "Mapping[str, Optional[float]]",
	reflect.TypeFor[map[string]int64]():         "Mapping[str, int]",
	reflect.TypeFor[report.Spread]():            "Spread",
	reflect.TypeFor[*report.Spread]():           "Optional[Spread]",
	reflect.TypeFor[[]report.SizeBand]():        "tuple[SizeBand, ...]",
	reflect.TypeFor[*report.Collective]():       "Optional[Collective]",
	reflect.TypeFor[*guest.RoCECounts]():        "Optional[Adapter]",
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
		name, doc, class string
		figure           bool
	}
	var fields []field
	for _, x := range reflect.VisibleFields(c.object) {
		key, _, _ := strings.Cut(x.Tag.Get("json"), ",")
		if x.Anonymous {
			continue
		}
		class, known := pythonTypes[x.Type]
		if !known {
			panic(fmt.Sprintf("Python has no type for %v, of %s.%s", x.Type, c.name, key))
		}
		f := field{name: key, class: class}
		if key == "from" { // a word that Python keeps
			f.name = "source"
		}
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

// Each row of the table that is in result.json has a field of its object: the object's Figures are
// for rows that a program adds.
func TestRowsHaveFields(t *testing.T) {
	for _, c := range pythonClasses {
		keys := map[string]bool{}
		for _, f := range reflect.VisibleFields(c.object) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			keys[key] = true
		}
		if c.of == ofNoFigures {
			continue
		}
		for f := range metrics.Figures(c.of) {
			if f.JSON != "" && !keys[f.JSON] {
				t.Errorf("%v has no field for %s (%s)", c.object, f.JSON, f.Name)
			}
		}
	}
}
