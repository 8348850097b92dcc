package seeds

import (
	"compress/gzip"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/result/report"
)

// twoSets returns two sets of repetitions with the same seeds, whose flows have a lognormal
// slowdown. A seed raises all of its flows by one factor, which differs greatly between seeds; the
// second set has ratio times the slowdown of the first, and each run some noise of its own. The
// figure m of a run is the logarithm of its level.
func twoSets(random *rand.Rand, n int, ratio float64) (a, b []Run) {
	for seed := range n {
		shared := 50 * math.Exp(0.4*random.NormFloat64())
		one := func(level float64) Run {
			level *= math.Exp(0.03 * random.NormFloat64())
			var flows []flow
			for i := range 20 {
				flows = append(flows, flow{bytes: int64(1000 + i), slowdown: max(1, level*math.Exp(0.05*random.NormFloat64()))})
			}
			return Run{Seed: uint64(seed + 1), Samples: []Sample{pack("web", 0, flows)},
				Figures: []Figure{{Kind: "check", Name: "m", Value: report.Number(math.Log(level))}}}
		}
		a, b = append(a, one(shared)), append(b, one(ratio*shared))
	}
	return a, b
}

// binomial returns the probability of at most k successes of n, each with the probability p.
func binomial(k, n int, p float64) (sum float64) {
	for i := range k + 1 {
		all, _ := math.Lgamma(float64(n + 1))
		yes, _ := math.Lgamma(float64(i + 1))
		no, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - yes - no + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// TestPairedIntervalsCover: with a large effect that both sets share, 95 % of the intervals of the
// difference and of the ratio contain the true one, and they are much narrower than intervals that
// ignore the pairs.
func TestPairedIntervalsCover(t *testing.T) {
	const ratio, trials = 1.05, 500
	random := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{3, 10} {
		covered := map[string]int{}
		narrower := 0
		for range trials {
			a, b := twoSets(random, n, ratio)
			pairs := Paired(a, b)
			if d := Difference(pairs, "check", "m"); math.Abs(float64(d.Mean)-math.Log(ratio)) <= float64(d.Interval) {
				covered["difference"]++
			}
			ratios := Ratios(pairs, "web")
			for _, name := range []string{"mean", "p50"} {
				if r := ratios[name]; r.Low <= ratio && ratio <= r.High {
					covered[name]++
				}
			}
			if r := ratios["mean"]; 2*math.Log(float64(r.High/r.Value)) < float64(Repeat(a).Find("m").Interval) {
				narrower++
			}
		}
		for _, name := range []string{"difference", "mean", "p50"} {
			if k := covered[name]; binomial(k, trials, 0.95) < 1e-3 || 1-binomial(k-1, trials, 0.95) < 1e-3 {
				t.Errorf("%s, %d seeds: %d of %d intervals cover the true one", name, n, k, trials)
			}
		}
		if narrower < trials*9/10 {
			t.Errorf("%d seeds: %d of %d paired intervals are narrower than half of that of the mean of one set", n, narrower, trials)
		}
	}
}

// Pairs are by seed, in any order, and without void runs. One pair has no interval.
func TestPaired(t *testing.T) {
	set := func(seeds []uint64, slowdowns ...float64) (runs []Run) {
		for i, seed := range seeds {
			r := runOf(slices.Repeat([]float64{slowdowns[i]}, 4)...)
			r.Seed, r.Figures = seed, []Figure{{Kind: "link", Name: "x", Value: report.Number(slowdowns[i])}}
			runs = append(runs, r)
		}
		return runs
	}
	a, b := set([]uint64{1, 2, 3, 4}, 2, 4, 8, 16), set([]uint64{9, 4, 3, 2}, 100, 32, 16, 8)
	a[3].Void = true
	pairs := Paired(a, b)
	if len(pairs) != 2 || pairs[0].A != &a[1] || pairs[0].B != &b[3] || pairs[1].A != &a[2] || pairs[1].B != &b[2] {
		t.Fatalf("%+v", pairs)
	}
	if d := Difference(pairs, "link", "x"); d.Mean != 6 || d.Values != 2 {
		t.Errorf("%+v", d)
	}
	if d := Difference(pairs, "check", "x"); d.Mean.Known() || d.Missing != 2 {
		t.Errorf("a figure of another kind: %+v", d)
	}
	r := Ratios(pairs, "web")
	for _, name := range []string{"mean", "p50"} { // of each pair it is 2
		if r := r[name]; math.Abs(float64(r.Value)-2) > 1e-9 || math.Abs(float64(r.Low)-2) > 1e-9 || math.Abs(float64(r.High)-2) > 1e-9 || !r.Significant() {
			t.Errorf("%s: %v", name, r)
		}
	}
	for _, name := range []string{"p95", "p99"} {
		if r[name].Value.Known() || r[name].Significant() {
			t.Errorf("%s of 4 flows: %v", name, r[name])
		}
	}
	if one := Ratios(pairs[:1], "web")["mean"]; math.Abs(float64(one.Value)-2) > 1e-9 || one.Low.Known() || one.Significant() {
		t.Errorf("of one pair: %v", one)
	}
	b[2].Samples = nil // of the second pair, one run has no flows
	if one := Ratios(pairs, "web")["mean"]; math.Abs(float64(one.Value)-2) > 1e-9 || one.Low.Known() {
		t.Errorf("of one pair with flows: %v", one)
	}
	if none := Ratios(nil, "web")["mean"]; none.Value.Known() || none.Significant() {
		t.Errorf("of no pair: %v", none)
	}
}

// Of the table of flows those count that completed, after the warm-up.
func TestSamplesInATable(t *testing.T) {
	table := "workload,from,to,bytes,arrived_ps,ended_ps,alone_ps,slowdown,packets_again,packets_missing,priority\n" +
		"web,a,b,500,99,200,7,1.5,0,0,0\n" + // in the warm-up
		"web,a,b,500,100,200,7,2.5,0,0,0\n" +
		"bulk,a,b,900,100,200,7,3.5,0,0,0\n" +
		"web,a,b,600,101,200,7,4.5,0,2,0\n" + // incomplete
		"web,a,b,700,102,,7,,0,0,0\n" // open
	read := func(name, text string) ([]Sample, error) {
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if strings.HasSuffix(name, ".gz") {
			z := gzip.NewWriter(f)
			_, err = io.WriteString(z, text)
			z.Close()
		} else {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		r := &report.Result{Files: map[string]string{name: "sum"}, Directory: dir, Workloads: []report.Workload{{Name: "web", FromPs: 100}, {Name: "bulk"}}}
		return samplesIn(&report.Dir{Result: r})
	}
	for _, name := range []string{report.TransfersFile, report.LongTransfersFile} {
		all, err := read(name, table)
		if err != nil || len(all) != 2 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		web, bulk := all[0].unpack(0, nil), all[1].unpack(0, nil)
		if !slices.Equal(web, []flow{{bytes: 500, slowdown: 2.5}}) || !slices.Equal(bulk, []flow{{bytes: 900, slowdown: 3.5}}) {
			t.Errorf("%s: %v, %v", name, web, bulk)
		}
	}
	for _, tc := range []struct{ old, new, want string }{
		{"arrived_ps", "begun_ps", "transfers.csv: it has no column arrived_ps"},
		{"bulk", "other", `transfers.csv: result.json has no workload "other"`},
		{"2.5", "fast", "transfers.csv: line 3: "},
	} {
		if _, err := read(report.TransfersFile, strings.Replace(table, tc.old, tc.new, 1)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%v, not %s", err, tc.want)
		}
	}
}
