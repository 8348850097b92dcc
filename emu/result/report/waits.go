package report

import (
	"path/filepath"

	"fabemu/emu/metrics"
	"fabemu/wire/trace"
)

// RankWait is a message that a rank of a parallel job waits for at the end of the run, or that has
// come to it and that it does not take; or a fault by which its program cannot continue.
type RankWait struct {
	Workload string `json:"workload"`
	Rank     int    `json:"rank"`
	Endpoint string `json:"endpoint"` // of the rank
	Reason   string `json:"reason"`   // "no-message", "no-receive", "not-sent"; "requires-itself", "too-many-open", "bad-program"
	For      int    `json:"for"`      // the rank at the other end of the message; -1: there is none
	ForAt    string `json:"for_at,omitempty"`
	Tag      uint32 `json:"tag"`
	File     string `json:"file,omitempty"`  // of GOAL
	Line     int    `json:"line,omitempty"`  // in it, of the operation
	Round    int    `json:"round,omitempty"` // of a collective operation, from 1
	Step     int    `json:"step,omitempty"`  // the same
	SincePs  int64  `json:"since_ps"`
}

// cannotGoOn reports whether the program of the rank has a fault.
func (w *RankWait) cannotGoOn() bool {
	switch w.Reason {
	case trace.NoMessage.String(), trace.NoReceive.String(), trace.NotSent.String():
		return false
	}
	return true
}

// rankWaitsOf puts the waits of ranks into the terms of reports.
func rankWaitsOf(v *metrics.View) (all []RankWait) {
	for k, p := range v.Fabric().Workloads() {
		for _, w := range v.Waits(k) {
			name := func(rank int) string { return v.Fabric().Nodes[p.Members[rank]].Name }
			out := RankWait{Workload: p.Name, Rank: w.Rank, Endpoint: name(w.Rank), Reason: w.Reason.String(), For: w.For,
				Tag: w.Tag, Line: w.Line, SincePs: int64(w.Since)}
			if w.For >= 0 {
				out.ForAt = name(w.For)
			}
			if p.Goal != "" {
				out.File = filepath.Base(p.Goal)
			} else if w.Reason == trace.NoMessage || w.Reason == trace.NotSent { // the tag counts the steps of all rounds
				steps := p.Operation().Steps()
				out.Round, out.Step = int(w.Tag)/steps+1, int(w.Tag)%steps+1
			}
			all = append(all, out)
		}
	}
	return all
}
