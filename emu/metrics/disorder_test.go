package metrics

import (
	"math"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Disorder is counted over a time: what lies before and behind does not count, nor does the order
// in which reports come.
func TestDisorderOverATime(t *testing.T) {
	events := []trace.Event{
		{At: 10 * us, Kind: trace.Disorder, A: 3, B: int64(2 * us)},
		{At: 310 * us, Kind: trace.Disorder, A: 9, B: int64(5 * us)},
		{At: 320 * us, Kind: trace.Disorder, A: 4, B: int64(7 * us)},
		{At: 620 * us, Kind: trace.Disorder, A: 1, B: int64(1 * us)},
	}
	for name, order := range map[string][]int{"in order": {0, 1, 2, 3}, "two are late": {0, 3, 2, 1}, "the first is late": {3, 0, 1, 2}} {
		f, s := onEthernet(port.PauseFrames)
		roce := node.RoCEParams{Order: node.SelectiveRepeat}
		f.Flows[0].Transport = scenario.Transport{Kind: "rocev2", Params: roce}
		s.Measure.Window = 100 * unit.Microsecond
		c, err := New(f, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range order {
			e := events[k]
			e.Flow, e.Node = f.Flows[0].QP, int32(f.Flows[0].Dst)
			c.Record(&e)
		}
		c.Close(1 * ms)
		x := At{View: c.View(), Of: Flow}
		for _, w := range []struct {
			from, to                       unit.Time
			packets, farthest, mean, worst float64
		}{
			{0, 1 * ms, 4, 9, 3.75e-6, 7e-6},
			{0, 100 * us, 1, 3, 2e-6, 2e-6},
			{300 * us, 400 * us, 2, 9, 6e-6, 7e-6},
			{400 * us, 600 * us, 0, 0, 0, 0},
			{600 * us, 1 * ms, 1, 1, 1e-6, 1e-6},
		} {
			for figure, want := range map[string]float64{"out-of-order": w.packets, "out-of-order.distance": w.farthest, "reorder-buffer": w.mean, "reorder-buffer.max": w.worst} {
				if got := Find(Flow, figure).Over(x, "", Interval{w.from, w.to}); math.Abs(got-want) > 1e-12 {
					t.Errorf("%s: %s from %v to %v is %v, want %v", name, figure, w.from, w.to, got, want)
				}
			}
		}
		for figure, want := range map[string]float64{"out-of-order": 4, "out-of-order.distance": 9, "reorder-buffer": 3.75e-6, "reorder-buffer.max": 7e-6} {
			if got := Find(Flow, figure).Read(x); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: %s of the run is %v, want %v", name, figure, got, want)
			}
		}
		f.Flows[0].Transport = scenario.Transport{Kind: "rocev2", Params: node.RoCEParams{}}
		if got := Find(Flow, "out-of-order").Over(x, "", Interval{0, 1 * ms}); !math.IsNaN(got) {
			t.Errorf("with go-back-N there are %v", got)
		}
	}
}
