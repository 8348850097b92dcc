package seeds

import (
	"encoding/binary"
	"math"
	"slices"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
)

// Sample holds the slowdowns of a workload's flows in one run: of those that count and completed.
type Sample struct {
	Workload string `json:"workload"`
	Open     int64  `json:"open"`  // flows that did not end, or did not start
	Flows    []byte `json:"flows"` // a pair of uvarints for each, by rising size: the bytes more than the flow before, and the slowdown in 1/parts
}

// parts is the number of steps of a slowdown of 1 in a Sample.
const parts = 10_000

// flow is the slowdown of one flow.
type flow struct {
	bytes    int64
	slowdown float64
	run      int // the run of the flow
	number   int // of the flow in the run, by size
}

// SamplesOf returns the flows of a run's workloads, without the messages of parallel jobs, which
// wait for each other.
func SamplesOf(r *report.Result, v *metrics.View) (all []Sample) {
	for k := range r.Workloads {
		if v.Scenario().Workloads[k].Ranked() {
			continue
		}
		var flows []flow
		for d := range v.Counted(k) {
			if d.Missing == 0 {
				flows = append(flows, flow{bytes: d.Bytes, slowdown: d.Slowdown()})
			}
		}
		all = append(all, pack(r.Workloads[k].Name, int64(r.Workloads[k].Open)+r.Workloads[k].Waiting, flows))
	}
	return all
}

// pack returns the sample of flows. It sorts them.
func pack(workload string, open int64, flows []flow) Sample {
	s := Sample{Workload: workload, Open: open}
	slices.SortStableFunc(flows, func(a, b flow) int { return int(max(-1, min(1, a.bytes-b.bytes))) })
	last := int64(0)
	for _, f := range flows {
		s.Flows = binary.AppendUvarint(s.Flows, uint64(f.bytes-last))
		s.Flows = binary.AppendUvarint(s.Flows, uint64(math.Round(f.slowdown*parts)))
		last = f.bytes
	}
	return s
}

// unpack appends the flows in a run's sample to others, as far as they can be read.
func (s *Sample) unpack(run int, to []flow) []flow {
	bytes, number := int64(0), 0
	for b := s.Flows; len(b) > 0; {
		more, n := binary.Uvarint(b)
		if n <= 0 {
			return to
		}
		slowdown, k := binary.Uvarint(b[n:])
		if k <= 0 || int64(more) < 0 || bytes+int64(more) < bytes || slowdown < parts {
			return to
		}
		b, bytes = b[n+k:], bytes+int64(more)
		to = append(to, flow{bytes, float64(slowdown) / parts, run, number})
		number++
	}
	return to
}
