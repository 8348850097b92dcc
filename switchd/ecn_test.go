package switchd_test

import (
	"slices"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// burst holds the output of a switch back until this many packets of RoCEv2 of 1500 bytes wait for
// it, lets them go, and returns which of them come marked.
func burst(t *testing.T, points cp.Maker, packets int, may bool) (marked []int, p *plant) {
	t.Helper()
	c := outputQueued(3)
	c.Memory, c.High, c.Low, c.Points = 3*400000, 0, 0, points
	p = newPlant(t, c)
	p.stations[1].port.Pausing().Stop(0)
	p.run(5 * t1500)
	f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Lane: 3, Dst: 2, QP: 7, Payload: 1456}
	f.SetRoCE(wire.RoCE{DSCP: 26, ECT: may})
	p.offer(0, f, packets)
	p.run(unit.Time(packets+20) * t1500)
	if n := len(p.stations[1].came); n != 0 {
		t.Fatalf("%d packets have come already", n)
	}
	p.stations[1].port.Pausing().Resume(0)
	p.run(unit.Time(3*packets+60) * t1500)
	if n := len(p.stations[1].came); n != packets {
		t.Fatalf("%d packets have come, want %d", n, packets)
	}
	for i, a := range p.stations[1].came {
		if a.frame.PSN != uint32(i) {
			t.Fatalf("packet %d comes as number %d", a.frame.PSN, i)
		}
		if a.frame.FECN {
			marked = append(marked, i)
		}
	}
	return marked, p
}

func ecn(p cp.ECNParams) cp.Maker {
	i := slices.IndexFunc(cp.Points(), func(p cp.Point) bool { return p.Name == "ecn" })
	return cp.Points()[i].Maker(p, cp.Site{Random: unit.NewRandom(1, 1)})
}

// As SONiC's test plan for ECN has it, frame by frame: of packets that wait for an output which is
// stopped, at dequeue the first is marked and the last is not; at enqueue it is reversed
// round. The threshold lies where the parameters say.
func TestECNFrameByFrame(t *testing.T) {
	const packets = 100
	span := func(from, to int) (all []int) {
		for i := from; i < to; i++ {
			all = append(all, i)
		}
		return all
	}
	for _, c := range []struct {
		name string
		p    cp.ECNParams
		want []int
	}{
		// Packet i finds i packets, and leaves 99 - i: above 75000 bytes are 51 of 1500.
		{"enqueue", cp.ECNParams{Min: 75000, Max: 75000, MaxP: 1, At: cp.AtEnqueue}, span(51, packets)},
		{"dequeue", cp.ECNParams{Min: 75000, Max: 75000, MaxP: 1, At: cp.AtDequeue}, span(0, 49)},
		// 1500 bytes take 8 cells of 208: above 400 cells are 51 packets, above 83200 bytes 56.
		{"enqueue, cells", cp.ECNParams{Min: 400 * 208, Max: 400 * 208, MaxP: 1, At: cp.AtEnqueue, Cell: 208}, span(51, packets)},
		{"dequeue, cells", cp.ECNParams{Min: 400 * 208, Max: 400 * 208, MaxP: 1, At: cp.AtDequeue, Cell: 208}, span(0, 49)},
		{"enqueue, bytes", cp.ECNParams{Min: 400 * 208, Max: 400 * 208, MaxP: 1, At: cp.AtEnqueue}, span(56, packets)},
	} {
		marked, p := burst(t, ecn(c.p), packets, true)
		if !slices.Equal(marked, c.want) {
			t.Errorf("%s: marked are %v, want %v", c.name, marked, c.want)
		}
		reasons := 0
		for _, e := range p.events {
			if e.Kind == trace.Mark && trace.Reason(e.A) == trace.EarlyMark {
				reasons++
			}
		}
		if reasons != len(c.want) || len(p.broken) > 0 || p.dropped > 0 {
			t.Errorf("%s: %d marks are told of, %d violations, %d drops", c.name, reasons, len(p.broken), p.dropped)
		}
		if marked, p = burst(t, ecn(c.p), packets, false); len(marked) > 0 || len(p.broken) > 0 || p.dropped > 0 {
			t.Errorf("%s: packets that may not be marked: %v are, %d violations, %d drops", c.name, marked, len(p.broken), p.dropped)
		}
	}
}

// careless marks whatever comes, or leaves.
type careless struct{ comes bool }

func (m careless) Enqueue(_ unit.Time, f *wire.Frame, _ cp.Queue) { f.FECN = f.FECN || m.comes }
func (m careless) Dequeue(_ unit.Time, f *wire.Frame, _ cp.Queue) trace.Reason {
	f.FECN = true
	return trace.EarlyMark
}
func (careless) Reset() {}

// A congestion point that marks packets which may not be marked breaks a promise.
func TestMarksOfPacketsThatMayNotBeMarked(t *testing.T) {
	for _, comes := range []bool{true, false} {
		for _, may := range []bool{true, false} {
			maker := func(int, *trace.Recorder) (cp.Made, error) {
				return cp.Made{Marking: cp.Marking{Marker: careless{comes}}}, nil
			}
			_, p := burst(t, maker, 10, may)
			want := 10
			if may {
				want = 0
			}
			if len(p.broken) != want || want > 0 && trace.Reason(p.broken[0].A) != trace.NotCapable {
				t.Errorf("marked as they come %v, ECT %v: %d violations, want %d: %+v", comes, may, len(p.broken), want, p.broken)
			}
		}
	}
}
