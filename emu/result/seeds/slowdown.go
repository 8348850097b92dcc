package seeds

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/wire/unit"
)

// Slowdown is the slowdown of the flows of a workload over all runs.
type Slowdown struct {
	Workload string `json:"workload"`
	Seeds    int    `json:"seeds"` // runs that have flows and are not void
	Open     int64  `json:"open"`  // flows that did not end; no figure includes them
	Band            // of all sizes
	Sizes    []Band `json:"sizes"` // with equal numbers of flows, smallest first
}

// Band is the slowdown of the flows of neighbouring sizes.
type Band struct {
	Flows int      `json:"flows"`
	From  int64    `json:"from"` // bytes of payload of the smallest
	To    int64    `json:"to"`   // and of the largest
	Mean  Interval `json:"mean"`
	P50   Interval `json:"p50"`
	P95   Interval `json:"p95"`
	P99   Interval `json:"p99"` // percentiles are missing if there are too few flows (metrics.Supports)
}

// Interval is a figure over the flows of all runs, with its 95 % confidence interval, which is
// missing if there is only one run.
type Interval struct {
	Value report.Number `json:"value"`
	Low   report.Number `json:"low"`
	High  report.Number `json:"high"`
}

// Significant reports whether the interval of a ratio excludes 1.
func (i Interval) Significant() bool { return i.Low > 1 || i.High < 1 }

// String prints the figure and its interval.
func (i Interval) String() string {
	if !i.Low.Known() {
		return i.Value.Print("%.3g")
	}
	return fmt.Sprintf("%.3g (%.3g to %.3g)", float64(i.Value), float64(i.Low), float64(i.High))
}

// figuresOf lists the figures of a band. They are taken from sorted values, each of which counts as
// often as its weight.
var figuresOf = []struct {
	Name  string
	share float64 // 0 of the mean
	of    func(*Band) *Interval
	take  func(values, weights []float64) float64
}{
	{"mean", 0, func(b *Band) *Interval { return &b.Mean }, mean},
	{"p50", 0.5, func(b *Band) *Interval { return &b.P50 }, rank(0.5)},
	{"p95", 0.95, func(b *Band) *Interval { return &b.P95 }, rank(0.95)},
	{"p99", 0.99, func(b *Band) *Interval { return &b.P99 }, rank(0.99)},
}

func mean(values, weights []float64) float64 {
	var sum unit.Total
	all := 0.0 // whole numbers
	for i, w := range weights {
		sum.Add(w * values[i])
		all += w
	}
	return sum.Over(all)
}

// rank returns the nearest rank.
func rank(share float64) func(values, weights []float64) float64 {
	return func(values, weights []float64) float64 {
		all := 0.0
		for _, w := range weights {
			all += w
		}
		i := 0
		for below := weights[0]; below < share*all; below += weights[i] {
			i++
		}
		return values[i]
	}
}

// Figures yields the names of the figures of a band, and the figures.
func (b *Band) Figures(yield func(name string, i Interval) bool) {
	for _, f := range figuresOf {
		if !yield(f.Name, *f.of(b)) {
			return
		}
	}
}

// Pool returns the slowdown of each workload over runs. It takes as long as a few hundred passes
// over all flows.
func Pool(runs []Run) (all []Slowdown) {
	at := map[string]int{}
	var flows [][]flow
	for i := range runs {
		if runs[i].Void {
			continue
		}
		for _, s := range runs[i].Samples {
			k, there := at[s.Workload]
			if !there {
				k = len(all)
				at[s.Workload] = k
				all, flows = append(all, Slowdown{Workload: s.Workload}), append(flows, nil)
			}
			all[k].Open += s.Open
			before := len(flows[k])
			if flows[k] = s.unpack(all[k].Seeds, flows[k]); len(flows[k]) > before {
				all[k].Seeds++
			}
		}
	}
	for k := range all {
		all[k].fill(flows[k])
	}
	return all
}

// The number of bootstrap resamples: at most, at least, and a bound on the flows in all of them.
const (
	mostResamples  = 1000
	leastResamples = 200
	mostResampled  = 20_000_000
)

// fill computes the figures from flows.
func (s *Slowdown) fill(flows []flow) {
	slices.SortStableFunc(flows, func(a, b flow) int { // flows of one size: all runs in turn
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.number, b.number))
	})
	n := min(mostResamples, max(leastResamples, mostResampled/max(1, len(flows))))
	random := rand.New(rand.NewPCG(1, uint64(s.Seeds))) // the same flows give the same figures
	drawn := make([][]float64, n)                       // how many times each resample contains each run
	for i := range drawn {
		drawn[i] = make([]float64, s.Seeds)
		for range s.Seeds {
			drawn[i][random.IntN(s.Seeds)]++
		}
	}
	s.Band = bandOf(flows, drawn)
	bands := report.Bands(len(flows))
	if s.From == s.To {
		bands = min(bands, 1)
	}
	for k := range bands {
		s.Sizes = append(s.Sizes, bandOf(flows[k*len(flows)/bands:(k+1)*len(flows)/bands], drawn))
	}
}

// bandOf returns the figures of flows, sorted by size. Intervals are computed on logarithms,
// because slowdowns have no upper bound: Student's t times the deviation over resamples, which draw
// whole runs with replacement.
func bandOf(flows []flow, drawn [][]float64) Band {
	b, from := Band{Flows: len(flows)}, map[int]bool{}
	if len(flows) > 0 {
		b.From, b.To = flows[0].bytes, flows[len(flows)-1].bytes
	}
	flows = slices.Clone(flows)
	slices.SortFunc(flows, func(a, b flow) int { return cmp.Compare(a.slowdown, b.slowdown) })
	values, weights := make([]float64, len(flows)), make([]float64, len(flows))
	for i := range flows {
		values[i] = flows[i].slowdown
		from[flows[i].run] = true
	}
	resampled := make([][]float64, len(figuresOf))
	for _, times := range drawn {
		sum := 0.0
		for i := range flows {
			weights[i] = times[flows[i].run]
			sum += weights[i]
		}
		for k := 0; sum > 0 && len(from) > 1 && k < len(figuresOf); k++ {
			resampled[k] = append(resampled[k], math.Log(figuresOf[k].take(values, weights)))
		}
	}
	spread := math.NaN()
	if n := float64(len(from)); n > 1 { // n resampled runs have n-1 degrees of freedom
		spread = report.Student95(len(from)-1) * math.Sqrt(n/(n-1))
	}
	for i := range weights {
		weights[i] = 1
	}
	for k, f := range figuresOf {
		to := f.of(&b)
		*to = Interval{report.Missing(), report.Missing(), report.Missing()}
		if len(flows) == 0 || !metrics.Supports(len(flows), f.share) {
			continue
		}
		to.Value = report.Number(f.take(values, weights))
		if len(resampled[k]) > 1 {
			half := report.Number(math.Exp(spread * float64(report.EstimateOf(resampled[k]).Deviation)))
			to.Low, to.High = max(1, to.Value/half), to.Value*half
		}
	}
	return b
}

// TableFile is the table of slowdowns.
const TableFile = "slowdowns.csv"

// Row holds the slowdowns of one combination of values.
type Row struct {
	Values    []string
	Slowdowns []Slowdown
	// Ratios has the Ratios of each workload to another combination; nil of that combination.
	Ratios map[string]map[string]Interval
}

// WriteTable writes slowdowns as CSV. Each combination of values, under these heads, has for each
// workload a row for all sizes, then one for each size band. If a combination has ratios, its rows
// for all sizes do.
func WriteTable(w io.Writer, heads []string, of []Row) error {
	head := append(slices.Clone(heads), "workload", "sizes", "from_bytes", "to_bytes", "flows", "seeds", "open")
	interval := func(name string) { head = append(head, name, name+"_low", name+"_high") }
	for _, f := range figuresOf {
		interval(f.Name)
	}
	compared := slices.ContainsFunc(of, func(r Row) bool { return r.Ratios != nil })
	for k := 0; compared && k < len(figuresOf); k++ {
		interval(figuresOf[k].Name + "_paired_ratio")
	}
	rows := [][]string{head}
	for _, r := range of {
		for _, s := range r.Slowdowns {
			add := func(sizes string, b *Band, open string, ratios map[string]Interval) {
				row := append(slices.Clone(r.Values), s.Workload, sizes, strconv.FormatInt(b.From, 10), strconv.FormatInt(b.To, 10),
					strconv.Itoa(b.Flows), strconv.Itoa(s.Seeds), open)
				for _, i := range b.Figures {
					row = append(row, i.Value.Cell(6), i.Low.Cell(6), i.High.Cell(6))
				}
				for k := 0; compared && k < len(figuresOf); k++ {
					i, there := ratios[figuresOf[k].Name]
					if !there {
						i = Interval{report.Missing(), report.Missing(), report.Missing()}
					}
					row = append(row, i.Value.Cell(6), i.Low.Cell(6), i.High.Cell(6))
				}
				rows = append(rows, row)
			}
			add("all", &s.Band, strconv.FormatInt(s.Open, 10), r.Ratios[s.Workload])
			for k := range s.Sizes {
				add(strconv.Itoa(k+1), &s.Sizes[k], "", nil)
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
