package seeds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"fabemu/emu/base/files"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
)

// File is the name of the file with the means of the repetitions of a run.
const File = "seeds.json"

// Repetitions are runs of a scenario that differ in their seeds.
type Repetitions struct {
	Fabemu    string     `json:"fabemu"` // version of this program
	Scenario  string     `json:"scenario"`
	Runs      []string   `json:"runs"` // their directories, within that of File
	Void      int        `json:"void"` // how many runs are void
	Figures   []Repeated `json:"figures"`
	Slowdowns []Slowdown `json:"slowdowns,omitempty"` // of the workloads, over the flows of all runs
}

// Repeated is a figure over the repetitions of a run.
type Repeated struct {
	Kind string `json:"kind"` // "check", or as in report.Rate: the utilisation of a "link" or a "group"
	Name string `json:"name"` // the ID of a check; the name of a link or a group, with the number of the phase if there are several
	report.Estimate
	Low    report.Number `json:"low"` // only of a check, as in Judged
	High   report.Number `json:"high"`
	Passed int           `json:"passed"` // how many runs pass the check
	Failed int           `json:"failed"`
	Claim  string        `json:"claim,omitempty"`
	Flows  int           `json:"flows,omitempty"` // as of Figure, in all runs that have a value
	Why    string        `json:"why,omitempty"`   // reason of the first run without a value
}

// Run is what one run contributes.
type Run struct {
	Seed    uint64
	Void    bool // none of its figures is valid
	Figures []Figure
	Samples []Sample
}

// Figure is a figure of a run. As in Repeated, only a check has Low, High and Claim.
type Figure struct {
	Kind    string         `json:"-"`
	Name    string         `json:"name"` // of a sweep: the check's id, or the expression
	Value   report.Number  `json:"value"`
	Outcome report.Outcome `json:"outcome,omitempty"` // of a check
	Low     report.Number  `json:"-"`
	High    report.Number  `json:"-"`
	Claim   string         `json:"-"`
	Why     string         `json:"why,omitempty"`   // reason if the value is undefined
	Flows   int            `json:"flows,omitempty"` // of a figure of transfers, how many it is of: flows, or rounds
}

// Of returns what a run contributes: its checks, the utilisations in its phases, and the flows of
// its workloads.
func Of(r *report.Result, v *metrics.View) Run {
	out := of(r)
	out.Samples = SamplesOf(r, v)
	return out
}

// of returns what a run contributes, without the flows of workloads.
func of(r *report.Result) Run {
	out := Run{Seed: r.Seed, Void: r.Verdict.Level == report.Void}
	for _, c := range r.Checks {
		out.Figures = append(out.Figures, Figure{Kind: "check", Name: c.ID, Value: c.Value, Outcome: c.Outcome, Low: c.Low, High: c.High, Claim: c.Claim, Flows: c.Flows, Why: whyOf(&c)})
	}
	for n, phase := range r.Phases {
		for _, rate := range phase.Rates {
			name := rate.Name
			if len(r.Phases) > 1 {
				name = fmt.Sprintf("%s, phase %d", name, n+1)
			}
			out.Figures = append(out.Figures, Figure{Kind: rate.Kind, Name: name, Value: rate.Utilisation, Low: report.Missing(), High: report.Missing()})
		}
	}
	return out
}

// whyOf returns the reason why a check has no value; empty if it has one.
func whyOf(c *report.Check) string {
	if c.Value.Known() {
		return ""
	}
	return c.Reason
}

// Repeat returns the means over runs, without their directories and slowdowns. Figures of void runs
// are missing.
func Repeat(runs []Run) *Repetitions {
	r := new(Repetitions)
	at := make(map[[2]string]int)
	var values [][]float64
	for i := range runs {
		if runs[i].Void {
			r.Void++
		}
		for _, x := range runs[i].Figures {
			key := [2]string{x.Kind, x.Name}
			k, there := at[key]
			if !there {
				k = len(values)
				at[key] = k
				r.Figures = append(r.Figures, Repeated{Kind: x.Kind, Name: x.Name, Low: x.Low, High: x.High, Claim: x.Claim})
				values = append(values, slices.Repeat([]float64{math.NaN()}, len(runs)))
			}
			if !runs[i].Void {
				values[k][i] = float64(x.Value)
				if x.Value.Known() {
					r.Figures[k].Flows += x.Flows
				}
				r.Figures[k].Why = cmp.Or(r.Figures[k].Why, x.Why)
			}
			switch x.Outcome {
			case report.Pass, report.UnexpectedPass:
				r.Figures[k].Passed++
			case report.Fail:
				r.Figures[k].Failed++
			}
		}
	}
	for k := range values {
		r.Figures[k].Estimate = report.EstimateOf(values[k])
	}
	return r
}

// Find returns a figure by its name, or a missing one if there is none.
func (r *Repetitions) Find(name string) Repeated {
	for _, f := range r.Figures {
		if f.Name == name {
			return f
		}
	}
	return Repeated{Name: name, Estimate: report.EstimateOf(nil)}
}

// Fails reports whether a check fails in more than one of ten runs.
func (r *Repetitions) Fails() bool {
	return slices.ContainsFunc(r.Figures, func(f Repeated) bool { return 10*f.Failed > len(r.Runs) })
}

// Write writes File into a directory, and with workloads the table of their slowdown.
func (r *Repetitions) Write(dir string) error {
	err := files.Write(filepath.Join(dir, File), func(w io.Writer) error { return report.WriteJSON(w, r) })
	if err != nil || r.Slowdowns == nil {
		return err
	}
	return files.Write(filepath.Join(dir, TableFile), func(w io.Writer) error {
		return WriteTable(w, nil, []Row{{Slowdowns: r.Slowdowns}})
	})
}

// mostBytes is how much of File is read at most.
const mostBytes = 1 << 30

// Read reads File of a directory. If there is none, the error is fs.ErrNotExist.
func Read(dir string) (*Repetitions, error) {
	b, err := files.Read(filepath.Join(dir, File), mostBytes)
	if err != nil {
		return nil, err
	}
	r := new(Repetitions)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s of %s: it is cut short or is not JSON: %w", File, dir, err)
	}
	if len(r.Runs) == 0 {
		return nil, fmt.Errorf("%s of %s names no runs: it was written by another program", File, dir)
	}
	for _, run := range r.Runs {
		if !filepath.IsLocal(run) {
			return nil, fmt.Errorf("%s of %s names the run %q, which is not within it", File, dir, run)
		}
	}
	return r, nil
}
