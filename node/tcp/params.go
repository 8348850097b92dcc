package tcp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Recovery is how a sender goes on after a fast retransmit.
type Recovery uint8

// The ways to recover.
const (
	SACK    Recovery = iota // by the blocks that the receiver reports (RFC 6675)
	NewReno                 // a partial ACK shows the next loss (RFC 6582)
	Reno                    // the first ACK of anything new ends the recovery (RFC 5681, section 3.2)
)

// Words returns the words for the ways to recover.
func (Recovery) Words() []string { return []string{"sack", "newreno", "reno"} }

// Params are the parameters of a flow with TCP.
type Params struct {
	// The recovery after a fast retransmit. sack: the receiver reports the blocks that it has, and the gaps are sent again
	// (RFC 2018, RFC 6675); newreno: a partial ACK shows the next loss (RFC 6582); reno: the first new ACK ends it.
	Recovery Recovery `key:"recovery" def:"newreno"`
	// With recovery: newreno, each partial ACK restarts the retransmission timer (slow but steady, as Linux does);
	// without, the first one of a recovery alone, so that a long one ends in a timeout (impatient).
	// Source: RFC 6582, section 4
	Steady bool `key:"steady" def:"false"`
	// Segments may be marked in place of being dropped, and a mark halves the window once in a round trip (RFC 3168).
	ECN bool `key:"ecn" def:"false"`
	// The rule by which a mark lowers the window. classic: to the half, as a loss does; dctcp: by half of the fraction of
	// bytes that were marked, as an average over round trips, with ecn: true and switches that mark above one length of a
	// queue (RFC 8257).
	Congestion Congestion `key:"congestion" def:"classic" omit:"usual" also:"congestion-control"`
	// The weight of the last window in that average: g.
	// Source: RFC 8257, section 4.2: 1/16
	Gain float64 `key:"gain" def:"0.0625" low:"above 0" high:"1" with:"congestion=dctcp" omit:"usual" also:"dctcp-g"`
	// Segments that leave before the first ACK, and after an idle time; auto is 2 to 4, by their size.
	// Source: RFC 5681, section 3.1
	InitialWindow int `key:"initial-window" none:"auto" def:"auto" low:"1" high:"1000" also:"iw"`
	// Where slow start ends at first: the slow start threshold.
	// Source: RFC 5681, section 3.1: "arbitrarily high"
	Threshold unit.Size `key:"ssthresh" none:"unlimited" def:"unlimited" low:"1B"`
	// The buffer of the receiver, and so the most that may be on the way; at most 1048560KiB.
	ReceiveWindow unit.Size `key:"receive-window" def:"1MB" low:"1B" also:"window|rwnd"`
	// How fast the application takes bytes out of that buffer; unlimited takes all as they come.
	Read unit.Rate `key:"read" none:"unlimited" def:"unlimited"`
	// For how long the receiver waits for a second full segment before it acknowledges one; none acknowledges each; at
	// most 500ms, or half of initial-rto where that is more.
	// Source: RFC 5681, section 4.2: within 500 ms; Linux: 40 ms
	DelayedACK unit.Duration `key:"delayed-ack" none:"none" def:"40ms"`
	// The retransmission timeout before the first measurement of the round trip.
	// Source: RFC 6298, (2.1)
	InitialRTO unit.Duration `key:"initial-rto" def:"1s" low:"1us"`
	// The least retransmission timeout. Linux and ns-2 have 200ms; for the short ways of a data centre it is far less.
	// Source: RFC 6298, (2.4)
	MinRTO unit.Duration `key:"min-rto" def:"1s" low:"1us"`
	// The greatest, however often it was doubled.
	// Source: RFC 6298, (2.5)
	MaxRTO unit.Duration `key:"max-rto" def:"60s" low:"1us"`
}

// Check refuses parameters that do not fit one another, by the key of one of them.
func (p Params) Check() (key string, err error) {
	switch {
	case p.ReceiveWindow < 1 || p.ReceiveWindow > maxWindow:
		return "receive-window", fmt.Errorf("a receive window of %v: 1B to %v are possible", p.ReceiveWindow, maxWindow)
	case p.MinRTO < 1 || p.InitialRTO < 1 || p.MinRTO > p.MaxRTO || p.InitialRTO > p.MaxRTO:
		return "max-rto",
			fmt.Errorf("the greatest retransmission timeout, %v, is below the initial one, %v, or the least, %v",
				p.MaxRTO, p.InitialRTO, p.MinRTO)
	case p.DelayedACK > max(500*unit.Millisecond, p.InitialRTO/2): // RFC 6298 has 1s for the latter: the same, and on any scale of time
		return "delayed-ack",
			fmt.Errorf("an ACK that waits for %v: an ACK must come within 500ms (RFC 5681, section 4.2)", p.DelayedACK)
	case p.DelayedACK < 0 || p.InitialWindow < 0 || p.Threshold < 0 || p.Read < 0:
		return "delayed-ack", fmt.Errorf("times, sizes and rates must not be negative")
	}
	return p.checkMarks()
}

// maxWindow is the largest window: 65535 shifted by 14 (RFC 7323, section 2.3).
const maxWindow unit.Size = 65535 << 14

// segments returns the largest payload of segments in packets of this size.
func segments(packet uint32) uint32 { return packet - wire.TCPOverhead }

// initialWindow returns the initial window in bytes.
func (p *Params) initialWindow(mss uint32) uint64 {
	if p.InitialWindow > 0 {
		return uint64(p.InitialWindow) * uint64(mss)
	}
	switch { // RFC 5681, section 3.1
	case mss > 2190:
		return 2 * uint64(mss)
	case mss > 1095:
		return 3 * uint64(mss)
	}
	return 4 * uint64(mss)
}

// MinPacket is the smallest packet that a flow with TCP may have: segments of 8 bytes.
const MinPacket = wire.TCPOverhead + 8

// scale returns the shift with which a window fits 16 bits.
func scale(window unit.Size) (shift uint8) {
	for window>>shift > 65535 {
		shift++
	}
	return shift
}
