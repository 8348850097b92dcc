package port

import (
	"math/bits"

	"fabemu/wire/unit"
)

// Headroom describes a link, to compute how much room a receiver needs above its high
// watermark, so that frames do not overrun it although it stops its sender only there.
//
// From the instant at which the watermark is reached the sender continues until the
// PAUSE takes effect, and frames that it has sent before are still in flight:
//
//	  There             first bits that had left when the watermark was reached
//	+ Reverse           a frame has just begun to leave the receiver, so PAUSE waits.
//	                    That is at least a PAUSE frame for another class, or one
//	                    that has let the sender resume
//	+ Pause             the PAUSE frame itself
//	+ Back              its propagation
//	+ Response          the sender takes so long to obey it
//	+ Replay            with retry: three times the replay buffer: frames that a PAUSE waits behind, both
//	                    methods of detecting a lost frame, and frames that are retransmitted after the stop
//
// All frames that begin in this window arrive, the last of them whole. If the rate of
// the link changes, the worst case is that a slow frame of the receiver was on the link
// when the sender became fast. This is the arithmetic of IEEE 802.1Qbb, annex O (its
// delay value: cable in both directions, two largest frames, the PFC frame, the
// interface and the response), with the delays of this model. It is two bytes less than a frame
// more than that value, because a memory counts whole frames: the one that reaches the watermark
// may exceed it by all but one byte.
type Headroom struct {
	Rate        unit.Rate     // of the link in both directions; the highest that it has
	Slowest     unit.Rate     // the lowest that it has before it has a higher one again; 0: Rate
	Falls       unit.Size     // bytes of frames that the sender had begun at a higher rate when the rate fell: see Falling
	There, Back unit.Duration // propagation
	Frame       unit.Size     // the largest frame that the sender sends, on the link
	Reverse     unit.Size     // the largest frame that the receiver sends, on the link; 0: only PAUSE frames
	Pause       unit.Size     // a PAUSE frame, on the link
	Response    Response      // how long the sender takes to obey the PAUSE
	Dynamic     bool          // the watermark falls when others fill the memory: the frame that finds it too low exceeds it with all its bytes
	Replay      unit.Duration // a link with retry: the time of frames that may be retransmitted, ahead of a PAUSE and after it
}

// window returns how long the sender may still begin frames after the watermark was reached.
func (h Headroom) window() unit.Duration {
	r := h.Rate
	if h.Slowest > 0 {
		r = h.Slowest
	}
	w := unit.Time(h.There).Add(h.Back).Add(h.Response.At(r)).Add(h.Replay).Add(r.Serialise(h.Pause))
	if ahead := max(h.Reverse, h.Pause); ahead > 0 {
		w = w.Add(r.Serialise(ahead) - unit.Picosecond) // it had begun before
	}
	return unit.Duration(w)
}

// Falling returns how many more bytes arrive if a link with this rate falls to a lower one and does
// not rise again. A frame of the receiver that has just begun, and the PAUSE frame behind it, take
// the time of as many bytes of the sender as at the higher rate. But the sender completes a frame
// that it had begun at the higher rate. It makes up for that during the propagation of the PAUSE
// frame, and a response in time, if they take longer than the frame.
func (h Headroom) Falling(lower unit.Rate) unit.Size {
	longer := h.Rate.Serialise(h.Frame) - h.Back - h.Response.Time
	if longer <= 0 || lower >= h.Rate {
		return 0
	}
	hi, lo := bits.Mul64(uint64(longer), uint64(h.Rate-lower))
	n, _ := bits.Div64(hi, lo, 8*uint64(unit.Second))
	return unit.Size(n) + 1
}

// Bytes returns how much room above the high watermark is enough for frames of any sizes up to
// Frame. The frame that reaches a fixed watermark may exceed it by all but one byte; all bytes in
// the window but the last arrive, followed by a frame that began with that byte. The rate must be
// positive.
func (h Headroom) Bytes() unit.Size {
	hi, lo := bits.Mul64(uint64(h.window()), uint64(h.Rate))
	lo, borrow := bits.Sub64(lo, 1, 0)
	hi -= borrow
	begun, _ := bits.Div64(hi, lo, 8*uint64(unit.Second)) // whole bytes that have left before its end
	first := h.Frame - 1
	if h.Dynamic {
		first = h.Frame
	}
	return first + unit.Size(begun) + h.Falls + h.Frame
}
