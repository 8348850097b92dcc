package generate

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"fabemu/emu/spelling"
	"fabemu/wire/unit"
)

// Options give the size of a fabric.
type Options struct {
	Endpoints int       // 0: the default of the kind
	Rate      unit.Rate // of every link; 0: 1 GB/s
	Name      string    // of the scenario; empty: the kind and the size, "incast-9"
}

// MaxEndpoints is the most endpoints that a file is written for: with a switch for each, as a
// parking lot has, all have LIDs (wire.MaxLID).
const MaxEndpoints = 20_000

// A Kind is a kind of fabric and traffic.
type Kind struct {
	Name      string // "fat-tree"
	What      string // description in one line
	Endpoints int    // default number
	Least     int    // least number of endpoints
	lay       func(endpoints int) values
}

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		{"dumbbell", "pairs of senders and receivers on two sides of one trunk", 16, 2, dumbbell},
		{"incast", "all send to one", 9, 2, incast},
		{"parking-lot", "a chain of switches with a sender at each, all towards its end", 5, 2, parkingLot},
		{"leaf-spine", "leaves that are all joined to all spines, each endpoint with one far away", 16, 2, leafSpine},
		{"fat-tree", "a folded Clos of three stages, each endpoint with one far away", 16, 2, fatTree},
		{"hpl2002", "the fabric of HPL-2002-224, Fig. 1: a victim between two switches", 23, 5, hpl2002},
	}
}

// Write returns the text of a scenario. The error names the unknown kind, or the limit that is broken.
func Write(kind string, o Options) ([]byte, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == kind {
			return k.text(o)
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("there is no kind %q%s; there are %s", kind,
		spelling.DidYouMean(spelling.Nearest(kind, names)), strings.Join(names, ", "))
}

func (k Kind) text(o Options) ([]byte, error) {
	if o.Endpoints == 0 {
		o.Endpoints = k.Endpoints
	}
	if o.Rate == 0 {
		o.Rate = 8e9
	}
	switch {
	case o.Endpoints < k.Least || o.Endpoints > MaxEndpoints:
		return nil, fmt.Errorf("%s has from %d to %d endpoints, not %d", k.Name, k.Least, MaxEndpoints, o.Endpoints)
	case o.Rate < slowest:
		return nil, fmt.Errorf("a rate of %v is too low: at less than %v the header of a packet takes longer than a switch waits",
			o.Rate, slowest)
	}
	v := k.lay(o.Endpoints)
	from, to := extent(o.Rate, v["sharing"].(int))
	v["kind"], v["name"], v["endpoints"], v["rate"] = k.Name, cmp.Or(o.Name, fmt.Sprintf("%s-%d", k.Name, o.Endpoints)), o.Endpoints, o.Rate
	v["from"], v["to"] = from, to
	var b bytes.Buffer
	if err := kindTemplates().ExecuteTemplate(&b, k.Name, v); err != nil {
		panic("generate: " + err.Error()) // a template of ours, and memory
	}
	return b.Bytes(), nil
}

//go:embed kinds.tmpl
var kindsText string

// kindTemplates are the texts of the scenarios, by kind.
func kindTemplates() *template.Template {
	functions := template.FuncMap{"names": names, "joined": joined, "several": several}
	return template.Must(template.New("").Funcs(functions).Parse(kindsText))
}

// slowest is the rate at which the 20 bytes of a header take the 40 ns of a
// switch's forwarding delay.
const slowest unit.Rate = 4e9

// packetBytes is how long a packet of 2048 bytes is on the line.
const packetBytes = 2068

// extent returns the end of the run and the begin of the measurement. Each of the flows that share a link has
// the time for 30 packets, of which the last 20 are measured.
func extent(rate unit.Rate, sharing int) (from, end unit.Duration) {
	packet := rate.Serialise(packetBytes)
	end = max(unit.Duration(30*sharing)*packet, 500*packet)
	round := unit.Microsecond
	for 100*round < end {
		round *= 10
	}
	end = (end + round - 1) / round * round
	return end / 3 / unit.Microsecond * unit.Microsecond, end
}

// several lists switches, several to a line.
func several(switches []string) string {
	const width = 78
	var b strings.Builder
	at, _ := b.WriteString("switches: {")
	for i, name := range switches {
		item := name + ": {}"
		if i < len(switches)-1 {
			item += ","
		}
		switch {
		case at+1+len(item) > width:
			b.WriteString("\n  ")
			at = 2
		case i > 0:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(item)
		at += len(item)
	}
	return b.String() + "}"
}

// numbered adds prefix1, prefix2 and so on, n of them.
func numbered(all []string, prefix string, n int) []string {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i+1))
	}
	return all
}

// names returns a range of names, quoted: "A[1-10]", or A1 for a single one.
func names(prefix string, low, high int) string {
	if low == high {
		return fmt.Sprintf("%s%d", prefix, low)
	}
	return fmt.Sprintf("\"%s[%d-%d]\"", prefix, low, high)
}

// joined returns a link or links: "A[1-10] - A".
func joined(a, b string) string {
	return `"` + strings.Trim(a, `"`) + " - " + strings.Trim(b, `"`) + `"`
}
