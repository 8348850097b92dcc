package retry

import (
	"math"
	"math/bits"

	"fabemu/wire/unit"
)

// Action is the treatment of frames while the sender cannot protect them.
type Action uint8

// The actions (SAI: sai_llr_frame_action_t).
const (
	BestEffort Action = iota // they leave without a sequence, and stay lost if they are lost
	Block                    // they wait
	Discard                  // they are dropped
)

func (Action) Words() []string { return []string{"best-effort", "block", "discard"} }

func (a Action) String() string { return unit.Word(a, a.Words()) }

// MaxFrames is the most frames that may await their ACK: half of the sequences (SONiC: 0 to
// 524288), so that a duplicate and a later frame can be distinguished.
const MaxFrames = Modulus / 2

// Sample names the values that a profile begins with.
type Sample uint8

// The samples: the rows of SONiC's file of profiles (doc/llr/llr_profile_lookup.ini.sample), by the
// rate of the link and the length of its cable. They are for frames of about 512 bytes.
const (
	Fitted Sample = iota // computed from the link
	At200GFor5m
	At200GFor40m
	At400GFor5m
	At400GFor40m
)

func (Sample) Words() []string {
	return []string{"fitted", "200g-5m", "200g-40m", "400g-5m", "400g-40m"}
}

func (s Sample) String() string { return unit.Word(s, s.Words()) }

// Profile has the parameters of a link with retry, by SAI's attributes of a port LLR profile.
type Profile struct {
	// Defaults of the other fields. fitted: from the link's rate, length and frames. Others:
	// SONiC's sample profiles for 200 and 400 Gb/s, with cables of 5 m and 40 m.
	// Source: SONiC, llr_profile_lookup.ini.sample
	Sample Sample `key:"profile" def:"fitted"`
	// Maximum number of frames awaiting an ACK. fitted: as many of the smallest as fit in bytes.
	Frames int `key:"frames" none:"fitted" low:"1" high:"524288" by:"profile=fitted|61|71|115|133" also:"outstanding-frames|max-outstanding-frames"`
	// Maximum bytes awaiting an ACK, as sent. fitted: what leaves in two ACK times.
	Bytes unit.Size `key:"bytes" none:"fitted" low:"1B" high:"4294967295B" by:"profile=fitted|31184B|35952B|58768B|67760B" also:"outstanding-bytes|max-outstanding-bytes"`
	// Without an ACK for this long, the sender replays all unacknowledged frames. fitted: two ACK
	// times.
	Timer unit.Duration `key:"timer" none:"fitted" low:"1ns" by:"profile=fitted|5us|5.5us|5us|5.5us" also:"replay-timer|max-replay-timer"`
	// Replays in a row, without an ACK that frees a frame, before the buffer is flushed.
	// Source: SONiC's profiles; SAI has 1
	Count int `key:"count" def:"3" low:"1" high:"255" also:"replay-count|max-replay-count"`
	// If the link is down for at most this long, both ends continue and replay lost frames. 0s:
	// every failure flushes the buffer.
	// Source: SAI
	PCSLost unit.Duration `key:"pcs-lost" low:"0s" high:"4.29s" by:"profile=0s|50us|55us|50us|55us" also:"pcs-lost-timeout"`
	// A frame that awaits its ACK for this long flushes the buffer. 0s: no limit.
	// Source: SAI
	DataAge unit.Duration `key:"data-age" low:"0s" high:"4.29s" by:"profile=0s|20us|24us|20us|24us" also:"data-age-timeout"`
	// Minimum distance between ACKs, in bytes sent.
	// Source: SAI; range of SONiC
	Spacing unit.Size `key:"spacing" def:"2048B" low:"400B" high:"16384B" also:"ctlos-spacing|ctlos-spacing-bytes"`
	// Before the handshake ends, frames leave unprotected (best-effort), wait (block) or are
	// dropped (discard).
	// Source: SAI
	Init Action `key:"init" def:"best-effort" also:"init-action" means:"best_effort=best-effort"`
	// reinit: false: what happens to frames after a flush, as in init.
	// Source: SAI
	Flush Action `key:"flush" by:"profile=best-effort|block|block|best-effort|discard" also:"flush-action" means:"best_effort=best-effort"`
	// After a flush the sender starts a new handshake; otherwise it stays flushed.
	// Source: SONiC
	Reinit   bool  `key:"reinit" def:"true" also:"re-init-on-flush"`
	Eligible uint8 // the priorities that are protected, a bit each; frames of flow control always are
}

// AckTime returns how long after the tail of a frame the ACK of it is there at the latest, on a
// link of a rate and a propagation whose largest frames take this many bytes of the link: the path
// there and back, the spacing of ACKs, a frame that has just begun in the other direction, and the
// ordered set.
func (p *Profile) AckTime(rate unit.Rate, propagation unit.Duration, largest unit.Size) unit.Duration {
	return 2*propagation + rate.Serialise(p.Spacing+largest+orderedSet)
}

// orderedSet is the length of a control ordered set on the link.
const orderedSet = 8

// smallest is the length on the link of the smallest frame that is common (IEEE 802.3: 64 bytes).
const smallest = 64

// Complete computes the values that are fitted, for a link with its lowest rate.
func (p *Profile) Complete(rate unit.Rate, propagation unit.Duration, largest unit.Size) {
	ack := p.AckTime(rate, propagation, largest)
	if p.Timer == 0 {
		p.Timer = 2*ack + rate.Serialise(largest)
	}
	if p.Bytes == 0 {
		p.Bytes = BytesIn(rate, 2*ack) + 2*largest
	}
	if p.Frames == 0 {
		p.Frames = min(int(p.Bytes/smallest)+1, MaxFrames)
	}
}

// BytesIn returns how many bytes leave by a link in a time, rounded up.
func BytesIn(rate unit.Rate, d unit.Duration) unit.Size {
	hi, lo := bits.Mul64(uint64(max(rate, 0)), uint64(max(d, 0)))
	whole := uint64(8 * unit.Second)
	if hi >= whole {
		return math.MaxInt64
	}
	n, rest := bits.Div64(hi, lo, whole)
	return unit.Size(min(n, math.MaxInt64-1)) + unit.Size(min(rest, 1))
}
