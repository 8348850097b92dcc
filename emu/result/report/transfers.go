package report

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// Workload has the figures of the flows of a workload.
type Workload struct {
	Name       string     `json:"name"`
	Pattern    string     `json:"pattern"`
	Endpoints  int        `json:"endpoints"`
	Transfers  int        `json:"transfers"`         // that ended
	Open       int        `json:"open"`              // that did not
	Waiting    int64      `json:"waiting,omitempty"` // further ones, which waited for a source at the end
	Bytes      int64      `json:"bytes"`             // of payload, of flows that ended
	Lost       int        `json:"lost"`              // flows that ended with packets missing; they are in no figure
	FromPs     int64      `json:"from_ps,omitempty"` // arrivals before, in the warm-up, do not count: they are in no figure
	Completion Spread     `json:"completion_s"`
	Slowdown   Spread     `json:"slowdown"`
	AtLeast    *Spread    `json:"slowdown_at_least,omitempty"` // with those that did not end, as if they had ended with the run; nil: all did, or a parallel job
	Sizes      []SizeBand `json:"sizes"`                       // of equal numbers of flows, from the smallest on

	Collective *Collective `json:"collective,omitempty"`
}

// Collective has the figures of a collective operation.
type Collective struct {
	Operation          string      `json:"operation"`
	Algorithm          string      `json:"algorithm"`
	Bytes              int64       `json:"bytes"`
	Steps              int         `json:"steps"`
	Rounds             int         `json:"rounds"`     // that all ranks ended
	Round              Spread      `json:"round_s"`    // from when the first rank began until the last one ended
	LeastSeconds       Number      `json:"least_s"`    // a lower bound: the bytes that must follow one another on a link, without latencies
	AlgorithmBandwidth Number      `json:"algbw"`      // bytes per second, of the mean round
	BusBandwidth       Number      `json:"busbw"`      // the same, as nccl-tests define it
	Stragglers         []Straggler `json:"stragglers"` // the endpoints that ended a round last, the most frequent first
}

// Straggler is how often an endpoint was the last of a round.
type Straggler struct {
	Endpoint string `json:"endpoint"`
	Rounds   int    `json:"rounds"`
}

// collectiveOf returns the figures of the collective operation of a workload.
func collectiveOf(c *metrics.Collector, k int) *Collective {
	p := c.Fabric().Workloads()[k]
	if p.Collective == "" {
		return nil
	}
	op := p.Operation()
	out := &Collective{Operation: p.Collective, Algorithm: op.Chosen().String(), Bytes: int64(op.Size), Steps: op.Steps(),
		AlgorithmBandwidth: Missing(), BusBandwidth: Missing()}
	var times []float64
	last := map[int32]int{}
	for _, r := range c.Rounds(k) {
		times = append(times, r.Ended.Sub(r.Begun).Seconds())
		last[r.Last]++
	}
	out.Rounds, out.Round = len(times), spreadOf(times)
	frame := c.Fabric().Frame(&p.Flow)
	line := c.Fabric().Wires[c.Fabric().Nodes[p.Members[0]].Ports[0].Wire].Link.Rate
	payload := float64(line) * float64(p.Packet) / float64(c.Fabric().Framing().Length(&frame))
	out.LeastSeconds = Number(op.LeastTime(unit.Rate(payload)).Seconds())
	if mean := float64(out.Round.Mean); len(times) > 0 && op.Size > 0 {
		out.AlgorithmBandwidth = Number(float64(op.Size) / mean)
		out.BusBandwidth = Number(float64(op.Size) / mean * op.BusFactor())
	}
	for m, n := range last {
		out.Stragglers = append(out.Stragglers, Straggler{c.Fabric().Nodes[m].Name, n})
	}
	slices.SortFunc(out.Stragglers, func(a, b Straggler) int {
		return cmp.Or(cmp.Compare(b.Rounds, a.Rounds), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return out
}

// Spread is figures of many values. A percentile that they do not support is missing
// (metrics.Supports).
type Spread struct {
	Mean Number `json:"mean"`
	P50  Number `json:"p50"`
	P95  Number `json:"p95"`
	P99  Number `json:"p99"`
	P999 Number `json:"p999"`
	Max  Number `json:"max"`
}

// SizeBand is the slowdown of transfers of neighbouring sizes.
type SizeBand struct {
	Transfers int    `json:"transfers"`
	From      int64  `json:"from"` // bytes of payload of the smallest
	To        int64  `json:"to"`   // and of the largest
	P50       Number `json:"p50"`
	P95       Number `json:"p95"`
	P99       Number `json:"p99"`
}

// The most bands of sizes that a workload has, and the transfers that each should have: for p99, or
// else for p95.
const (
	bands    = 20
	bandFull = 100
	bandPart = 20
)

// Bands returns the number of bands of sizes into which n flows are divided: at least two with a
// p99, or more without it.
func Bands(n int) int {
	each := bandFull
	if n < 2*bandFull {
		each = bandPart
	}
	return min(max(n/each, 1), bands, n)
}

// spreadOf returns the figures of values, by nearest rank. It sorts them.
func spreadOf(values []float64) Spread {
	slices.Sort(values)
	at := func(share float64) Number {
		if share < 1 && !metrics.Supports(len(values), share) {
			return Missing()
		}
		return Number(metrics.Rank(values, share))
	}
	return Spread{Number(unit.Mean(values)), at(0.5), at(0.95), at(0.99), at(0.999), at(1)}
}

func workloadsOf(c *metrics.Collector) (all []Workload) {
	for k := range c.Scenario().Workloads {
		of := &c.Scenario().Workloads[k]
		w := Workload{Name: of.Name, Pattern: of.Pattern.String(), Endpoints: len(of.Members()), Waiting: c.WaitingTransfers(k),
			FromPs: int64(c.CountsFrom(k))}
		w.Collective = collectiveOf(c, k)
		for d := range c.Counted(k) {
			w.Transfers++
			w.Bytes += d.Bytes
			if d.Missing > 0 {
				w.Lost++
			}
		}
		open := slices.DeleteFunc(c.OpenTransfers(k), func(d metrics.Done) bool { return int64(d.Arrived) < w.FromPs })
		w.Open = len(open)
		w.Completion, w.Slowdown, w.Sizes = Transfers(c.Counted(k), w.Transfers-w.Lost)
		if w.Open > 0 && !of.Ranked() {
			all := wholeOf(c.Counted(k), w.Transfers, (*metrics.Done).Slowdown)
			for _, d := range open {
				d.Ended = c.End()
				all = append(all, d.Slowdown())
			}
			least := spreadOf(all)
			w.AtLeast = &least
		}
		all = append(all, w)
	}
	return all
}

// Transfers returns the figures of the flows that have ended completely, about n of them: the times
// that they took, in seconds, their slowdown, and that by size.
func Transfers(ended iter.Seq[*metrics.Done], n int) (completion, slowdown Spread, sizes []SizeBand) {
	return spreadOf(wholeOf(ended, n, func(d *metrics.Done) float64 { return d.Ended.Sub(d.Arrived).Seconds() })),
		spreadOf(wholeOf(ended, n, (*metrics.Done).Slowdown)),
		bandsOf(wholeOf(ended, n, func(d *metrics.Done) sized { return sized{d.Bytes, d.Slowdown()} }))
}

// wholeOf returns a figure of each of the transfers that have ended whole. One figure at a time is
// in memory.
func wholeOf[T any](ended iter.Seq[*metrics.Done], n int, of func(*metrics.Done) T) []T {
	all := make([]T, 0, n)
	for d := range ended {
		if d.Missing == 0 {
			all = append(all, of(d))
		}
	}
	return all
}

// sized is the slowdown of a transfer of a size.
type sized struct {
	bytes    int64
	slowdown float64
}

// bandsOf divides transfers by size. It changes their order.
func bandsOf(all []sized) []SizeBand {
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(a.bytes, b.bytes) })
	out := []SizeBand{}
	n := Bands(len(all))
	for k := range n {
		part := all[k*len(all)/n : (k+1)*len(all)/n]
		var slowdowns []float64
		for _, d := range part {
			slowdowns = append(slowdowns, d.slowdown)
		}
		s := spreadOf(slowdowns)
		out = append(out, SizeBand{len(part), part[0].bytes, part[len(part)-1].bytes, s.P50, s.P95, s.P99})
	}
	return out
}

// The table of all flows of workloads, and its name where it is long.
const (
	TransfersFile     = "transfers.csv"
	LongTransfersFile = "transfers.csv.gz"
	longTransfers     = 100_000 // rows
)

// transfersFile returns the name of the table of a run; empty if it has no workload.
func transfersFile(r *Result) string {
	n := 0
	for i := range r.Workloads {
		n += r.Workloads[i].Transfers + r.Workloads[i].Open
	}
	switch {
	case len(r.Workloads) == 0:
		return ""
	case n > longTransfers:
		return LongTransfersFile
	}
	return TransfersFile
}

// writeTransfers writes the table of all flows of workloads, a row each: first those that have
// ended, in the order in which they did. Times are in picoseconds of model time. A transfer that
// has not ended has no end and no slowdown.
func writeTransfers(w io.Writer, name string, c *metrics.Collector) error {
	end := func() error { return nil }
	if strings.HasSuffix(name, ".gz") {
		z := gzip.NewWriter(w)
		w, end = z, z.Close
	}
	out := bufio.NewWriterSize(w, 1<<16) // it keeps its first error
	f := c.Fabric()
	fmt.Fprintln(out, "workload,from,to,bytes,arrived_ps,ended_ps,alone_ps,slowdown,packets_again,packets_missing,priority")
	for k := range c.Scenario().Workloads {
		w := &c.Scenario().Workloads[k]
		row := func(d *metrics.Done) {
			end, slowdown := "", ""
			if d.Ended != unit.Never {
				end, slowdown = fmt.Sprint(int64(d.Ended)), Significant(d.Slowdown(), 6)
			}
			fmt.Fprintf(out, "%s,%s,%s,%d,%d,%s,%d,%s,%d,%d,%d\n", w.Name, f.Nodes[d.Src].Name, f.Nodes[d.Dst].Name,
				d.Bytes, int64(d.Arrived), end, int64(d.Ideal), slowdown, d.Again, d.Missing, w.Priority)
		}
		for d := range c.Ended(k) {
			row(d)
		}
		for _, d := range c.OpenTransfers(k) {
			row(&d)
		}
	}
	return cmp.Or(out.Flush(), end())
}
