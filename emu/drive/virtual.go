package drive

import (
	"context"
	"fmt"

	"fabemu/wire/port"
)

// Virtual runs a fabric on the virtual clock: from event to event, as fast as the
// processor goes. The same fabric gives the same events, always.
type Virtual struct {
	// SkipCodec hands frames over as values. By default each goes through bytes, as
	// on a socket, so that nothing works only because two machines share memory.
	SkipCodec bool
}

// Run runs f to its end, or until ctx is done. It returns how many frames were
// handed over, hop by hop.
func (v Virtual) Run(ctx context.Context, f *Fabric) (hops int64, err error) {
	o, err := newOrder(f, f.Machines)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 0, maxDatagram)
	done := ctx.Done()
	for n := 0; ; n++ {
		slot, t := o.agenda.First()
		if t >= f.End {
			f.Progress.at(f.End)
			return o.hops, nil
		}
		if n&0xFFF == 0 {
			f.Progress.at(t)
			select {
			case <-done:
				return o.hops, ctx.Err()
			default:
			}
		}
		m := o.do(slot, t)
		for {
			tr, ok := o.machines[m].Poll()
			if !ok {
				break
			}
			p, flight := o.send(m, &tr)
			flight.arrived = true
			if v.SkipCodec {
				flight.arrival = port.Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
				continue
			}
			seq := p.seq + uint32(p.count) - 1
			buf = encode(buf[:0], &tr, p, seq, f.Run)
			got, a, err := decode(buf, p, f.Run)
			if err != nil || got != seq {
				return o.hops, fmt.Errorf("machine %d, port %d: a frame did not survive its own encoding: %w; this is a bug", m, tr.Port, err)
			}
			flight.arrival = a
		}
		if err := o.settle(m, slot); err != nil {
			return o.hops, err
		}
	}
}
