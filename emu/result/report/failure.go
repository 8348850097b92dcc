package report

import (
	"fmt"

	"fabemu/emu/base/terminal"
	"fabemu/emu/metrics"
)

// Failure is a queue pair of RoCEv2 that has failed: its packets were retransmitted as often as its
// retry-count permits, and none of them was newly acknowledged.
type Failure struct {
	AtPs    int64  `json:"at_ps"`
	Flow    string `json:"flow"` // or workload
	From    string `json:"from"`
	To      string `json:"to"`
	QP      uint32 `json:"qp"`
	Reason  string `json:"reason"`  // what it would have gone back for: "timeout", "sequence-error"
	Packets int64  `json:"packets"` // that were sent and not acknowledged
}

// Failures puts the queue pairs that have failed into the terms of reports.
func Failures(v *metrics.View) (all []Failure) {
	f := v.Fabric()
	for _, x := range v.Failures() {
		out := Failure{AtPs: int64(x.At), From: f.Nodes[x.Src].Name, To: f.Nodes[x.Dst].Name, QP: x.QP, Reason: x.Reason.String(), Packets: x.Packets}
		if x.Flow >= 0 {
			out.Flow = f.Flows[x.Flow].Name
		} else {
			out.Flow = f.Workloads()[x.Work].Name
		}
		all = append(all, out)
	}
	return all
}

// Broken reports whether queue pairs have failed, unless that is what a check of the scenario
// expects.
func (r *Result) Broken() bool { return len(r.Failures) > 0 && !r.expects("failures") }

// failedWords says how many queue pairs have failed, as the end of a verdict.
func failedWords(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(". %s failed and left data undelivered", terminal.Count(n, "queue pair"))
}
