package generate

import (
	"fmt"
	"strings"

	"fabemu/wire/unit"
)

// Options say how large a fabric is.
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
	What      string // one line
	Endpoints int    // by default
	Least     int    // endpoints, at the least
	write     func(*file)
}

// Kinds lists what there is.
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

// Write returns the text of a scenario. The error says what cannot be had.
func Write(kind string, o Options) ([]byte, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == kind {
			return k.text(o)
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("there is no kind %q; there are %s", kind, strings.Join(names, ", "))
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
	if o.Name == "" {
		o.Name = fmt.Sprintf("%s-%d", k.Name, o.Endpoints)
	}
	f := &file{n: o.Endpoints, rate: o.Rate}
	f.line("# Written by: fabemu generate %s --endpoints %d --rate %v", k.Name, o.Endpoints, o.Rate)
	f.line("name: %s", o.Name)
	k.write(f)
	return []byte(f.b.String()), nil
}

// slowest is the rate at which the 20 bytes of a header take the 40 ns of a
// switch's forwarding delay.
const slowest unit.Rate = 4e9

// file is the text of a scenario as it grows.
type file struct {
	b    strings.Builder
	n    int // endpoints
	rate unit.Rate
	from string // the checks measure from here
	to   string // to here
}

func (f *file) line(format string, args ...any) { fmt.Fprintf(&f.b, format+"\n", args...) }

// packetBytes is how long a packet of 2048 bytes is on the line.
const packetBytes = 2068

// model writes how long the run is: time enough for each of the flows that share
// a link to send 30 packets over it, of which the last 20 are measured.
func (f *file) model(sharing int) {
	packet := f.rate.Serialise(packetBytes)
	end := max(unit.Duration(30*sharing)*packet, 500*packet)
	round := unit.Microsecond
	for 100*round < end {
		round *= 10
	}
	end = (end + round - 1) / round * round
	f.to = end.String()
	f.from = (end / 3 / unit.Microsecond * unit.Microsecond).String()
	f.line("model: {duration: %s, seed: 1}", f.to)
}

// defaults writes what all links and flows have.
func (f *file) defaults() {
	f.line("defaults:")
	f.line("  link: {rate: %v, buffer: 4 packets}", f.rate)
	f.line("  # For congestion control: marking: {scheme: input-output, threshold: 8} here,")
	f.line("  switch: {marking: {scheme: none}}")
	f.line("  # and law: lipd here.")
	f.line("  flow: {packet: 2048B, window: 4, control: {law: fixed}}")
}

// switches writes the switches, several to a line.
func (f *file) switches(names []string) {
	const width = 78
	f.b.WriteString("switches: {")
	at := len("switches: {")
	for i, name := range names {
		item := name + ": {}"
		if i < len(names)-1 {
			item += ","
		}
		if at+1+len(item) > width {
			f.b.WriteString("\n  ")
			at = 2
		} else if i > 0 {
			f.b.WriteByte(' ')
			at++
		}
		f.b.WriteString(item)
		at += len(item)
	}
	f.line("}")
}

// check writes a claim.
func (f *file) check(id, claim, metric string, low, high float64) {
	f.line("  - {id: %s, claim: %s, metric: %s, during: [%s, %s], low: %v, high: %v}",
		id, claim, metric, f.from, f.to, low, high)
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
