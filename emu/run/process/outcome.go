package process

import (
	"fmt"
	"time"

	"fabemu/emu/host"
	"fabemu/emu/run/pace"
	"fabemu/wire/unit"
)

// Outcome holds the measurements of a run.
type Outcome struct {
	Began  time.Time    // when model time 0 was; zero if the run has not reached it
	Timing *pace.Record // of all parts; nil if no part has measurements
	Now    unit.Time    // with processes: the model time up to which all parts have reported

	Clocks  []pace.HostClock // of the parts on other hosts
	Between []int            // the wires that lead from one host to another

	ForeignCPUs float64 // processors that other programs used, on average; NaN: unknown
	CPUSeconds  float64 // processor time of all processes of the run, since model time 0
	GCCycles    int64   // of the garbage collector in this process
	Warnings    []string
}

// Died is the error of a run in which the process of a part has ended unexpectedly.
type Died struct {
	Part  string
	State string // how it ended: "exit status 2", "signal: killed"
	Log   string // the end of its log
}

func (d *Died) Error() string {
	s := fmt.Sprintf("the process of %s has ended: %s", d.Part, d.State)
	if d.Log != "" {
		s += "; it wrote last:\n" + d.Log
	}
	return s
}

// outcome combines the reports of the parts. Whole is a run that has reached its end; the
// clocks of other hosts may then have been compared once more.
func (r *conductor) outcome(compared, whole bool) Outcome {
	out := Outcome{Began: r.began, Now: r.merge(true, whole), Clocks: r.clocks(compared), Between: r.between}
	out.CPUSeconds = host.OwnCPU() - r.cpu
	for _, s := range r.participants {
		if s.report == nil {
			continue
		}
		out.CPUSeconds += s.report.CPUSeconds
		for _, w := range s.report.Warnings {
			out.Warnings = append(out.Warnings, s.Part+": "+w)
		}
		r.missed(s.report.Missed)
		if r.plan.Actual != nil {
			r.plan.Actual.Add(s.report.Actual)
		}
		if out.Timing == nil {
			out.Timing = s.report.Timing
		} else if s.report.Timing != nil {
			out.Timing.Merge(s.report.Timing)
		}
	}
	if out.Timing != nil {
		out.Timing.Silent = r.silences()
		if whole {
			out.Timing.Lost = max(out.Timing.Lost, r.missing())
		} else if r.givenUp > mostMissing { // the report of a part that missed some may be missing too
			out.Timing.Lost = max(out.Timing.Lost, int64(r.givenUp))
		}
	}
	return out
}

// missing returns how many datagrams did not arrive, over all links.
func (r *conductor) missing() (lost int64) {
	sent, came := map[int]int64{}, map[int]int64{}
	for _, s := range r.participants {
		for _, t := range s.report.Traffic {
			if t.Sent >= 0 {
				sent[t.Path] = t.Sent
			}
			if t.Came >= 0 {
				came[t.Path] = t.Came
			}
		}
	}
	for path, n := range sent {
		lost += n - came[path]
	}
	return lost
}
