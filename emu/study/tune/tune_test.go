package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/study/campaign"
	"fabemu/emu/study/sweep"
)

// two is a scenario in which two flows share a link for a short time.
const two = `name: two
model: {duration: 150us}
defaults:
  link: {rate: 100Gb/s, propagation: 500ns, flow-control: pfc}
  switch: {kind: output-queued}
  flow: {packet: 1000B}
switches: {S: {}}
endpoints: [a, b, c]
links: [a - S, b - S, {name: exit, between: S - c}]
flows:
  - {name: f, from: a, to: c, start: 0us + 5us}
  - {name: g, from: b, to: c, start: 0us + 5us}
measure: {window: 50us}
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "two.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// plan is a search for the highest use of a link.
func plan(t *testing.T, scheme string, ranges ...string) Plan {
	return Plan{Base: sweep.Plan{Fabemu: "test", Scenario: write(t, two), Clock: string(emu.VirtualClock)},
		Metric: "exit.S-c.utilisation", Scheme: scheme, Highest: true, Ranges: ranges, Trials: 4, Seeds: 1, Judge: 3, Seed: 1}
}

// scripted is a search whose runs have a metric that a function of the trial and the seed gives.
func scripted(trials, perRound, judge int, value func(trial, seed int) float64) (*search, func(int, *stage) ([]sweep.Cell, bool, error), *[]string) {
	s := &search{Plan: Plan{Metric: "m", Scheme: "x", Seeds: perRound, Judge: judge}}
	for i := range trials {
		s.trials = append(s.trials, Trial{Number: i + 1})
	}
	var said []string
	return s, func(number int, g *stage) (cells []sweep.Cell, whole bool, err error) {
		var numbers []string
		for _, x := range g.trials {
			numbers = append(numbers, fmt.Sprint(x.Number))
			for seed := g.first; seed <= g.most; seed++ {
				cells = append(cells, sweep.Cell{Values: []string{s.variant(x).Name, fmt.Sprint(seed)}, Level: report.Virtual,
					Figures: []seeds.Figure{{Name: "m", Value: report.Number(value(x.Number, seed))}}})
			}
		}
		said = append(said, fmt.Sprintf("%d: trials %s, seeds %d-%d", number, strings.Join(numbers, " "), g.first, g.most))
		return cells, true, nil
	}, &said
}

// TestHalving: a round keeps the better half by the mean over all seeds so far, and has so many
// new seeds that all rounds have as many runs ("Non-stochastic Best Arm Identification", Fig. 3:
// each of the arms that are left is pulled floor(B/(|S| log2 n)) times); the judgement has seeds of
// its own.
func TestHalving(t *testing.T) {
	for _, c := range []struct {
		trials, perRound int
		highest          bool
		value            func(trial, seed int) float64
		want             []string
		best             int
		gain             Gain
	}{
		{8, 1, false, func(n, _ int) float64 { return math.Abs(float64(n) - 6) },
			[]string{"1: trials 1 2 3 4 5 6 7 8, seeds 1-1", "2: trials 6 5 7 4, seeds 2-3", "3: trials 6 5, seeds 4-7", "4: trials 1 6, seeds 8-12"}, 6, Better},
		{8, 1, true, func(n, seed int) float64 { return float64(n) + 0.01*float64(seed*n%3) },
			[]string{"1: trials 1 2 3 4 5 6 7 8, seeds 1-1", "2: trials 8 7 6 5, seeds 2-3", "3: trials 8 7, seeds 4-7", "4: trials 1 8, seeds 8-12"}, 8, Better},
		// Trial 3 is the best on the first seed alone, so it goes on; the seeds of the second round
		// tell it from trial 2.
		{4, 1, false, func(n, seed int) float64 { return []float64{5, 2, float64(10*seed - 9), 9}[n-1] },
			[]string{"1: trials 1 2 3 4, seeds 1-1", "2: trials 3 2, seeds 2-3", "3: trials 1 2, seeds 4-8"}, 2, Better},
		// The best on the seeds of the search is worse on others.
		{2, 3, false, func(n, seed int) float64 { return float64(n-1) * (float64(seed) - 3.5) * (1 + 0.1*float64(seed%2)) },
			[]string{"1: trials 1 2, seeds 1-3", "2: trials 1 2, seeds 4-8"}, 2, Worse},
		// It differs on others, now this way and now that.
		{2, 3, false, func(n, seed int) float64 {
			return float64(n-1) * []float64{-1, -1, -1, 1, -1, 1, -1, 0.5}[seed-1]
		}, []string{"1: trials 1 2, seeds 1-3", "2: trials 1 2, seeds 4-8"}, 2, None},
		// The source wins against what is equal, and is not judged against itself.
		{5, 2, false, func(int, int) float64 { return 1 },
			[]string{"1: trials 1 2 3 4 5, seeds 1-2", "2: trials 1 2 3, seeds 3-5", "3: trials 1 2, seeds 6-10"}, 1, ""},
		// A trial with an undefined value is the last.
		{3, 1, false, func(n, seed int) float64 { return []float64{7, math.NaN(), 3}[n-1] + 0.01*float64(n*seed%4) },
			[]string{"1: trials 1 2 3, seeds 1-1", "2: trials 3 1, seeds 2-2", "3: trials 1 3, seeds 3-7"}, 3, Better},
	} {
		s, do, said := scripted(c.trials, c.perRound, 5, c.value)
		s.Highest = c.highest
		at, r, err := s.stages(do)
		if err != nil || at != 0 {
			t.Fatalf("%d: %v", at, err)
		}
		if !slices.Equal(*said, c.want) {
			t.Errorf("%q, want %q", *said, c.want)
		}
		if r.Best != c.best || (r.Judged == nil) != (c.gain == "") || r.Judged != nil && r.Judged.Gain != c.gain {
			t.Errorf("the best is %d, want %d; %+v, want %s", r.Best, c.best, r.Judged, c.gain)
		}
		rounds := len(c.want)
		if c.gain != "" {
			rounds-- // the last is the judgement
		}
		if Rounds(c.trials) != rounds {
			t.Errorf("%d rounds of %d trials", Rounds(c.trials), c.trials)
		}
	}
	s, do, _ := scripted(3, 1, 5, func(int, int) float64 { return math.NaN() })
	if _, _, err := s.stages(do); err == nil || !strings.Contains(err.Error(), "m is undefined in all 3 trials") {
		t.Errorf("undefined: %v", err)
	}
}

// files reads the files of a search but for its cells.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(b)
	}
	return all
}

// TestTune: HPCC keeps links at eta of their rate, so a search for the highest use of a link finds
// an eta above that of the paper, 0.95, and says that it gains. One below finds that nothing is
// better. A search that is shared or that was ended gives the same files as one call, and continues
// where it was.
func TestTune(t *testing.T) {
	p := plan(t, "hpcc", "defaults.flow.control.eta=0.96,0.99")
	dir := t.TempDir()
	r, _, err := Run(t.Context(), p, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Best == 1 || r.Judged == nil || r.Judged.Gain != Better {
		t.Fatalf("the best is trial %d: %+v", r.Best, r.Judged)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, terminal.Look{}); err != nil || !strings.Contains(text.String(), "Tuning gains: utilisation") {
		t.Errorf("%v, %s", err, text.String())
	}
	whole := files(t, dir)
	for _, name := range []string{"hpcc-tuned.yaml", "trials.csv", "tune.json", "tune.svg", "report.html"} {
		if whole[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	var read Result
	if err := json.Unmarshal([]byte(whole["tune.json"]), &read); err != nil || len(read.Trials) != 4 || read.Judged.FirstSeed != 4 || read.Judged.LastSeed != 6 {
		t.Errorf("%v, %+v", err, read)
	}

	// The same in shares, round by round, of which one is ended before its time.
	shared := t.TempDir()
	ended, end := context.WithCancel(t.Context())
	o := Options{}
	o.Share, o.Progress = campaign.Share{Index: 1, Of: 2}, func(campaign.Status) { end() }
	if _, _, err := Run(ended, p, shared, o); err == nil {
		t.Error("it was ended")
	}
	o.Progress = nil
	for round := 1; round <= Rounds(p.Trials)+1; round++ {
		for i := 1; i <= 2; i++ {
			o.Share, o.Round = campaign.Share{Index: i, Of: 2}, round
			if _, n, err := Run(t.Context(), p, shared, o); err != nil || n == 0 {
				t.Fatalf("round %d, share %d: %d runs, %v", round, i, n, err)
			}
		}
		if round > 1 {
			continue
		}
		o.Round = 3
		if _, _, err := Run(t.Context(), p, shared, o); err == nil || !strings.Contains(err.Error(), "round 3 cannot begin: runs of round 2 are missing") {
			t.Errorf("a round too early: %v", err)
		}
		if r, missing, err := Draw(p, shared, Options{}); err != nil || r != nil || len(missing) != 4 {
			t.Errorf("%v, %d runs are missing, %v", r, len(missing), err)
		}
	}
	if _, _, err := Draw(p, shared, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range files(t, shared) {
		if text != whole[name] {
			t.Errorf("%s differs", name)
		}
	}
	again := Options{}
	again.Progress = func(s campaign.Status) {
		if s.Before != s.Cells {
			t.Errorf("%d of %d runs were there", s.Before, s.Cells)
		}
	}
	if _, _, err := Run(t.Context(), p, shared, again); err != nil {
		t.Error(err)
	}

	// The file of the best is a scheme of a sweep, with the figures of the judgement.
	axis, variants, err := sweep.LoadSchemes([]string{"hpcc," + filepath.Join(dir, "hpcc-tuned.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	next := p.Base
	next.Axes, next.Variants, next.Metrics = []sweep.Axis{axis}, variants, []string{p.Metric}
	next.Repeat(read.Judged.FirstSeed, 3)
	cells, err := sweep.Run(t.Context(), next, t.TempDir(), sweep.Options{})
	if err != nil || len(cells) != 6 || cells[3].Values[0] != "hpcc-tuned" {
		t.Fatalf("%v, %+v", err, cells)
	}
	sum := 0.0
	for _, c := range cells[3:] {
		sum += float64(c.Figures[0].Value)
	}
	if math.Abs(sum/3-float64(read.Judged.Best.Mean)) > 1e-12 {
		t.Errorf("the tuned scheme has %v in a sweep, and %v in the judgement", sum/3, read.Judged.Best.Mean)
	}

	p.Ranges = []string{"defaults.flow.control.eta=0.5,0.94"}
	r, _, err = Run(t.Context(), p, t.TempDir(), Options{})
	if err != nil || r.Best != 1 || r.Judged != nil {
		t.Errorf("%v, the best is trial %d", err, r.Best)
	}
	if got := r.verdict(); got != "No other set of parameters of 4 was better than that of the source." {
		t.Error(got)
	}
}

// Trials depend on the search's seed and their number alone, and invalid ones are drawn again.
func TestTrials(t *testing.T) {
	draw := func(seed uint64, trials int) []Trial {
		p := plan(t, "dcqcn", "defaults.switch.marking.min=5KB,200KB", "defaults.switch.marking.max=6KB,200KB")
		p.Seed, p.Trials = seed, trials
		s, err := p.begin()
		if err != nil {
			t.Fatal(err)
		}
		return s.trials
	}
	text := func(all []Trial) string { return fmt.Sprintf("%+v", all) }
	a := draw(1, 12)
	if text(a[:5]) != text(draw(1, 5)) || text(a[1:5]) == text(draw(2, 5)[1:]) {
		t.Error("trials do not follow from seed and number")
	}
	if !slices.ContainsFunc(a, func(x Trial) bool { return x.Redrawn > 0 }) {
		t.Error("no minimum was drawn above its maximum, which would be invalid")
	}
}

func TestMistakes(t *testing.T) {
	for want, change := range map[string]func(p *Plan){
		"pass --scheme":                              func(p *Plan) { p.Scheme = "" },
		"a search is of one scheme":                  func(p *Plan) { p.Scheme = "hpcc,dcqcn" },
		`there is no scheme "hpc"`:                   func(p *Plan) { p.Scheme = "hpc" },
		"pass --metric, such as":                     func(p *Plan) { p.Metric = "" },
		"--metric exit.S-c.speed":                    func(p *Plan) { p.Metric = "exit.S-c.speed" },
		"no parameter of it has a range":             func(p *Plan) { p.Scheme, p.Ranges = "none", nil },
		"the range is empty: 0.9 must be below 0.9":  func(p *Plan) { p.Ranges = []string{"defaults.flow.control.eta=0.9,0.9"} },
		"expected two values":                        func(p *Plan) { p.Ranges = []string{"defaults.flow.control.eta=0.9"} },
		"it is a number above 0 to 1":                func(p *Plan) { p.Ranges = []string{"defaults.flow.control.eta=0.9,1.5"} },
		"is not a number: only times":                func(p *Plan) { p.Ranges = []string{"defaults.flow.control.preset=paper,htsim"} },
		"did you mean \"defaults.flow.control.eta\"": func(p *Plan) { p.Ranges = []string{"defaults.flow.control.etta=0.9,0.95"} },
		"it is given twice":                          func(p *Plan) { p.Ranges = append(p.Ranges, p.Ranges[0]) },
		"--set gives it a value": func(p *Plan) {
			p.Base.Axes = []sweep.Axis{{Path: "defaults.flow.control.eta", Values: []string{"0.9"}}}
		},
		"pass --range flows.f.window=LOW,HIGH": func(p *Plan) { p.Base.Axes = []sweep.Axis{{Path: "flows.f.window", Values: []string{"1", "2"}}} },
		"a search chooses the seeds":           func(p *Plan) { p.Base.Axes = []sweep.Axis{{Path: "model.seed", Values: []string{"1"}}} },
		"none gives a valid scenario":          func(p *Plan) { p.Ranges = []string{"defaults.flow.control.base-rtt=1ns,2ns"} },
		"at least two are required":            func(p *Plan) { p.Trials = 1 },
	} {
		p := plan(t, "hpcc", "defaults.flow.control.eta=0.9,0.98")
		change(&p)
		dir := filepath.Join(t.TempDir(), "out")
		if _, _, err := Run(t.Context(), p, dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the directory was made", want)
		}
	}
}
