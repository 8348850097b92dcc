package switchd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ccaSwitch returns a switch whose congestion points mark each frame that leaves an output for
// which more than half of an input buffer, two frames, waits behind it.
func ccaSwitch(tb testing.TB, victims cp.PortMask, closed ...int) *rig {
	p := param.Defaults(cp.CCAParams{})
	p.Threshold, p.MarkingRate, p.MarkingGaps, p.VictimMask = 8, 0, cp.FixedCCAGaps, victims
	c := config(6)
	c.Points = points(p)
	return newRig(tb, c, closed...)
}

// marked returns the flows whose frames have left by a port, those that were marked with a
// star.
func (r *rig) marked(p int) string {
	var all []string
	for i := range r.sent {
		if tr := &r.sent[i]; int(tr.Port) == p && tr.Frame.Kind != wire.FlowControl {
			star := ""
			if tr.Frame.FECN {
				star = "*"
			}
			all = append(all, fmt.Sprint(tr.Frame.QP, star))
		}
	}
	return strings.Join(all, " ")
}

// What waits for an output in all inputs counts, without the frame that leaves, without ACKs,
// and without what waits for other outputs.
func TestCCAAtASwitch(t *testing.T) {
	r := ccaSwitch(t, cp.NoPorts)
	for flow, input := range []int{0, 1, 2, 3} {
		r.send(0, input, data(uint32(flow+1), 5))
	}
	r.send(t1, 0, data(5, 5))
	r.send(t1, 1, data(6, 4))
	r.send(t1, 2, ack(7, 5))
	r.run(20 * t1)
	r.noLoss()
	// Flow 1 cuts through, with three frames behind it; when the next one leaves, those of
	// flows 3 and 4 wait, and that of flow 5 by then; then two, one, none.
	want(t, "marked", r.marked(5), "1* 2* 7 3 4 5")
	want(t, "the other output", r.marked(4), "6")
	if got := r.reported(trace.Mark, reason); strings.Count(got, "over-threshold") != 2 {
		t.Errorf("reported: %s", got)
	}
}

// An output that had no credit is a victim: it marks only where the mask says so. With credit
// again it is a root.
func TestCCAVictimAtASwitch(t *testing.T) {
	for victims, marked := range map[cp.PortMask]string{cp.NoPorts: "1 2* 3 4 5", cp.AllPorts: "1* 2* 3 4 5"} {
		r := ccaSwitch(t, victims, 5)
		for flow, input := range []int{0, 1, 2, 3} {
			r.send(0, input, data(uint32(flow+1), 5))
		}
		r.send(t1, 0, data(5, 5))
		r.run(2 * t1)
		want(t, "without credit", r.marked(5), "")
		r.grant(3*t1, 5, port.DataLane, roomy)
		r.run(20 * t1)
		r.noLoss()
		want(t, fmt.Sprintf("with credit, victims: %s", victims), r.marked(5), marked)
	}
}

// What a restart has lost does not count any more.
func TestCCAAfterARestart(t *testing.T) {
	r := ccaSwitch(t, cp.NoPorts, 5)
	for flow, input := range []int{0, 1, 2, 3} {
		r.send(0, input, data(uint32(flow+1), 5))
	}
	r.run(2 * t1)
	r.sw.Apply(2*t1, 0, port.Restart{})
	for p := range r.ports {
		r.sw.Apply(3*t1, port.ID(p), port.LinkUp{})
	}
	r.grant(4*t1, 5, port.DataLane, roomy)
	r.sent = nil
	r.run(5 * t1)
	for flow, input := range []int{0, 1} {
		r.send(6*t1, input, data(uint32(flow+11), 5))
	}
	r.run(20 * t1)
	if got := r.marked(5); strings.Contains(got, "*") || !strings.Contains(got, "11") {
		t.Errorf("after the restart %q: the four frames that were lost count still", got)
	}
}

// Credit for what came by a port of the credit mask and leaves a congested output goes back late:
// one after another, each with the pause of the table's entry behind the time of its frame on
// the line. That of other ports goes back at once, and so does all of it where nothing waits.
func TestCCAStarvesANeighbour(t *testing.T) {
	p := param.Defaults(cp.CCAParams{})
	p.Threshold, p.CSThreshold, p.CSDelay, p.CreditMask = 0, 15, "1:4", "0x2" // port 0, twice the time
	c := config(6)
	c.Points = points(p)
	r := newRig(t, c)
	for i := range 3 {
		r.send(unit.Time(i)*t1, 0, data(uint32(i+1), 5))
		r.send(unit.Time(i)*t1, 1, data(uint32(i+11), 5))
	}
	r.run(40 * t1)
	r.noLoss()
	var left, freed [2][]unit.Time // by input: when its frames have left, and when their room is free
	for i := range r.sent {
		if tr := &r.sent[i]; tr.Port == 5 && tr.Frame.Kind == wire.Data {
			in := tr.Frame.QP / 10
			left[in] = append(left[in], tr.Start.Add(tr.Duration))
		}
	}
	for _, e := range r.events {
		if e.Kind == trace.Release && e.Port < 2 {
			freed[e.Port] = append(freed[e.Port], e.At)
		}
	}
	if !slices.Equal(freed[1], left[1]) {
		t.Errorf("port 1, which is not in the mask, has room at %v; its frames have left at %v", freed[1], left[1])
	}
	if len(freed[0]) != 3 || len(left[0]) != 3 {
		t.Fatalf("port 0 has room at %v; its frames have left at %v", freed[0], left[0])
	}
	pause := unit.Duration(2 * t1)
	first := left[0][0].Add(pause)
	second := max(left[0][1], first.Add(unit.Duration(t1))).Add(pause)
	if freed[0][0] != first || freed[0][1] != second {
		t.Errorf("port 0 has room at %v; wanted %v and %v", freed[0], first, second)
	}
	r.send(100*t1, 0, data(4, 5))
	r.run(110 * t1)
	last, n := r.events[len(r.events)-1], 0
	for _, e := range r.events {
		if e.Kind == trace.Release && e.Port == 0 {
			last, n = e, n+1
		}
	}
	if end := r.sent[len(r.sent)-1]; n != 4 || last.At >= 103*t1 {
		t.Errorf("alone, a frame has its room free at %v (the last frame: %+v)", last.At, end)
	}
}

// A restart loses the room that is held, with all else.
func TestCCAStarvedNeighbourAfterARestart(t *testing.T) {
	p := param.Defaults(cp.CCAParams{})
	p.CSThreshold, p.CSDelay, p.CreditMask = 15, "0:100", cp.AllPorts
	c := config(6)
	c.Points = points(p)
	r := newRig(t, c)
	for flow, input := range []int{0, 1, 2} {
		r.send(0, input, data(uint32(flow+1), 5))
	}
	r.run(5 * t1)
	r.sw.Apply(5*t1, 0, port.Restart{})
	for p := range r.ports {
		r.sw.Apply(6*t1, port.ID(p), port.LinkUp{})
	}
	r.run(300 * t1)
}
