package limiters

import (
	"context"
	"fmt"

	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/study/limiters/loops"
	"fabemu/node/rp"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Loop is the result of a reaction point in a loop with a bottleneck (package loops).
type Loop struct {
	Loop        string        `json:"loop"`
	Packets     int           `json:"packets"`
	Feedback    int           `json:"feedback"`
	Utilisation report.Number `json:"utilisation"` // of the bottleneck, in the end
	Fairness    report.Number `json:"fairness"`
	ReactionPs  *int64        `json:"reaction_ps,omitempty"` // from the first feedback of a storm until the rate falls
	RecoveryPs  *int64        `json:"recovery_ps,omitempty"` // from its end until the rate is nine tenths of the link's
	LowestBps   int64         `json:"lowest_bps"`            // the lowest rate of any source
	Faults      []Fault       `json:"faults,omitempty"`
}

// Algorithms returns the reaction points of this program that take feedback, with their usual
// parameters.
func Algorithms() []*Subject {
	var all []*Subject
	for _, a := range rp.Algorithms() {
		if a.Feedback != rp.Nothing && a.Feedback != rp.Delays { // the loops report congestion, and delay nothing
			all = append(all, algorithmOf(a))
		}
	}
	return all
}

// algorithmOf returns an algorithm of this program.
func algorithmOf(a rp.Algorithm) *Subject {
	return &Subject{Name: a.Name, Note: a.Doc, row: a,
		algorithm: func(s rp.Site) (rp.Reaction, error) { return a.New(param.Defaults(a.Params), s) }}
}

// runAlgorithm puts a reaction point of this program into loops.
func runAlgorithm(ctx context.Context, s *Subject, o Options) (*Result, error) {
	r := &Result{Fabemu: o.Fabemu, Machine: host.ThisComputer(), Limiter: s.Name, Note: s.Note, Cases: []Outcome{}}
	all, err := pick(loops.All(), func(l loops.Loop) string { return l.Name }, o.Cases)
	if err != nil {
		return nil, err
	}
	subject, err := loops.Named(s.row)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		measured, err := l.Measure(ctx, subject)
		switch {
		case ctx.Err() != nil:
			r.Partial, r.NotRun = true, append(r.NotRun, l.Name)
		case err != nil:
			return nil, err
		default:
			r.Loops = append(r.Loops, loopOf(measured))
		}
	}
	return r, nil
}

// loopOf reads a report of the bench.
func loopOf(r *loops.Report) Loop {
	present := func(d unit.Duration) *int64 {
		if d < 0 {
			return nil
		}
		return new(int64(d))
	}
	return Loop{
		Loop: r.Loop, Packets: r.Starts, Feedback: r.Feedback, Utilisation: report.Number(r.Utilisation),
		Fairness:   report.Number(r.Fairness),
		ReactionPs: present(r.Reaction), RecoveryPs: present(r.Recovery), LowestBps: int64(r.Lowest),
		Faults: faultsOf(r.Faults),
	}
}

// loopHeads are the heads of the table of loops.
var loopHeads = []string{"loop", "packets", "feedback", "utilisation", "fairness", "reaction", "recovery",
	"lowest rate", "outcome"}

// loopHeadsDoc explains them.
const loopHeadsDoc = "Utilisation and fairness (Jain's index): of the bottleneck, in the last part of the time. Reaction: from the first feedback of a storm until the rate falls. " +
	"Recovery: from the end of the storm until the rate is nine tenths of the link rate. Lowest rate: of any source at any time."

// row returns the cells of a loop.
func (l *Loop) row() []string {
	return []string{
		l.Loop, fmt.Sprint(l.Packets), fmt.Sprint(l.Feedback), number(l.Utilisation, 3), number(l.Fairness, 3),
		spanText(l.ReactionPs), spanText(l.RecoveryPs), rateText(l.LowestBps), outcomeText(l.Faults),
	}
}

// spanText prints a span that may be missing.
func spanText(ps *int64) string {
	switch {
	case ps == nil:
		return "-"
	case *ps == 0:
		return "at once"
	}
	return durationText(*ps)
}

// rateText prints a rate to three digits.
func rateText(bps int64) string {
	s := speeds.Fit(float64(bps))
	return fmt.Sprintf("%.3g %s", float64(bps)/s.Base, s.Word)
}
