package seeds

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/wire/unit"
)

// runOf returns a run with flows of these slowdowns, each one byte larger than the one before.
func runOf(slowdowns ...float64) Run {
	var flows []flow
	for i, s := range slowdowns {
		flows = append(flows, flow{bytes: int64(1000 + i), slowdown: s})
	}
	return Run{Samples: []Sample{pack("web", 2, flows)}}
}

func TestSamplesComeBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	flows := make([]flow, 500)
	for i := range flows {
		flows[i] = flow{bytes: random.Int64N(1 << random.IntN(50)), slowdown: 1 + math.Round(1e4*100*random.Float64())/1e4}
	}
	s := pack("web", 0, flows)
	got := s.unpack(7, nil)
	if len(got) != len(flows) {
		t.Fatalf("%d flows of %d", len(got), len(flows))
	}
	for i, f := range got {
		if f.bytes != flows[i].bytes || math.Abs(f.slowdown-flows[i].slowdown) > 1e-9 || f.run != 7 || f.number != i {
			t.Fatalf("flow %d is %+v, want %+v", i, f, flows[i])
		}
	}
	for n := range s.Flows { // a file that was cut or changed
		cut := Sample{Flows: s.Flows[:n]}
		changed := Sample{Flows: slices.Concat(s.Flows[:n], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, s.Flows[n:])}
		if len(cut.unpack(0, nil)) > len(flows) {
			t.Fatal("more flows than there were")
		}
		for _, f := range changed.unpack(0, nil) {
			if f.bytes < 0 || f.slowdown < 1 {
				t.Fatalf("%+v", f)
			}
		}
	}
}

// The figures cover all flows together; void runs do not count, and flows of one size stay in one
// band.
func TestPool(t *testing.T) {
	var runs []Run
	var all []float64
	for k := range 5 {
		var own []float64
		for i := range 30 {
			own = append(own, 1+float64(7*i%30)+float64(k)/10)
		}
		all = append(all, own...)
		runs = append(runs, runOf(own...))
	}
	void := runOf(1000)
	void.Void = true
	s := Pool(append(runs, void, Run{}))[0]
	slices.Sort(all)
	if s.Workload != "web" || s.Seeds != 5 || s.Open != 10 || s.Flows != 150 || s.From != 1000 || s.To != 1029 || len(s.Sizes) != report.Bands(150) {
		t.Errorf("%+v", s)
	}
	want := map[string]float64{"mean": unit.Mean(all), "p50": metrics.Rank(all, 0.5), "p95": metrics.Rank(all, 0.95), "p99": metrics.Rank(all, 0.99)}
	for name, x := range s.Figures {
		if math.Abs(float64(x.Value)-want[name]) > 1e-9 || !(x.Low <= x.Value && x.Value <= x.High) {
			t.Errorf("%s is %v, want %v", name, x, want[name])
		}
	}
	for _, b := range s.Sizes {
		if b.P99.Value.Known() || !b.P95.Value.Known() {
			t.Errorf("%+v", b)
		}
	}
	if got := Pool(append(runs, void))[0]; got.Mean != s.Mean || got.P99 != s.P99 {
		t.Error("the same flows have other figures")
	}
	if one := Pool(runs[:1])[0]; one.Mean.Low.Known() || one.Mean.High.Known() || !one.Mean.Value.Known() || one.P99.Value.Known() {
		t.Errorf("of a single run: %+v", one.Band)
	}
	if same := Pool([]Run{runs[0], runs[0]})[0]; same.P50.Low != same.P50.Value || same.P50.High != same.P50.Value {
		t.Errorf("of two equal runs: %v", same.P50)
	}
	for i := range runs {
		runs[i].Samples = append(runs[i].Samples, pack("one", 0, slices.Repeat([]flow{{bytes: 9, slowdown: 2}}, 100)))
	}
	if one := Pool(runs)[1]; len(one.Sizes) != 1 || one.Flows != 500 {
		t.Errorf("flows of one size: %d bands of %d flows", len(one.Sizes), one.Flows)
	}
	if none := Pool([]Run{{Samples: []Sample{{Workload: "idle"}}}})[0]; none.Flows != 0 || none.Sizes != nil || none.Mean.Value.Known() {
		t.Errorf("without flows: %+v", none)
	}
}

// With ten runs whose levels differ greatly, the interval covers the true mean in nearly 95 of 100
// cases.
func TestIntervalsCover(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	const trials = 200
	covered := 0
	for range trials {
		var runs []Run
		for range 10 {
			level, own := math.Exp(0.3*random.NormFloat64()), []float64{}
			for range 10 {
				own = append(own, 1+level*random.ExpFloat64())
			}
			runs = append(runs, runOf(own...))
		}
		want := 1 + report.Number(math.Exp(0.3*0.3/2))
		if m := Pool(runs)[0].Mean; m.Low <= want && want <= m.High {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.92 || share > 0.98 {
		t.Errorf("%d of %d intervals of the mean cover it", covered, trials)
	}
}

func TestTable(t *testing.T) {
	s := Slowdown{Workload: "web", Seeds: 3, Open: 2, Band: Band{Flows: 9, From: 1, To: 30, Mean: Interval{2, 1.5, 3}, P50: Interval{1, 1, 1}}}
	s.P95, s.P99 = Interval{report.Missing(), report.Missing(), report.Missing()}, Interval{report.Missing(), report.Missing(), report.Missing()}
	s.Sizes = []Band{s.Band}
	var b bytes.Buffer
	if err := WriteTable(&b, []string{"load"}, []Row{{Values: []string{"0.5"}, Slowdowns: []Slowdown{s}}}); err != nil {
		t.Fatal(err)
	}
	want := `load,workload,sizes,from_bytes,to_bytes,flows,seeds,open,mean,mean_low,mean_high,p50,p50_low,p50_high,p95,p95_low,p95_high,p99,p99_low,p99_high
0.5,web,all,1,30,9,3,2,2,1.5,3,1,1,1,,,,,,
0.5,web,1,1,30,9,3,,2,1.5,3,1,1,1,,,,,,
`
	if b.String() != want {
		t.Errorf("%s", strings.ReplaceAll(b.String(), "\n", "|"))
	}
	s.Sizes = nil
	b.Reset()
	ratios := map[string]map[string]Interval{"web": {"mean": {1.5, 1.25, 1.75}}}
	if err := WriteTable(&b, nil, []Row{{Slowdowns: []Slowdown{s}}, {Slowdowns: []Slowdown{s}, Ratios: ratios}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{",p99_low,p99_high,mean_paired_ratio,mean_paired_ratio_low,mean_paired_ratio_high,p50_paired_ratio,", ",1,1,1,,,,,,,,,,,,,,,,,,\n", ",1,1,1,,,,,,,1.5,1.25,1.75,,,,,,,,,\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
