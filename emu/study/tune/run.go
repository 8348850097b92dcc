package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/scenario/sets"
	"fabemu/emu/study/campaign"
	"fabemu/emu/study/sweep"
	"fabemu/wire/unit"
)

// Kind is the kind of campaign that a search is.
const Kind = "tune"

// Rounds returns how many rounds a search of so many trials has, without the judgement.
func Rounds(trials int) (rounds int) {
	for ; trials > 1; trials = (trials + 1) / 2 {
		rounds++
	}
	return rounds
}

// Options are the settings of a call.
type Options struct {
	sweep.Options
	// Do the runs of this round, and nothing if an earlier one is not complete (default: the first
	// round that is not complete). The one after the last is the judgement.
	Round int `flag:"round" group:"Sharing the runs" arg:"N" low:"1" high:"11"`
}

// Trial is a set of values, and what the search knows of it.
type Trial struct {
	Number  int             `json:"trial"`   // from 1; the first has no values: it is the scheme as its source has it
	Values  []Setting       `json:"values"`  // in the order of the ranges
	Redrawn int             `json:"redrawn"` // how many draws before gave no valid scenario
	Seeds   int             `json:"seeds"`   // with which it ran: 1 to this
	Means   []report.Number `json:"means"`   // of the metric, by the round: over the seeds up to its end; missing if one run is void or does not have it

	bySeed []float64 // the metric; NaN: it is missing
}

// Mean returns the mean of the metric over all seeds.
func (t *Trial) Mean() report.Number {
	if len(t.Means) == 0 {
		return report.Missing()
	}
	return t.Means[len(t.Means)-1]
}

// Judgement compares the best trial with the source on seeds that did not choose it.
type Judgement struct {
	FirstSeed  int             `json:"first_seed"`
	LastSeed   int             `json:"last_seed"`
	Source     report.Estimate `json:"source"`
	Best       report.Estimate `json:"best"`
	Difference report.Estimate `json:"difference"` // of best from source, by pairs of runs with one seed
	Gain       Gain            `json:"gain"`
}

// Gain is what tuning gains.
type Gain string

// The gains.
const (
	Better Gain = "better" // the interval of the difference has only better values
	Worse  Gain = "worse"  // only worse ones
	None   Gain = "none"   // it contains zero, or is unknown
)

// Result is the result of a search.
type Result struct {
	Fabemu   string       `json:"fabemu"`
	Scenario string       `json:"scenario"`
	Scheme   string       `json:"scheme"`
	Metric   string       `json:"metric"`
	Highest  bool         `json:"highest"`
	Seed     uint64       `json:"search_seed"`
	Settings []Setting    `json:"settings"` // of the user, in all runs
	Ranges   []sets.Range `json:"ranges"`
	Trials   []Trial      `json:"trials"`
	Best     int          `json:"best"`      // number of the trial
	Judged   *Judgement   `json:"judgement"` // nil if the best is the source

	search *search
}

// stages calls do for one stage of the search after the other, which returns the finished cells,
// and whether these are all. It stops before the first that is not whole, and returns its number
// from 1, or 0 if the search is done.
func (s *search) stages(do func(number int, g *stage) ([]sweep.Cell, bool, error)) (int, *Result, error) {
	left := make([]*Trial, len(s.trials))
	for i := range s.trials {
		left[i] = &s.trials[i]
	}
	rounds, seed := Rounds(len(left)), 0
	for n := 1; n <= rounds; n++ {
		more := max(1, s.Seeds*len(s.trials)/len(left))
		g := &stage{left, seed + 1, seed + more}
		cells, whole, err := do(n, g)
		if err != nil || !whole {
			return n, nil, err
		}
		seed += more
		if s.take(g, cells); n == 1 && !slices.ContainsFunc(left, func(t *Trial) bool { return t.Mean().Known() }) {
			return n, nil, fmt.Errorf("%s is undefined in all %d trials, or all are void: choose another metric, or longer runs", s.Metric, len(left))
		}
		left = s.better(left)[:(len(left)+1)/2]
	}
	r := &Result{Fabemu: s.Base.Fabemu, Scenario: s.Base.Scenario, Scheme: s.Scheme, Metric: s.Metric, Highest: s.Highest,
		Seed: s.Seed, Ranges: s.ranges, Trials: s.trials, Best: left[0].Number, search: s}
	for _, x := range s.given {
		r.Settings = append(r.Settings, Setting{x.Path, x.Value})
	}
	if r.Best == 1 {
		return 0, r, nil
	}
	g := &stage{[]*Trial{&s.trials[0], left[0]}, seed + 1, seed + s.Judge}
	cells, whole, err := do(rounds+1, g)
	if err != nil || !whole {
		return rounds + 1, nil, err
	}
	r.Judged = s.judge(g, cells)
	return 0, r, nil
}

// runsOf returns the runs of a trial among cells, by their seeds.
func (s *search) runsOf(t *Trial, cells []sweep.Cell) (all []seeds.Run) {
	name := s.variant(t).Name
	for _, c := range cells {
		values := c.Values[len(c.Values)-2:] // the scheme and the seed
		if values[0] != name {
			continue
		}
		run := seeds.Run{Void: c.Level == report.Void, Figures: c.Figures}
		run.Seed, _ = strconv.ParseUint(values[1], 10, 64) // as Repeat has it
		all = append(all, run)
	}
	return all
}

// take adds the cells of a round to its trials.
func (s *search) take(g *stage, cells []sweep.Cell) {
	for _, t := range g.trials {
		for _, run := range s.runsOf(t, cells) {
			v := math.NaN()
			if !run.Void && len(run.Figures) > 0 {
				v = float64(run.Figures[0].Value)
			}
			t.bySeed = append(t.bySeed, v)
		}
		t.Seeds = len(t.bySeed)
		t.Means = append(t.Means, report.Number(unit.Mean(t.bySeed)))
	}
}

// better returns trials with the best first: by the mean over all seeds. A trial of which a value
// is missing is the last, and of equal ones the earlier number comes first, so that the source wins
// against what is no better.
func (s *search) better(trials []*Trial) []*Trial {
	key := func(t *Trial) float64 {
		switch v := float64(t.Mean()); {
		case !t.Mean().Known():
			return math.Inf(1)
		case s.Highest:
			return -v
		default:
			return v
		}
	}
	trials = slices.Clone(trials)
	slices.SortStableFunc(trials, func(a, b *Trial) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.Number, b.Number)) })
	return trials
}

// judge compares the second trial of a stage with the first.
func (s *search) judge(g *stage, cells []sweep.Cell) *Judgement {
	source, best := s.runsOf(g.trials[0], cells), s.runsOf(g.trials[1], cells)
	metric := s.Metric
	j := &Judgement{FirstSeed: g.first, LastSeed: g.most, Gain: None, Source: seeds.Repeat(source).Find(metric).Estimate,
		Best: seeds.Repeat(best).Find(metric).Estimate, Difference: seeds.Difference(seeds.Paired(source, best), "", metric)}
	switch effect := seeds.EffectOf(j.Difference); {
	case effect != seeds.Higher && effect != seeds.Lower:
	case (effect == seeds.Higher) == s.Highest:
		j.Gain = Better
	default:
		j.Gain = Worse
	}
	return j
}

// files are the files of a search in its directory.
func (s *search) files() []string { return filesOf(s.Scheme) }

// Run does the unfinished runs of a search that Options.Share selects, in the first round that is
// not complete, and returns how many they were. If they are to be all, it does one round after the
// other, writes the files, and returns the result. When ctx is done it stops, and keeps finished
// runs. A fault of the plan, the share or the directory is a *errs.Mistake.
func Run(ctx context.Context, p Plan, dir string, o Options) (*Result, int, error) {
	s, err := p.begin()
	if err != nil {
		return nil, 0, err
	}
	d, err := campaign.Claim(dir, &campaign.Plan{What: "search", Files: s.files()}, o.Mode())
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	if !o.Share.All() || o.Round > 0 {
		n, err := s.doShare(ctx, d, &o)
		return nil, n, err
	}
	_, r, err := s.stages(func(number int, g *stage) ([]sweep.Cell, bool, error) {
		if o.Say != nil {
			o.Say(s.announce(number, g))
		}
		more := o.Options
		more.Say = nil
		if number > 1 {
			more.Warn = nil // it has warned of all that concerns the scheme
		}
		cells, err := sweep.Do(ctx, s.plan(g), d, more)
		return cells, err == nil, err
	})
	if err != nil {
		return nil, 0, err
	}
	return r, 0, r.write(d, &o.Style)
}

// announce names a stage.
func (s *search) announce(number int, g *stage) string {
	seeds := fmt.Sprintf("seeds %d to %d", g.first, g.most)
	if g.first == g.most {
		seeds = fmt.Sprintf("seed %d", g.first)
	}
	if rounds := Rounds(len(s.trials)); number <= rounds {
		return fmt.Sprintf("round %d of %d: %d trials, %s", number, rounds, len(g.trials), seeds)
	}
	return fmt.Sprintf("judgement: trial %d and the source's parameters, %s", g.trials[1].Number, seeds)
}

// doShare does a share of the round that is next.
func (s *search) doShare(ctx context.Context, d *campaign.Directory, o *Options) (int, error) {
	var next *stage
	at, _, err := s.stages(func(number int, g *stage) ([]sweep.Cell, bool, error) {
		cells, missing, err := sweep.Collect(s.plan(g), d)
		next = g
		return cells, missing == nil, err
	})
	switch {
	case err != nil || at == 0 || o.Round > 0 && at > o.Round: // that round is done
		return 0, err
	case o.Round > 0 && at < o.Round:
		return 0, fmt.Errorf("round %d cannot begin: runs of round %d are missing; do them first, without --round", o.Round, at)
	}
	if o.Say != nil {
		o.Say(s.announce(at, next))
	}
	more := o.Options
	more.Say = nil
	cells, err := sweep.Do(ctx, s.plan(next), d, more)
	return len(cells), err
}

// Draw writes the files of a search whose runs are done. If some are missing it returns them, those
// of the first round that is not complete, and writes nothing.
func Draw(p Plan, dir string, o Options) (*Result, []campaign.Cell, error) {
	s, err := p.begin()
	if err != nil {
		return nil, nil, err
	}
	d, err := campaign.Claim(dir, &campaign.Plan{What: "search", Files: s.files()}, campaign.Drawing)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	r, missing, _, err := s.collect(d)
	if err != nil || r == nil {
		return nil, missing, err
	}
	return r, nil, r.write(d, &o.Style)
}

// collect follows a search through the results that are there, and returns the runs that are
// missing in the first round that is not complete, and all runs of that round.
func (s *search) collect(d *campaign.Directory) (r *Result, missing, round []campaign.Cell, err error) {
	_, r, err = s.stages(func(_ int, g *stage) ([]sweep.Cell, bool, error) {
		p := s.plan(g)
		cells, left, err := sweep.Collect(p, d)
		if err == nil && left != nil {
			missing = left
			round, err = sweep.Cells(p)
		}
		return cells, left == nil, err
	})
	return r, missing, round, err
}

// Cells returns the runs of the first round. A fault of the plan is a *errs.Mistake.
func Cells(p Plan) ([]campaign.Cell, error) {
	s, err := p.begin()
	if err != nil {
		return nil, err
	}
	var cells []campaign.Cell
	_, _, err = s.stages(func(_ int, g *stage) ([]sweep.Cell, bool, error) {
		cells, err = sweep.Cells(s.plan(g))
		return nil, false, err
	})
	return cells, err
}

// Next returns the runs of the first round that is not complete in a directory; none if the search
// is done.
func Next(p Plan, dir string) ([]campaign.Cell, error) {
	s, err := p.begin()
	if err != nil {
		return nil, err
	}
	d, err := campaign.Claim(dir, &campaign.Plan{What: "search", Files: s.files()}, campaign.Drawing)
	if err != nil {
		return Cells(p) // nothing has begun
	}
	defer d.Close()
	_, _, round, err := s.collect(d)
	return round, err
}
