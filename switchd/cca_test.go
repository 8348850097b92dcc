package switchd_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/trace"
)

// ccaSwitch returns a switch whose congestion points mark each frame that leaves an output for
// which more than half of an input buffer, two frames, waits behind it.
func ccaSwitch(tb testing.TB, victims cp.VictimMask, closed ...int) *rig {
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
	r := ccaSwitch(t, cp.NoVictims)
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
	for victims, marked := range map[cp.VictimMask]string{cp.NoVictims: "1 2* 3 4 5", cp.AllVictims: "1* 2* 3 4 5"} {
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
	r := ccaSwitch(t, cp.NoVictims, 5)
	for flow, input := range []int{0, 1, 2, 3} {
		r.send(0, input, data(uint32(flow+1), 5))
	}
	r.run(2 * t1)
	r.sw.Apply(2*t1, port.Event{Kind: port.Restart})
	for p := range r.ports {
		r.sw.Apply(3*t1, port.Event{Port: port.ID(p), Kind: port.LinkUp})
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
