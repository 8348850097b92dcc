package uet

import (
	"fmt"

	"fabemu/node/spray"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Unlimited is the RetryCount of a context that never fails.
const Unlimited = -1

// Delivery is in which order a destination accepts packets.
type Delivery uint8

// The kinds of delivery.
const (
	Unordered Delivery = iota // RUD: as they come
	Ordered                   // ROD: in the order of their numbers; others are dropped
)

func (Delivery) Words() []string { return []string{"unordered", "ordered"} }

// Params are the parameters of a flow with Ultra Ethernet transport.
type Params struct {
	// unordered (RUD): the receiver accepts packets as they come, and only lost ones are
	// retransmitted. ordered (ROD): it drops packets that come ahead of their turn, and the sender
	// goes back.
	Delivery Delivery `key:"delivery" def:"unordered" means:"rud=unordered|rod=ordered"`
	// The most packets from the oldest missing one on that both ends keep track of, so the most in
	// flight.
	// Source: uet-htsim, uec.h (most packets in flight): the model's default
	Range int `key:"mp-range" def:"16384" low:"1" high:"32767" also:"mpr"`
	// Maximum number of unacknowledged packets. none: mp-range.
	Window int `key:"window" none:"none" def:"none" low:"1" high:"8388608"`
	// The receiver sends an ACK after so many bytes. Marked packets, those that ask for it, the
	// first one and duplicates have theirs at once.
	// Source: uet-htsim, uec.cpp (_bytes_unacked_threshold): the model's default
	AckBytes unit.Size `key:"ack-bytes" def:"16384B" low:"1B" also:"sack-threshold"`
	// A packet that is not acknowledged for this long is retransmitted. uet-htsim computes it where
	// the fabric is known: 15us and the time of six queues.
	// Source: uet-htsim, uec.h (DEFAULT_UEC_RTO_MIN): the model's default
	Timeout unit.Duration `key:"rto" def:"100us" none:"never" low:"above 0s"`
	// Factor of rto after each timeout without an ACK of a new packet, up to 64 times. 1: it stays.
	// Source: uet-htsim, which has none
	Backoff int `key:"rto-backoff" def:"1" low:"1" high:"16"`
	// How many timeouts in a row without an ACK of a new packet are answered by retransmission. One
	// more, and the context fails: the flow stops for good.
	// Source: ours
	RetryCount int `key:"retry-count" def:"unlimited" none:"unlimited" at:"-1" low:"0" high:"7" also:"retry-cnt|retry_cnt|retries|tl-retry-count"`
	// If no ACK comes for this long while packets are in flight, the sender asks for one by a
	// probe. What left before the probe and has not come is then lost: give more than paths differ.
	// Source: uet-htsim, uec.cpp, where the time is a multiple of the round trip
	Probe unit.Duration `key:"probe-after" def:"none" none:"none" low:"above 0s"`
	// DSCP of data. The flow's priority follows from it (model.dscp).
	DSCP uint8 `key:"dscp" low:"0" high:"63" computed:"the lowest that model.dscp has for the priority of the flow"`
	// DSCP of ACKs, NACKs and control packets. uet-ref-prov has 46.
	AckDSCP uint8 `key:"ack-dscp" low:"0" high:"63" computed:"the DSCP of data"`
	ECN     bool  `key:"ecn" def:"true" doc:"Data has ECT(0), so that switches may mark it (RFC 3168)."`

	// The source chooses a path for each packet by its UDP source port. oblivious: all in turns.
	// bitmap: the same without those of marked or lost packets. reps: those that ACKs without a
	// mark came back from, else any. mixed: such paths, else those of bitmap, as by default in
	// uet-htsim.
	// Source: uet-htsim (uec_mp.cpp)
	Spray spray.Policy `key:"spray" def:"none" also:"multipath|load-balancing"`
	// How many source ports spray uses: a power of two.
	// Source: uet-htsim, main_uec.cpp
	Entropies int `key:"entropies" def:"64" low:"1" high:"16384" with:"spray!=none" also:"paths"`

	AckPriority uint8          // the priority of AckDSCP
	Seed        uint64         // of the random numbers of Spray
	Codes       wire.TrimCodes // of packets that switches have trimmed
}

// Outstanding returns how many packets there may be from the oldest that awaits its ACK on.
func (p *Params) Outstanding() int {
	if p.Window > 0 {
		return min(p.Window, p.Range)
	}
	return p.Range
}

// Check refuses values that do not fit together. It returns the key of one of them.
func (p Params) Check() (key string, err error) {
	switch {
	case p.Spray != spray.None && p.Entropies&(p.Entropies-1) != 0:
		return "entropies", fmt.Errorf("%d entropies are not a power of two, such as 64", p.Entropies)
	case p.Spray != spray.None && p.Delivery == Ordered:
		return "spray", fmt.Errorf("ordered delivery drops each packet that another one overtakes: leave out spray, or delivery: ordered")
	case p.Window > p.Range:
		return "window", fmt.Errorf("window is %d packets, and mp-range %d: both ends keep track of no more", p.Window, p.Range)
	case p.Probe > 0 && p.Timeout > 0 && p.Probe >= p.Timeout:
		return "probe-after", fmt.Errorf("probe-after, %v, must be below rto, %v, or no probe is sent", p.Probe, p.Timeout)
	}
	return "", nil
}

// valid refuses values out of range, of a program.
func (p *Params) valid() error {
	if p.Range < 1 || p.Range > 1<<15-1 || p.Window < 0 || p.AckBytes < 1 || p.Timeout < 0 || p.Backoff < 1 || p.RetryCount < Unlimited || p.Probe < 0 {
		return fmt.Errorf("a range of %d packets, a window of %d, an ACK after %v, a timeout of %v times %d, %d retransmissions, a probe after %v: a range is 1 to 32767, an ACK needs a byte, a factor is at least 1, the lowest count is Unlimited, and nothing else is negative",
			p.Range, p.Window, p.AckBytes, p.Timeout, p.Backoff, p.RetryCount, p.Probe)
	}
	if p.Spray != spray.None && (p.Entropies < 1 || p.Entropies > spray.Paths) {
		return fmt.Errorf("it sprays over %d entropies: there are 1 to %d", p.Entropies, spray.Paths)
	}
	return nil
}

// Valid refuses parameters of a program that are out of range or do not fit together.
func (p Params) Valid() error {
	if err := p.valid(); err != nil {
		return err
	}
	_, err := p.Check()
	return err
}

// Frame makes f, a data frame, a frame of UET.
func (p Params) Frame(f *wire.Frame) {
	f.Family = wire.UET
	f.SetRoCE(wire.RoCE{DSCP: p.DSCP, ECT: p.ECN})
	if p.Delivery == Ordered {
		f.UET().Flags |= wire.UETOrdered
	}
}

// Control returns a control packet of such a flow, or an ACK or a NACK.
func (p Params) Control(kind wire.Kind, nack bool) wire.Frame {
	f := wire.Frame{Kind: kind, Family: wire.UET, Lane: p.AckPriority}
	f.SetRoCE(wire.RoCE{DSCP: p.AckDSCP, NAK: nack})
	return f
}

// LongestAck returns the longest ACK of such a flow.
func (p Params) LongestAck() wire.Frame {
	f := p.Control(wire.Ack, false)
	if p.Delivery == Unordered {
		f.UET().Flags = wire.UETState
	}
	return f
}
