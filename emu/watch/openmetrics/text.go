package openmetrics

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fabemu/emu/metrics"
)

// ContentType is the type of the text, from the specification of OpenMetrics 1.0.
const ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// family is metrics of one name. Of the kinds, a counter only grows, and an info has the value 1;
// the names of their samples end with "_total" and "_info".
type family struct{ name, kind, help string }

// familiesText has a line for each family that is not in the table of figures: its name, its kind,
// and its description.
//
//go:embed families.txt
var familiesText string

// familiesOf returns the families by their names.
func familiesOf(v *metrics.View) map[string]family {
	all := map[string]family{}
	for line := range strings.Lines(familiesText) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		all[f[0]] = family{f[0], f[1], f[2]}
	}
	for _, of := range metrics.Objects() {
		for f := range v.Figures(of) {
			kind := "gauge"
			if f.Kind == metrics.Counter {
				kind = "counter"
			}
			for _, e := range f.Prometheus {
				all[e.Name] = family{e.Name, kind, cmp.Or(e.Help, f.Sentence())}
			}
		}
	}
	return all
}

// label is a label of a metric.
type label struct{ name, value string }

// writer writes families, and the samples of each behind it.
type writer struct {
	*bufio.Writer
	families map[string]family
	family   family
}

// begin begins a family, unless it is the present one.
func (w *writer) begin(name string) {
	if w.family.name == name {
		return
	}
	w.family = w.families[name]
	fmt.Fprintf(w, "# TYPE %s %s\n", name, w.family.kind)
	fmt.Fprintf(w, "# HELP %s %s\n", name, escaped(w.family.help))
}

// sample writes a sample of the present family. It leaves out a value that is NaN.
func (w *writer) sample(value float64, labels ...label) {
	if math.IsNaN(value) {
		return
	}
	w.WriteString(w.family.name + map[string]string{"counter": "_total", "info": "_info"}[w.family.kind])
	before, end := "{", ""
	for _, l := range labels {
		if l.value != "" {
			fmt.Fprintf(w, `%s%s="%s"`, before, l.name, escaped(l.value))
			before, end = ",", "}"
		}
	}
	fmt.Fprintf(w, "%s %s\n", end, number(value))
}

// end ends the text.
func (w *writer) end() error {
	w.WriteString("# EOF\n")
	return w.Flush()
}

// number returns a value in the form of the format, an infinite one with its sign.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// escaped returns a text in the form for quotes, and for HELP.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(s)
}
