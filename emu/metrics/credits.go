package metrics

import (
	"slices"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// The counters of a port with credits of virtual channels, by SAI's names behind
// SAI_PORT_STAT_CBFC_.
const (
	// The sender of the frames counts these four, their receiver the two behind.
	ccSent = iota
	cfCame
	creditsUsed // credits that are in use, of all channels
	creditsMost // the most that were
	cfSent
	ccCame
	creditCounters // how many there are
)

var creditWords = [creditCounters]string{ccSent: "NUM_CC_UPDATE_MESSAGES_TX", cfCame: "NUM_CF_UPDATE_MESSAGES_RX",
	creditsUsed: "SENDER_CREDITS_USED", creditsMost: "SENDER_CREDITS_USED_WATERMARK",
	cfSent: "NUM_CF_UPDATE_MESSAGES_TX", ccCame: "NUM_CC_UPDATE_MESSAGES_RX"}

// credits are those counters by port. Few fabrics have any: it is nil there.
type credits [][creditCounters]int64

// beginCredits makes the counters where a link has credits of channels.
func (c *Collector) beginCredits() {
	for i := range c.fabric.Wires {
		if c.fabric.Wires[i].Link.FlowControl == port.ChannelCredits {
			c.credits = make(credits, len(c.ports))
			return
		}
	}
}

// countCredits counts a frame that starts at a port, or that has come.
func (c *Collector) countCredits(n uint32, starts bool, kind wire.Kind, bytes uint32, left int64) {
	switch x := &c.credits[n]; {
	case kind == wire.CCUpdate && starts:
		x[ccSent]++
	case kind == wire.CCUpdate:
		x[ccCame]++
	case kind == wire.CFUpdate && starts:
		x[cfSent]++
	case kind == wire.CFUpdate:
		x[cfCame]++
		x[creditsUsed] = left
	case starts && !kind.Control() && left >= 0: // it has a channel
		x[creditsUsed] += int64(c.fabric.Wires[c.wires[n]].Link.CBFC.Credits(unit.Size(bytes)))
		x[creditsMost] = max(x[creditsMost], x[creditsUsed])
	}
}

// PortCount is a counter of a port that is not zero.
type PortCount struct {
	Node    int
	Port    port.ID
	Counter string // SAI's name; of credits what is behind SAI_PORT_STAT_CBFC_
	Count   int64
}

// countsByPort returns the counters that are not zero, by node, port and counter, given those of a
// port and the name of one, which is empty for a counter that is left out.
func (c *Collector) countsByPort(of func(n uint32) []int64, name func(k int) string) (all []PortCount) {
	for m := range c.fabric.Nodes {
		for p := range c.fabric.Nodes[m].Ports {
			for k, n := range of(c.first[m] + uint32(p)) {
				if word := name(k); n > 0 && word != "" {
					all = append(all, PortCount{m, port.ID(p), word, n})
				}
			}
		}
	}
	return all
}

// Credits returns the counters of the credits of channels.
func (v *View) Credits() []PortCount {
	if v.c.credits == nil {
		return nil
	}
	return v.c.countsByPort(func(n uint32) []int64 { return v.c.credits[n][:] }, func(k int) string { return creditWords[k] })
}

// creditEnds returns the ends of the names of the quantities for them.
func creditEnds() (ends []string) {
	for _, word := range creditWords {
		ends = append(ends, strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(word, "NUM_")), "_", "-"))
	}
	return ends
}

var creditNames = creditEnds()

// ofCredits is a counter of the frames of one direction of a link, since the start of the run.
func ofCredits(t taken) float64 {
	if t.c.credits == nil {
		return 0
	}
	k, at := slices.Index(creditNames, t.end), t.c.out(t.object.hop)
	if k >= cfSent {
		at = t.c.in(t.object.hop)
	}
	return float64(t.c.credits[at/portColumns][k])
}
