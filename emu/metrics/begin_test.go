package metrics

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"fabemu/node"
	"fabemu/node/tcp"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A row has each counter that has counted by then, whatever it is that happened: nothing of an
// event is left out because nobody has given it a place.
func TestARowHasWhateverCounts(t *testing.T) {
	words := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1 | 1<<8, 2 | 1<<9, 10 | 1<<10, 5 << 16} // kinds of frames with their marks, causes, reasons
	counted := map[int]bool{}
	for _, flowControl := range []port.FlowControl{port.Credits, port.PauseFrames, port.PriorityPauseFrames} {
		f, s := onEthernet(flowControl)
		f.Flows[0].Transport.Params, f.Flows[1].Transport.Params = tcp.Params{}, node.RoCEParams{}
		p := newPlay(t, f, s)
		draw := rand.New(rand.NewPCG(1, uint64(flowControl)))
		for at := unit.Time(0); at < 20*ms; at += 100 * us {
			for range 1 + at/ms {
				m := draw.IntN(len(f.Machines))
				p.record(trace.Event{At: at + 50*us, Machine: int32(m), Port: uint16(draw.IntN(len(f.Machines[m].Ports))),
					Kind: trace.Kind(1 + draw.IntN(int(trace.CongestionLog))), Flow: uint32(draw.IntN(5)), Bytes: uint32(draw.IntN(3000)),
					PSN: 0x0101, A: words[draw.IntN(len(words))], B: int64(draw.IntN(2) * draw.IntN(1000))})
			}
			p.c.Advance(at + 100*us)
			for i, v := range p.c.now {
				if got := p.c.rows.at(p.c.cur, i); i < p.c.ofFlows && unstalled>>(i%portColumns)&1 == 1 {
					continue
				} else if got != v {
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
	if want := portColumns - 2 + flowColumns + tcpColumns; len(counted) < want {
		t.Errorf("%d of %d columns have counted: the others were not tested", len(counted), want)
	}
}

// What every frame needs of a flow is a cache line, and of a port two, of which many frames need one.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		what string
		size uintptr
		want uintptr
	}{{"a tally", unsafe.Sizeof(tally{}), 64}, {"a port", unsafe.Sizeof(portState{}), 128}, {"a flow", unsafe.Sizeof(flowState{}), 64}} {
		if c.size != c.want {
			t.Errorf("%s takes %d bytes, want %d", c.what, c.size, c.want)
		}
	}
}
