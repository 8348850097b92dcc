package limiters

import (
	"context"
	"fmt"

	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Loop is the result of a reaction point in a loop with a bottleneck (bench.Loop).
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
	for _, l := range rp.Algorithms() {
		s := algorithmOf(l)
		switch l.Feedback {
		case rp.Nothing, rp.Delays: // the loops have no ACKs
			continue
		case rp.Notifications:
			s.points = pointsOf(l.Name)
		case rp.Marks:
			s.points = bench.Answered(l)
		}
		all = append(all, s)
	}
	return all
}

// algorithmOf returns an algorithm of this program.
func algorithmOf(l rp.Algorithm) *Subject {
	return &Subject{Name: l.Name, Note: l.Doc,
		algorithm: func(s rp.Site) (rp.Reaction, error) { return l.New(param.Defaults(l.Params), s) }}
}

// pointsOf returns the maker of the congestion points of an algorithm. They have the name of the
// algorithm, or are ECM's, on which E2CM is based.
func pointsOf(algorithm string) func(cp.Site) (cp.Notifier, error) {
	for _, p := range cp.Points() {
		if p.Name == algorithm && p.Notifier != nil {
			return func(s cp.Site) (cp.Notifier, error) { return p.Notifier(param.Defaults(p.Params), s) }
		}
	}
	return func(s cp.Site) (cp.Notifier, error) {
		p := param.Defaults(cp.BCNParams{})
		p.Version = cp.ECM
		p.Complete(func(key string) bool { return key == "version" })
		return cp.NewBCN(p, s)
	}
}

// runAlgorithm puts a reaction point of this program into loops.
func runAlgorithm(ctx context.Context, s *Subject, o Options) (*Result, error) {
	r := &Result{Fabemu: o.Fabemu, Machine: host.ThisComputer(), Limiter: s.Name, Note: s.Note, Cases: []Outcome{}}
	all, err := pick(bench.Loops(), func(l bench.Loop) string { return l.Name }, o.Cases)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, l := range all {
		if ctx.Err() != nil {
			r.Partial, r.NotRun = true, append(r.NotRun, l.Name)
			continue
		}
		measured, err := bench.MeasureReaction(func(site rp.Site) rp.Reaction {
			r, err := s.algorithm(site)
			if err != nil {
				failed = err
				return rp.Reaction{Controller: rp.NewFixed(site.Line)}
			}
			return r
		}, s.points, l)
		if failed != nil {
			err = failed
		}
		if err != nil {
			return nil, err
		}
		r.Loops = append(r.Loops, loopOf(measured))
	}
	return r, nil
}

// loopOf reads a report of the bench.
func loopOf(r *bench.LoopReport) Loop {
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
