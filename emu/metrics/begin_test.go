package metrics

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/node/tcp"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// whatever returns an event of a fabric, of any kind.
func whatever(draw *rand.Rand, f *fabric.Fabric, at unit.Time) trace.Event {
	words := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1 | 1<<8, 2 | 1<<9, 10 | 1<<10, 5 << 16, int64(trace.LostOnLink)} // kinds of frames with their marks, causes, reasons
	m := draw.IntN(len(f.Nodes))
	return trace.Event{At: at, Node: int32(m), Port: uint16(draw.IntN(len(f.Nodes[m].Ports))),
		Kind: trace.Kind(1 + draw.IntN(int(trace.Watchdog))), Flow: uint32(draw.IntN(5)), Bytes: uint32(draw.IntN(3000)),
		PSN: 0xff01, A: words[draw.IntN(len(words))], B: int64(draw.IntN(2) * draw.IntN(1000))}
}

// everything returns a fabric whose flows are of all kinds, with one kind of flow control.
func everything(flowControl port.FlowControl) (*fabric.Fabric, *scenario.Scenario) {
	f, s := onEthernet(flowControl)
	f.Flows[0].Transport.Params, f.Flows[1].Transport.Params = tcp.Params{}, node.RoCEParams{}
	return f, s
}

// "RecordAll is Record of many events", however many, over the ends of bins, and where the first
// are late.
func TestManyAtOnceCountAsOneByOne(t *testing.T) {
	for _, flowControl := range []port.FlowControl{port.Credits, port.PauseFrames, port.PriorityPauseFrames} {
		f, s := everything(flowControl)
		one, all := newPlay(t, f, s).c, newPlay(t, f, s).c
		draw := rand.New(rand.NewPCG(2, uint64(flowControl)))
		at := unit.Time(0)
		for at < 12*ms {
			at = max(at-unit.Time(draw.IntN(int(150*us))), 0) // some are of a bin that is closed
			events := make([]trace.Event, 1+draw.IntN(100))
			for i := range events {
				at += unit.Time(draw.IntN(int(10 * us)))
				events[i] = whatever(draw, f, at)
				one.Record(&events[i])
			}
			all.RecordAll(events)
		}
		one.Close(at)
		all.Close(at)
		if got, want := len(all.rows.all), len(one.rows.all); got != want || want < 100 {
			t.Fatalf("flow control %v: %d edges, want %d, a hundred at least", flowControl, got, want)
		}
		for k := range one.rows.all {
			for i := range one.now {
				if got, want := all.rows.at(k, i), one.rows.at(k, i); got != want {
					t.Fatalf("flow control %v, edge %d: counter %d is %d, and one by one %d", flowControl, k, i, got, want)
				}
			}
		}
	}
}

// A row has each counter that has counted by then, whatever has happened: no counter of an
// event is left out because it has no place.
func TestARowHasWhateverCounts(t *testing.T) {
	counted := map[int]bool{}
	for _, flowControl := range []port.FlowControl{port.Credits, port.PauseFrames, port.PriorityPauseFrames} {
		f, s := everything(flowControl)
		p := newPlay(t, f, s)
		draw := rand.New(rand.NewPCG(1, uint64(flowControl)))
		for at := unit.Time(0); at < 20*ms; at += 100 * us {
			for range 1 + at/ms {
				p.record(whatever(draw, f, at+50*us))
			}
			p.record(trace.Event{At: at + 50*us, Kind: trace.Trim, B: int64(at / (100 * us) % 2)})
			p.c.Advance(at + 100*us)
			for i, v := range p.c.now {
				if got := p.c.rows.at(p.c.cur, i); got != v {
					t.Fatalf("flow control %v, edge %d: counter %d is %d in the row, and counted %d", flowControl, p.c.cur, i, got, v)
				}
				if v != 0 && i < p.c.ofFlows {
					counted[i%portColumns] = true
				} else if v != 0 && i < p.c.ofStreams {
					counted[100+(i-p.c.ofFlows)%flowColumns] = true
				} else if v != 0 {
					counted[200+(i-p.c.ofStreams)%tcpColumns] = true
				}
			}
		}
	}
	if want := portColumns + flowColumns + tcpColumns; len(counted) < want {
		t.Errorf("%d of %d columns have counted: the others were not tested", len(counted), want)
	}
}

// What every frame needs of a flow is a cache line, and of a port two, of which many frames need
// one.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		what string
		size uintptr
		want uintptr
	}{{"a port", unsafe.Sizeof(trace.Counts{}), 128}, {"a flow", unsafe.Sizeof(trace.Flow{}), 128}} {
		if c.size != c.want {
			t.Errorf("%s takes %d bytes, want %d", c.what, c.size, c.want)
		}
	}
}
