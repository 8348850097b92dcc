package report_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
)

// pythonHead is the part of python/fabemu/figures.py before its types.
const pythonHead = `"""The objects of a result that have figures, made from the table of figures by
go test ./emu/result/report -run TestPythonTypes -update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

`

// pythonType is how Python has a type of a field, and reads a value of it.
type pythonType struct{ name, read string }

var pythonTypes = map[reflect.Type]pythonType{
	reflect.TypeFor[string]():                   {"str", "data[%q]"},
	reflect.TypeFor[uint32]():                   {"int", "data[%q]"},
	reflect.TypeFor[int64]():                    {"int", "data[%q]"},
	reflect.TypeFor[report.Number]():            {"Optional[float]", "data[%q]"},
	reflect.TypeFor[[][2]int64]():               {"tuple[tuple[int, int], ...]", "tuple((a, b) for a, b in data[%q])"},
	reflect.TypeFor[[]report.Count]():           {"Mapping[str, int]", "{x[\"reason\"]: x[\"count\"] for x in data[%q]}"},
	reflect.TypeFor[[]report.Stall]():           {"Mapping[str, int]", "{x[\"cause\"]: x[\"time_ps\"] for x in data[%q]}"},
	reflect.TypeFor[map[string]report.Number](): {"Mapping[str, Optional[float]]", "data.get(%q, {})"},
}

// pythonOf is the Python type of an object of result.json. The fields that are named come first:
// they did before the others were there, and the order counts.
func pythonOf(of metrics.Object, name, doc string, object reflect.Type, first ...string) string {
	type field struct{ name, key, text string }
	var fields []field
	for i := range object.NumField() {
		key, _, _ := strings.Cut(object.Field(i).Tag.Get("json"), ",")
		f := field{name: key, key: key}
		if key == "from" { // a word that Python keeps
			f.name = "source"
		}
		p := pythonTypes[object.Field(i).Type]
		f.text = fmt.Sprintf("    %s: %s", f.name, p.name)
		for row := range metrics.Figures(of) {
			if row.JSON == key {
				f.text += fmt.Sprintf("  #: %s (%s)", strings.ReplaceAll(row.Meaning, "`", "``"), row.Unit.Word)
			}
		}
		fields = append(fields, f)
	}
	slices.SortStableFunc(fields, func(a, b field) int {
		at := func(f field) int {
			if i := slices.Index(first, f.name); i >= 0 {
				return i
			}
			return len(first)
		}
		return at(a) - at(b)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "\nclass %s(NamedTuple):\n    \"\"\"%s\"\"\"\n\n", name, doc)
	for _, f := range fields {
		b.WriteString(f.text + "\n")
	}
	fmt.Fprintf(&b, "\n    @staticmethod\n    def read(data: Mapping[str, Any]) -> %s:\n        \"\"\"Return the object that result.json has so.\"\"\"\n        return %s(\n", name, name)
	for _, f := range fields {
		i := slices.IndexFunc(reflect.VisibleFields(object), func(x reflect.StructField) bool { return strings.Split(x.Tag.Get("json"), ",")[0] == f.key })
		fmt.Fprintf(&b, "            %s="+pythonTypes[object.Field(i).Type].read+",\n", f.name, f.key)
	}
	b.WriteString("        )\n")
	return b.String()
}

// The types of Python have the fields of result.json, with the meanings and units of the table.
func TestPythonTypes(t *testing.T) {
	golden.File(t, "../../../python/fabemu/figures.py", pythonHead+
		pythonOf(metrics.Flow, "Flow", "The totals of a flow.", reflect.TypeFor[report.Flow](),
			"name", "group", "source", "to", "bytes", "frames", "marked", "rate", "limit", "active_ps")+"\n"+
		pythonOf(metrics.Link, "Link", "The totals of one direction of a link.", reflect.TypeFor[report.Link]()))
}
