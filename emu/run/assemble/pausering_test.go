package assemble_test

import (
	"context"
	"testing"

	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// tally counts events.
type tally struct {
	kinds  map[trace.Kind]int
	drops  map[trace.Reason]int
	broken []trace.Event
}

// Record counts an event.
func (c *tally) Record(e *trace.Event) {
	c.kinds[e.Kind]++
	switch e.Kind {
	case trace.Drop:
		c.drops[trace.Reason(e.A)]++
	case trace.Violation:
		c.broken = append(c.broken, *e)
	}
}

// pauseRing returns three output-queued switches in a ring, with an endpoint each that
// sends to the one two hops on, always clockwise. Switch i has port 0 to its endpoint,
// 1 to the next switch and 2 to the one before.
func pauseRing(t *testing.T, kind port.FlowControl) (*drive.Setup, *tally) {
	t.Helper()
	const rate = 10_000_000_000 * unit.BitPerSecond
	count := &tally{kinds: map[trace.Kind]int{}, drops: map[trace.Reason]int{}}
	f := &drive.Setup{
		End:   unit.Time(20 * unit.Millisecond),
		Watch: &deadlock.Watch{Every: unit.Millisecond, Idle: 3 * unit.Millisecond},
	}
	link := func(node int) port.Config {
		return port.Config{Rate: rate, Propagation: 100 * unit.Nanosecond, FlowControl: kind, Station: wire.LID(node + 1)}
	}
	var outbox port.Outbox // nodes that share an agenda share it
	for i := range 3 {
		routes := []port.ID{switchd.NoRoute, switchd.NoRoute, switchd.NoRoute, switchd.NoRoute, 1, 1, 1}
		routes[4+i] = 0
		c := switchd.OutputQueuedConfig{
			Index: i, Outbox: &outbox, Ports: []port.Config{link(i), link(i), link(i)}, Routes: []switchd.Routes{{To: routes}},
			Delay: 500 * unit.Nanosecond, Memory: 300_000, High: 60_000, Low: 40_000, Lossless: 1,
		}
		s, err := switchd.NewOutputQueued(c, count)
		if err != nil {
			t.Fatal(err)
		}
		f.Nodes = append(f.Nodes, s)
	}
	for i := range 3 {
		algorithm := rp.NewFixed(rate)
		from := uint32(2 + i)
		flow := node.Flow{
			Family: wire.Ethernet, Transport: node.Datagrams{}, QP: from, Dst: wire.LID(4 + (i+2)%3), Payload: 1500, Stop: unit.Never,
			Limiter: node.NewInterPacketDelay(rate), Reaction: rp.Reaction{Controller: algorithm},
		}
		c := node.Config{Index: 3 + i, Outbox: &outbox, LID: wire.LID(4 + i), Port: link(3 + i), Flows: []node.Flow{flow}, Sinks: []node.Sink{{QP: 2 + uint32(i+1)%3, Transport: node.Datagrams{}}}}
		e, err := node.New(c, count)
		if err != nil {
			t.Fatal(err)
		}
		f.Nodes = append(f.Nodes, e)
		f.Wires = append(f.Wires, [2]port.End{{Node: i, Port: 0}, {Node: 3 + i, Port: 0}}, [2]port.End{{Node: i, Port: 1}, {Node: (i + 1) % 3, Port: 2}})
	}
	return f, count
}

// "A cyclic wait for PAUSE is found and named", with PAUSE and with PFC; without flow
// control the same ring drops frames and continues.
func TestModelPauseRingDeadlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, kind := range []port.FlowControl{port.PauseFrames, port.PriorityPauseFrames, port.NoFlowControl} {
		t.Run(kind.String(), func(t *testing.T) {
			f, count := pauseRing(t, kind)
			if _, err := (drive.Virtual{}).Run(context.Background(), f); err != nil {
				t.Fatal(err)
			}
			if len(count.broken) > 0 {
				t.Fatalf("%d violations, the first: %+v", len(count.broken), count.broken[0])
			}
			if kind == port.NoFlowControl {
				if len(f.Watch.Found) > 0 || count.drops[trace.BufferFull] == 0 {
					t.Errorf("found %+v; drops %v", f.Watch.Found, count.drops)
				}
				return
			}
			if len(count.drops) > 0 {
				t.Errorf("drops: %v", count.drops)
			}
			if len(f.Watch.Found) != 1 || len(f.Watch.Found[0].Cycle) != 3 {
				t.Fatalf("found %+v, want a cycle of three", f.Watch.Found)
			}
			for i, w := range f.Watch.Found[0].Cycle {
				if w.From != (port.End{Node: i, Port: 1}) || w.To != (port.End{Node: (i + 1) % 3, Port: 2}) || w.Block != port.Paused {
					t.Errorf("%+v waits", w)
				}
			}
			if f.Watch.Ended == 0 || count.kinds[trace.Deadlock] != 3 {
				t.Errorf("ended at %v; %d events of deadlock", f.Watch.Ended, count.kinds[trace.Deadlock])
			}
		})
	}
}

// A link of the ring goes down and up again: what was in flight is lost and counted,
// what waits stays, nothing else is lost, and there is no violation.
func TestLinkOfARingGoesDown(t *testing.T) {
	f, count := pauseRing(t, port.PauseFrames)
	ms := unit.Time(unit.Millisecond)
	change := func(at unit.Time, c port.Change) {
		f.Changes = append(f.Changes,
			drive.Change{At: at, Node: 0, Port: 1, Makes: c},
			drive.Change{At: at, Node: 1, Port: 2, Makes: c})
	}
	f.End = 2 * ms
	change(10_000_123, port.LinkDown{}) // 10 µs: all lines are busy
	change(ms, port.LinkUp{})
	if _, err := (drive.Virtual{}).Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if len(count.broken) > 0 {
		t.Fatalf("%d violations, the first: %+v", len(count.broken), count.broken[0])
	}
	if n := count.drops[trace.LinkWasDown]; n == 0 || n > 3 || len(count.drops) != 1 {
		t.Errorf("drops: %v", count.drops)
	}
	if count.kinds[trace.Control] != 4 {
		t.Errorf("%d changes were reported, want 4", count.kinds[trace.Control])
	}
}
