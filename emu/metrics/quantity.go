package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/wire/port"
)

// levels are those at which something counts as recovered or shared, in per cent.
var levels = []string{"90", "95", "99"}

// flowControl stands for the causes that are flow control: there is no room at the other end of the
// link.
const flowControl = "flow-control"

// stallCauses are the causes that keep frames back.
var stallCauses = func() (all []string) {
	for b := port.LinkBusy; b < port.Blocks; b++ {
		all = append(all, b.String())
	}
	return append(all, flowControl)
}()

// causesOf returns the causes that a word stands for.
func causesOf(word string) []port.Block {
	for b := port.LinkBusy; b < port.Blocks; b++ {
		if b.String() == word {
			return []port.Block{b}
		}
	}
	return []port.Block{port.NoCredit, port.Paused}
}

// Unit is the unit of the figures of a quantity.
type Unit struct {
	Word   string  // as documents have it: "bytes per second"
	Symbol string  // of values as they are, in addition to numbers: "B/s"; may be empty
	Scales []Scale // in which a figure is printed, the largest first; none: as it is
	Whole  bool    // it is printed with all digits
	Time   int     // the power of time in it: 1 of seconds, -1 of rates
}

// Scale is a unit and its value.
type Scale struct {
	Base float64
	Word string
}

// Fit returns the largest of the scales that makes a figure one or more, and the last one
// if none does.
func (u Unit) Fit(v float64) Scale {
	for _, s := range u.Scales {
		if math.Abs(v) >= s.Base {
			return s
		}
	}
	if n := len(u.Scales); n > 0 {
		return u.Scales[n-1]
	}
	return Scale{1, u.Symbol}
}

// The units. Shares are printed in per cent.
var (
	percent     = []Scale{{0.01, "%"}}
	share       = Unit{Word: "0 to 1", Scales: percent}
	utilised    = Unit{Word: "0 to 1", Symbol: "of the capacity", Scales: percent}
	rates       = Unit{Word: "bytes per second", Symbol: "B/s", Scales: []Scale{{1e12 / 8, "Tb/s"}, {1e9 / 8, "Gb/s"}, {1e6 / 8, "Mb/s"}, {1e3 / 8, "kb/s"}, {1. / 8, "b/s"}}, Time: -1}
	sizes       = Unit{Word: "bytes", Symbol: "bytes", Scales: []Scale{{1e6, "MB"}, {1e3, "KB"}, {1, "B"}}}
	picoseconds = Unit{Word: "picoseconds", Whole: true, Time: 1}
	seconds     = Unit{Word: "seconds", Symbol: "s", Scales: []Scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}, Time: 1}
	cells       = Unit{Word: "blocks of 64 bytes", Symbol: "blocks"}
	blocks      = Unit{Word: "blocks; bytes", Symbol: "blocks"}
)

func Share() Unit { return share }

// Sizes returns the unit of bytes.
func Sizes() Unit { return sizes }

func Rates() Unit { return rates }

// Seconds returns the unit of times.
func Seconds() Unit { return seconds }

// plain is the unit of figures that are printed as they are.
func plain(word string) Unit { return Unit{Word: word} }

// count is the unit of numbers of something.
func count(word string) Unit { return Unit{Word: word, Whole: true} }

// Reference returns the table of what expressions can name, as Markdown: of the table of figures,
// and of more.
func Reference(more ...*Figure) string {
	var b strings.Builder
	b.WriteString("| Quantity | Of | Means | Unit |\n|---|---|---|---|\n")
	before := ""
	for _, f := range slices.Concat(table, more) {
		if f.over == nil {
			continue
		}
		name := "`" + f.Name
		switch {
		case f.ends()[0] == "": // the name alone is one of them
		case f.by != "":
			name += "." + strings.ToUpper(f.by)
		case len(f.Ends) > 3:
			name += ".CAUSE"
		default:
			name += "." + strings.Join(f.Ends, "`, `.")
		}
		if name += "`"; f.Name == before { // of links it is above
			name = ""
		}
		before = f.Name
		of := "flows"
		if f.Of == Link {
			of = "links"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, of, f.Meaning, f.Unit.Word)
	}
	return strings.ReplaceAll(b.String(), "|  |", "| |")
}

// TimeOf returns the power of time in an expression: 1 of a figure in seconds, -1
// of a rate, 0 of a figure that does not change with the scale of time.
func TimeOf(expression string) int {
	a, b, _ := strings.Cut(expression, " / ")
	return UnitOf(a, false).Time - UnitOf(b, false).Time
}

// UnitOf returns the unit of an expression, or of a kind of series (Series.Kind), of a run
// whose buffers are counted in bytes or not. A quotient has none, nor has a text that names no
// quantity.
func UnitOf(expression string, inBytes bool) Unit {
	if strings.Contains(expression, " / ") {
		return Unit{}
	}
	_, q := nameIn(expression)
	switch {
	case q == nil:
		return Unit{}
	case inBytes && q.Unit.Symbol == blocks.Symbol:
		return sizes
	}
	return q.Unit
}

// nameIn returns the name at the end of an expression, and its quantity; nil: there is none.
func nameIn(expression string) (best string, of *Figure) {
	for name, q := range names {
		if len(name) > len(best) && strings.HasSuffix(expression, "."+name) {
			best, of = name, q
		}
	}
	return best, of
}

// wordOf are the words for quantities and parts of their names, where the name is none.
var wordOf = map[string]string{
	"completion": "flow completion time", "busbw": "bus bandwidth", "fb": "quantised feedback", "limit": "rate limit",
	"target": "target rate", "round": "duration of a round", "rounds": "rounds", "marked": "share of marked frames",
	"stalled": "share of time stopped", "max-min": "max-min fair rate", "proportional": "proportionally fair rate",
	"transfers": "finished flows", "open": "open flows", "waiting": "waiting flows",
	"mean": "mean %s", "max": "maximum %s", "p50": "median %s", "p95": "95th percentile of the %s", "p99": "99th percentile of the %s",
	"p999": "99.9th percentile of the %s", "small": "%s of small flows", "medium": "%s of medium flows", "large": "%s of large flows",
}

// Words puts an expression into the words of an axis: "99th percentile of the slowdown of load".
func Words(expression string) string {
	if a, b, ok := strings.Cut(expression, " / "); ok {
		return Words(a) + " / " + Words(b)
	}
	name, q := nameIn(expression)
	if q == nil {
		return expression
	}
	parts := strings.Split(name, ".")
	text := cmp.Or(wordOf[parts[0]], parts[0])
	for _, part := range slices.Backward(parts[1:]) {
		if form := wordOf[part]; strings.Contains(form, "%s") {
			text = fmt.Sprintf(form, text)
		} else {
			text += " (" + part + ")"
		}
	}
	return text + " of " + strings.TrimSuffix(expression, "."+name)
}
