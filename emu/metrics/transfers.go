package metrics

import (
	"math"
	"slices"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Transfer is a finite one that has ended: its last packet was delivered.
type Transfer struct {
	PSN     uint32    // of its last packet
	Arrived unit.Time // at the source
	Ended   unit.Time // at the destination
	Bytes   int64     // of payload
	Missing int64     // of its packets, those that were lost on the way; 0: it is whole
}

// Completion returns how long the transfer took, from its arrival at the source to the
// delivery of its last byte.
func (t *Transfer) Completion() unit.Duration { return t.Ended.Sub(t.Arrived) }

// lose notes that a packet was dropped on its way: one of the first transfer that ends
// with it or behind it.
func (f *life) lose(psn uint32) {
	const mask = 1<<24 - 1
	for i := range f.begun {
		if t := &f.begun[i]; (t.PSN-psn)&mask <= mask/2 {
			t.Missing++
			return
		}
	}
}

// end ends the transfer that e names. Those that began before it and have not ended have
// lost their last packet, and never will.
func (f *life) end(e *trace.Event) {
	for i := range f.begun {
		if t := f.begun[i]; t.PSN == e.PSN {
			// The destination counts the packets that are missing since the last transfer that
			// ended. Some of them may belong to a transfer that never will. If it counts none,
			// the dropped packets have come again.
			t.Ended, t.Missing = e.At, min(t.Missing, e.A)
			f.ended = append(f.ended, t)
			f.begun = append(f.begun[:0], f.begun[i+1:]...)
			return
		}
	}
}

// Transfers returns the transfers of the flow at an index of the fabric's flows that have
// ended, in the order in which they did. The caller must not change them.
func (c *Collector) Transfers(flow int) []Transfer { return c.lives[flow].ended }

// completions returns how long the transfers of some flows took that ended whole, in seconds.
func (t taken) completions() (all []float64) {
	for _, i := range t.object.flows {
		for _, x := range t.c.lives[i].ended {
			if x.Ended >= t.from && x.Ended < t.to && x.Missing == 0 {
				all = append(all, x.Completion().Seconds())
			}
		}
	}
	return all
}

func meanCompletion(t taken) float64 {
	all, sum := t.completions(), 0.0
	for _, v := range all {
		sum += v
	}
	return ratio(sum, float64(len(all)))
}

// completionOf is the time within which a share of the transfers ended (the nearest rank);
// not a number where none ended.
func completionOf(share float64) formula {
	return func(t taken) float64 {
		all := t.completions()
		if len(all) == 0 {
			return math.NaN()
		}
		slices.Sort(all)
		return all[max(int(math.Ceil(share*float64(len(all))))-1, 0)]
	}
}
