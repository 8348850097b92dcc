package port

import (
	"math/bits"

	"fabemu/wire/unit"
)

// Headroom describes a link for the question how much room a receiver needs above
// its high watermark, so that nothing overruns it although it stops its sender only
// there.
//
// From the instant at which the watermark is reached the sender goes on for as long
// as the PAUSE takes to reach it, and frames that it has sent before are still coming:
//
//	  There             first bits that had left when the watermark was reached
//	+ Reverse           a frame has just begun on the line of the receiver; PAUSE waits.
//	                    At the least that is a PAUSE frame for another class, or one
//	                    that has let the sender go
//	+ Pause             the PAUSE frame itself
//	+ Back              its way
//	+ Response          the time that the sender takes to obey
//	+ Replay            with retry: three times the replay buffer, of frames that a PAUSE waits behind, both
//	                    ways of finding that one is missing, and of frames that come again after the stop
//
// All frames that begin in this window come, the last of them whole. Where the rate of
// the link changes the worst is that a slow frame of the receiver was on the line when
// the sender became fast. That is the arithmetic of IEEE 802.1Qbb, annex O (its delay value: cable both ways, two
// largest frames, the PFC frame, the interface), with the delays of this model.
type Headroom struct {
	Rate        unit.Rate     // of the link, both ways; the highest that it has
	Slowest     unit.Rate     // the lowest that it has before it has a higher one again; 0: Rate
	Falls       unit.Size     // bytes of frames that the sender had begun at a higher rate when the rate became lower: Falling
	There, Back unit.Duration // propagation
	Frame       unit.Size     // the largest frame that the sender sends, on the line
	Reverse     unit.Size     // the largest frame that the receiver sends, on the line; 0: none but PAUSE frames
	Pause       unit.Size     // a PAUSE frame, on the line
	Replay      unit.Duration // a link with retry: the time of frames that may be sent again, ahead of a PAUSE and after it
	Response    unit.Duration // from the PAUSE frame's last bit until it is obeyed; ports of this package take none
}

// window returns how long the sender may begin frames that come on top.
func (h Headroom) window() unit.Duration {
	r := h.Rate
	if h.Slowest > 0 {
		r = h.Slowest
	}
	w := h.There + h.Back + h.Response + h.Replay + r.Serialise(h.Pause)
	if ahead := max(h.Reverse, h.Pause); ahead > 0 {
		w += r.Serialise(ahead) - unit.Picosecond // it had begun before
	}
	return w
}

// Falling returns the bytes that come on top where the rate of a link with the higher rate becomes a lower one,
// and none that is higher again. A frame of the receiver that has just begun, and the PAUSE frame behind it, take the
// time of as many bytes of the sender as at the higher rate. But the sender ends a frame at the higher rate that it
// had begun; on the way back of the PAUSE frame it makes up for that, if that way is longer than the frame.
func (h Headroom) Falling(lower unit.Rate) unit.Size {
	longer := h.Rate.Serialise(h.Frame) - h.Back
	if longer <= 0 || lower >= h.Rate {
		return 0
	}
	hi, lo := bits.Mul64(uint64(longer), uint64(h.Rate-lower))
	n, _ := bits.Div64(hi, lo, 8*uint64(unit.Second))
	return unit.Size(n) + 1
}

// Bytes returns how much room above the high watermark is enough, for frames of any
// sizes up to Frame: the frame that reaches the watermark may pass it by all but one
// byte; in the window come all bytes but the last, and behind them a frame that began
// with it. The rate must be positive.
func (h Headroom) Bytes() unit.Size {
	hi, lo := bits.Mul64(uint64(h.window()), uint64(h.Rate))
	lo, borrow := bits.Sub64(lo, 1, 0)
	hi -= borrow
	begun, _ := bits.Div64(hi, lo, 8*uint64(unit.Second)) // whole bytes that have left before its end
	return h.Frame - 1 + unit.Size(begun) + h.Falls + h.Frame
}

// Uniform returns how much room above a high watermark is needed, to the byte, where
// all frames are of the size Frame and all of it has come when a frame is stored
// (store and forward).
func (h Headroom) Uniform(high unit.Size) unit.Size {
	reached := (high + h.Frame - 1) / h.Frame * h.Frame // occupancy is a multiple of Frame
	each := h.Rate.Serialise(h.Frame)
	begun := (h.window() + each - 1) / each
	return reached - high + unit.Size(begun)*h.Frame
}
