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
	Name            string     `json:"name"`
	Pattern         string     `json:"pattern"`
	Endpoints       int        `json:"endpoints"`
	Transfers       int        `json:"transfers"`         // that ended
	Open            int        `json:"open"`              // that did not
	Waiting         int64      `json:"waiting,omitempty"` // further ones, which waited for a source at the end
	Bytes           int64      `json:"bytes"`             // of payload, of flows that ended
	Lost            int        `json:"lost"`              // flows that ended with packets missing; they are in no figure
	Drops           int64      `json:"drops,omitempty"`   // of their frames
	Retransmissions int64      `json:"retransmissions,omitempty"`
	FromPs          int64      `json:"from_ps,omitempty"` // arrivals before, in the warm-up, do not count: they are in no figure
	Completion      Spread     `json:"completion_s"`
	Slowdown        Spread     `json:"slowdown"`
	AtLeast         *Spread    `json:"slowdown_at_least,omitempty"` // with those that did not end, as if they had ended with the run; nil: all did, or a parallel job
	Sizes           []SizeBand `json:"sizes"`                       // of equal numbers of flows, from the smallest on

	OutOfOrder         int64  `json:"out_of_order,omitempty"`          // packets ahead of their turn, where the receiver accepts them
	OutOfOrderDistance int64  `json:"out_of_order_distance,omitempty"` // of them the farthest, in packets
	ReorderBuffer      Number `json:"reorder_buffer_s,omitempty"`      // their mean time there
	ReorderBufferMax   Number `json:"reorder_buffer_max_s,omitempty"`

	Collective *Collective `json:"collective,omitempty"`

	Figures map[string]Number `json:"figures,omitempty"` // as in Flow
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

	Figures map[string]Number `json:"figures,omitempty"` // as in Flow
}

// Straggler is how often an endpoint was the last of a round.
type Straggler struct {
	Endpoint string `json:"endpoint"`
	Rounds   int    `json:"rounds"`
}

// collectiveOf returns the figures of the collective operation of a workload; nil: it has none.
func collectiveOf(v *metrics.View, k int) *Collective {
	p := v.Fabric().Workloads()[k]
	if p.Collective == "" {
		return nil
	}
	op := p.Operation()
	out := &Collective{Operation: p.Collective, Algorithm: op.Chosen().String(), Bytes: int64(op.Size), Steps: op.Steps()}
	fill(out, metrics.At{View: v, Of: metrics.Collective, Work: k})
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

// set sets the part of a spread, a word of metrics.Spread.
func (s *Spread) set(part string, v float64) { *s.part(part) = Number(v) }

func (s *Spread) part(name string) *Number {
	return map[string]*Number{"mean": &s.Mean, "p50": &s.P50, "p95": &s.P95, "p99": &s.P99, "p999": &s.P999, "max": &s.Max}[name]
}

// each passes on the parts.
func (s *Spread) each(part func(string, Number)) {
	metrics.Spread(nil, func(name string, _ float64) { part(name, *s.part(name)) })
}

func workloadsOf(v *metrics.View) (all []Workload) {
	for x := range v.Objects(metrics.Workload) {
		of := v.Fabric().Workloads()[x.Work]
		w := Workload{Name: of.Name, Pattern: of.Pattern.String(), Endpoints: len(of.Members), FromPs: int64(v.CountsFrom(x.Work)),
			Collective: collectiveOf(v, x.Work), Sizes: Sizes(v.Counted(x.Work))}
		fill(&w, x)
		all = append(all, w)
	}
	return all
}

// Sizes returns the slowdown by size of flows that have ended, of those that ended completely.
func Sizes(ended iter.Seq[*metrics.Done]) []SizeBand {
	var all []sized
	for d := range ended {
		if d.Missing == 0 {
			all = append(all, sized{d.Bytes, d.Slowdown()})
		}
	}
	return bandsOf(all)
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
		var s Spread
		metrics.Spread(slowdowns, s.set)
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
