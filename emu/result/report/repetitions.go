package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"fabemu/emu/base/files"
)

// SeedsFile has the means of the repetitions of a run.
const SeedsFile = "seeds.json"

// Repetitions are runs of a scenario that differ in their seeds.
type Repetitions struct {
	Fabemu   string     `json:"fabemu"` // version of this program
	Scenario string     `json:"scenario"`
	Runs     []string   `json:"runs"` // their directories, in the one of SeedsFile
	Void     int        `json:"void"` // how many have no figure that stands
	Figures  []Repeated `json:"figures"`
}

// Repeated is a figure that the repetitions of a run have.
type Repeated struct {
	Kind string `json:"kind"` // "check", or as in Rate: a utilisation of a "link" or a "group"
	Name string `json:"name"` // the ID of a check; of a link or a group with the number of the phase, if there are several
	Estimate
	Low    Number `json:"low"` // of a check, as in Judged
	High   Number `json:"high"`
	Passed int    `json:"passed"` // how many runs pass the check
	Failed int    `json:"failed"`
	Claim  string `json:"claim,omitempty"`
}

// Repeat returns the means over the results of repetitions, in these directories. Figures of void runs are missing.
func Repeat(results []*Result, runs []string) *Repetitions {
	r := &Repetitions{Fabemu: results[0].Fabemu, Scenario: results[0].Scenario, Runs: runs}
	at := make(map[[2]string]int)
	var values [][]float64
	for i, x := range results {
		add := func(f Repeated, v Number) *Repeated {
			k, there := at[[2]string{f.Kind, f.Name}]
			if !there {
				k = len(values)
				at[[2]string{f.Kind, f.Name}] = k
				r.Figures, values = append(r.Figures, f), append(values, make([]float64, len(results)))
				for n := range values[k] {
					values[k][n] = math.NaN()
				}
			}
			if x.Verdict.Level != Void {
				values[k][i] = float64(v)
			}
			return &r.Figures[k]
		}
		if x.Verdict.Level == Void {
			r.Void++
		}
		for _, c := range x.Checks {
			f := add(Repeated{Kind: "check", Name: c.ID, Low: c.Low, High: c.High, Claim: c.Claim}, c.Value)
			switch c.Outcome {
			case Pass, UnexpectedPass:
				f.Passed++
			case Fail:
				f.Failed++
			}
		}
		for n, phase := range x.Phases {
			for _, rate := range phase.Rates {
				name := rate.Name
				if len(x.Phases) > 1 {
					name = fmt.Sprintf("%s, phase %d", name, n+1)
				}
				add(Repeated{Kind: rate.Kind, Name: name, Low: Missing(), High: Missing()}, rate.Utilisation)
			}
		}
	}
	for k := range values {
		r.Figures[k].Estimate = EstimateOf(values[k])
	}
	return r
}

// Fails reports whether a check fails in more than one of ten runs.
func (r *Repetitions) Fails() bool {
	return slices.ContainsFunc(r.Figures, func(f Repeated) bool { return 10*f.Failed > len(r.Runs) })
}

// Write writes SeedsFile into a directory.
func (r *Repetitions) Write(dir string) error {
	return files.Write(filepath.Join(dir, SeedsFile), func(w io.Writer) error { return WriteJSON(w, r) })
}

// ReadRepetitions reads SeedsFile of a directory. Without one the error is fs.ErrNotExist.
func ReadRepetitions(dir string) (*Repetitions, error) {
	b, err := files.Read(filepath.Join(dir, SeedsFile), mostBytes)
	if err != nil {
		return nil, err
	}
	r := new(Repetitions)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s of %s: it is cut short or is not JSON: %w", SeedsFile, dir, err)
	}
	if len(r.Runs) == 0 {
		return nil, fmt.Errorf("%s of %s names no runs: it was written by another program", SeedsFile, dir)
	}
	for _, run := range r.Runs {
		if !filepath.IsLocal(run) {
			return nil, fmt.Errorf("%s of %s names the run %q, which is not within it", SeedsFile, dir, run)
		}
	}
	return r, nil
}
