package openmetrics

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ContentType is the type of the text, from the specification of OpenMetrics 1.0.
const ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// kind is the type of a family of metrics.
type kind string

const (
	counter kind = "counter" // it only grows; samples have the suffix _total
	gauge   kind = "gauge"
	info    kind = "info" // samples have the suffix _info and the value 1
)

// family is metrics of one name.
type family struct {
	name string // without the suffix of its kind
	kind kind
	help string
}

// label is a label of a metric.
type label struct{ name, value string }

// writer writes families, and the samples of each behind it.
type writer struct {
	*bufio.Writer
	family family
}

// begin begins a family, unless it is the present one.
func (w *writer) begin(f family) {
	if w.family == f {
		return
	}
	w.family = f
	fmt.Fprintf(w, "# TYPE %s %s\n", f.name, f.kind)
	fmt.Fprintf(w, "# HELP %s %s\n", f.name, escaped(f.help))
}

// sample writes a sample of the present family. It leaves out a value that is NaN.
func (w *writer) sample(value float64, labels ...label) {
	if math.IsNaN(value) {
		return
	}
	w.WriteString(w.family.name)
	switch w.family.kind {
	case counter:
		w.WriteString("_total")
	case info:
		w.WriteString("_info")
	}
	sep := byte('{')
	for _, l := range labels {
		if l.value == "" {
			continue
		}
		w.WriteByte(sep)
		sep = ','
		w.WriteString(l.name)
		w.WriteString(`="`)
		w.WriteString(escaped(l.value))
		w.WriteByte('"')
	}
	if sep == ',' {
		w.WriteByte('}')
	}
	w.WriteByte(' ')
	w.WriteString(number(value))
	w.WriteByte('\n')
}

// end ends the text.
func (w *writer) end() error {
	w.WriteString("# EOF\n")
	return w.Flush()
}

func newWriter(to io.Writer) *writer { return &writer{Writer: bufio.NewWriter(to)} }

// number returns a value in the form of the format.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// escaped returns a text in the form for quotes, and for HELP.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(s)
}
