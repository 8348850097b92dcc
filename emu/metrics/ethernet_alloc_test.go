//go:build timing

package metrics

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// "Zero allocations": neither does an event of Ethernet allocate.
func TestAllocsOfEventsOfEthernet(t *testing.T) {
	f, s := onEthernet(port.PriorityPauseFrames)
	p := newPlay(t, f, s)
	m, id := p.end("trunk", 0)
	frame := wire.Frame{Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 1, Stopped: 1, Quanta: 100})}
	events := []trace.Event{
		{Kind: trace.Arrive, A: trace.FrameWord(&frame), PSN: trace.ClassesWord(&frame), B: 100}, {Kind: trace.Arrive, Lane: 3, A: int64(wire.Data), B: 3000},
		{Kind: trace.Release, Lane: 3}, {Kind: trace.Drop, Flow: 2, A: int64(trace.BufferFull)}, {Kind: trace.Stall, A: int64(port.Paused)}, {Kind: trace.Deadlock},
	}
	at := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		for i := range events {
			at += 1000
			e := &events[i]
			e.At, e.Node, e.Port = at, m, id
			p.c.Record(e)
		}
	}); n != 0 {
		t.Errorf("%d events allocate %v times", len(events), n)
	}
}
