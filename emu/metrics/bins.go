package metrics

import (
	"fmt"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// How many figures the rows of a run may hold: 256 MiB of them, and some 40 MiB where
// wider bins will do. To write fresh memory at each edge costs large fabrics more
// than their frames do.
const (
	maxRows  = 32 << 20
	fineRows = 4_400_000
	// portWeight is the number of figures of a port by which the width of the bins is chosen. It is not
	// portColumns: one more column would make the bins of some runs wider, and so change their percentiles.
	portWeight = 21
)

// binsPerWindow are the numbers of bins to a window that are tried, the finest
// first. They are even, so that half a window ends on an edge too.
var binsPerWindow = [...]int64{20, 10, 4, 2}

// edgesOf returns the edges of the time bins of s, from 0 to the end of the run
// in rising order, and how many of the regular ones make a window. stride is
// the number of counters that each edge keeps, weight the number by which the width is chosen.
func edgesOf(s *scenario.Scenario, stride, weight int) (edges []unit.Time, perWindow int64, err error) {
	end, window := unit.Time(s.Model.Duration), s.Measure.Window
	if end <= 0 {
		return nil, 0, fmt.Errorf("the run lasts %v: nothing can be measured", s.Model.Duration)
	}
	if window < unit.Duration(binsPerWindow[0]) {
		return nil, 0, fmt.Errorf("measure.window is %v: it must be at least %d ps", window, binsPerWindow[0])
	}
	for _, n := range binsPerWindow {
		perWindow = n
		if (int64(end)/int64(window)+2)*n*int64(weight) <= fineRows {
			break
		}
	}
	if (int64(end)/int64(window)+2)*perWindow*int64(stride) > maxRows {
		return nil, 0, fmt.Errorf("measure.window %v is too short for a run of %v with %d counters: widen the window", window, s.Model.Duration, stride)
	}
	for i := int64(0); ; i++ {
		t := unit.Time(unit.Duration(i).Scale(int64(window), perWindow))
		if t >= end {
			break
		}
		edges = append(edges, t)
	}
	edges = append(edges, end)
	for _, check := range s.Expect {
		for _, d := range check.During {
			if t := unit.Time(d); t > 0 && t < end {
				edges = append(edges, t)
			}
		}
	}
	slices.Sort(edges)
	return slices.Compact(edges), perWindow, nil
}
