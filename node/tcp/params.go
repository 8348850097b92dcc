package tcp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Recovery is how a sender continues after a fast retransmit.
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
	// Recovery after a fast retransmit. sack: retransmits the gaps between blocks that the receiver
	// reports (RFC 2018, RFC 6675); newreno: a partial ACK reveals the next loss (RFC 6582); reno:
	// ends with the first new ACK.
	Recovery Recovery `key:"recovery" def:"newreno"`
	// recovery: newreno: every partial ACK restarts the retransmission timer (slow but steady, as
	// in Linux), not only the first (impatient).
	// Source: RFC 6582, section 4
	Steady bool `key:"steady" def:"false"`
	// Segments may be marked instead of dropped; a mark halves the window, once per round trip (RFC
	// 3168).
	ECN bool `key:"ecn" def:"false"`
	// How a mark reduces the window. classic: to half; dctcp: by half of the marked fraction of
	// bytes, averaged over round trips; requires ecn: true and switches that mark above one
	// threshold (RFC 8257).
	Congestion Congestion `key:"congestion" def:"classic" omit:"usual" also:"congestion-control"`
	// dctcp: weight g of the last window in the average.
	// Source: RFC 8257, section 4.2
	Gain float64 `key:"gain" def:"0.0625" low:"above 0" high:"1" with:"congestion=dctcp" omit:"usual" also:"dctcp-g"`
	// Segments sent before the first ACK and after an idle period. auto: 2 to 4, depending on their
	// size.
	// Source: RFC 5681, section 3.1
	InitialWindow int `key:"initial-window" none:"auto" def:"auto" low:"1" high:"1000" also:"iw"`
	// Initial slow start threshold.
	// Source: RFC 5681, section 3.1: "arbitrarily high"
	Threshold unit.Size `key:"ssthresh" none:"unlimited" def:"unlimited" low:"1B"`
	// Receive buffer, the maximum amount in flight; at most 1048560KiB.
	ReceiveWindow unit.Size `key:"receive-window" def:"1MB" low:"1B" also:"window|rwnd"`
	// Rate at which the application reads that buffer.
	Read unit.Rate `key:"read" none:"unlimited" def:"unlimited"`
	// How long the receiver waits for a second full segment before an ACK. none: ACK each segment.
	// At most 500ms, or half of initial-rto if that is longer.
	// Source: RFC 5681, section 4.2; Linux
	DelayedACK unit.Duration `key:"delayed-ack" none:"none" def:"40ms"`
	// Retransmission timeout before the first RTT measurement.
	// Source: RFC 6298, (2.1)
	InitialRTO unit.Duration `key:"initial-rto" def:"1s" low:"1us"`
	// Minimum retransmission timeout. Linux and ns-2 use 200ms; data centres need far less.
	// Source: RFC 6298, (2.4)
	MinRTO unit.Duration `key:"min-rto" def:"1s" low:"1us"`
	// Maximum retransmission timeout, however often it doubled.
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
			fmt.Errorf("an ACK that waits for %v: an ACK must be sent within 500ms (RFC 5681, section 4.2)", p.DelayedACK)
	case p.DelayedACK < 0 || p.InitialWindow < 0 || p.Threshold < 0 || p.Read < 0:
		return "delayed-ack", fmt.Errorf("times, sizes and rates must not be negative")
	}
	switch {
	case p.Congestion != DCTCP:
	case !p.ECN:
		return "ecn", fmt.Errorf("congestion is dctcp and ecn false: DCTCP depends on marks, and no segment may be marked")
	case !(p.Gain > 0 && p.Gain <= 1):
		return "gain", fmt.Errorf("the gain is %v: above 0 to 1 is possible", p.Gain)
	}
	return "", nil
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

// scaled returns the part of a window that 16 bits can tell.
func scaled(window uint64, shift uint8) uint64 { return min(window, 65535<<shift) >> shift << shift }

// scale returns the shift with which a window fits 16 bits.
func scale(window unit.Size) (shift uint8) {
	for window>>shift > 65535 {
		shift++
	}
	return shift
}
