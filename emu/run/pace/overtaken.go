package pace

import "fabemu/wire/unit"

// Blind is the model time in which the end of a path was without a frame that was due:
// from when it was due to when its machine was as the frame came. Times that overlap
// count once.
type Blind struct {
	time  unit.Duration
	until unit.Time
}

// Overtake counts a frame that was due by a path of a wire and was handed over later, at now, since its
// machine had done something at now. Packet is T of the wire, in model time.
func (t *Record) Overtake(b *Blind, wire int, packet unit.Duration, due, now unit.Time) {
	t.Overtaken++
	b.time += max(0, now.Sub(max(due, b.until)))
	b.until = max(b.until, now)
	if int64(b.time) > t.Blind {
		t.Blind, t.BlindWire = int64(b.time), wire
	}
	by := now.Sub(due)
	if by > packet/20 {
		t.Overtaken5++
	}
	if by > packet {
		t.OvertakenT++
	}
	t.WorstOvertaken = max(t.WorstOvertaken, float64(by)/float64(packet))
}
