package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Transfer is a finite one that has ended: its last packet was delivered.
type Transfer struct {
	PSN     uint32    // of its last packet
	Arrived unit.Time // at the source
	Ended   unit.Time // at the destination
	Bytes   int64     // of payload
	Missing int64     // of its packets, those that were lost on the path; 0: it is whole
}

// Completion returns how long the transfer took, from its arrival at the source to the
// delivery of its last byte.
func (t *Transfer) Completion() unit.Duration { return t.Ended.Sub(t.Arrived) }

// lose notes that a packet was dropped on the path: one of the first transfer that ends
// with it or behind it.
func (f *life) lose(psn uint32) {
	const mask = 1<<24 - 1
	for i := range f.begun {
		if t := &f.begun[i]; (t.PSN-psn)&mask <= mask/2 {
			t.Missing++
			return
		}
	}
}

// end ends the transfer that e names. Those that began before it and have not ended have
// lost their last packet, and never will.
func (f *life) end(e *trace.Event) {
	for i := range f.begun {
		if t := f.begun[i]; t.PSN == e.PSN {
			// The destination counts the packets that are missing since the last transfer that
			// ended. Some of them may belong to a transfer that never will. If it counts none,
			// the dropped packets have come again.
			t.Ended, t.Missing = e.At, min(t.Missing, e.A)
			f.ended = append(f.ended, t)
			f.begun = append(f.begun[:0], f.begun[i+1:]...)
			return
		}
	}
}

// Transfers returns the transfers of the flow at an index of the fabric's flows that have
// ended, in the order in which they did. The caller must not change them.
func (c *Collector) Transfers(flow int) []Transfer { return c.lives[flow].ended }

// spread is the ends of the names of quantities that many transfers have.
var spread = func() (all []string) {
	for _, size := range []string{"", ".small", ".medium", ".large"} {
		for _, x := range statistics {
			all = append(all, x.name+size)
		}
	}
	return all
}()

// sized reports whether a transfer has a size that the end of the figure names; without one any
// has.
func (t taken) sized(bytes int64) bool {
	switch _, size, _ := strings.Cut(t.end, "."); size {
	case "small":
		return bytes <= 100e3
	case "medium":
		return bytes > 100e3 && bytes <= 10e6
	case "large":
		return bytes > 10e6
	}
	return true
}

// done returns a figure of each transfer of a workload that ended whole within the time.
func (t taken) done(figure func(*Done) float64) (all []float64) {
	for d := range t.c.Counted(t.object.work - 1) {
		if d.Ended >= t.from && d.Ended < t.to && d.Missing == 0 && t.sized(d.Bytes) {
			all = append(all, figure(d))
		}
	}
	return all
}

// completions returns how long the transfers took that ended whole, in seconds.
func (t taken) completions() (all []float64) {
	if t.object.work > 0 {
		return t.done(func(d *Done) float64 { return d.Ended.Sub(d.Arrived).Seconds() })
	}
	for _, i := range t.object.flows {
		from := unit.Time(0)
		if f := t.c.fabric.Flows[i].Flow; f.WarmUp > 0 {
			from = unit.Time(f.Start + f.WarmUp)
		}
		for _, x := range t.c.lives[i].ended {
			if x.Arrived >= from && x.Ended >= t.from && x.Ended < t.to && x.Missing == 0 && t.sized(x.Bytes) {
				all = append(all, x.Completion().Seconds())
			}
		}
	}
	return all
}

// slowdowns returns the slowdown of the transfers of a workload that ended whole.
func (t taken) slowdowns() []float64 {
	if t.object.work == 0 {
		return nil
	}
	return t.done((*Done).Slowdown)
}

// ofWork is a figure of a workload, whose counters begin at first; undefined for flows.
func ofWork(of func(t taken, first int) float64) formula {
	return func(t taken) float64 {
		if t.object.work == 0 {
			return math.NaN()
		}
		return of(t, t.c.ofWorks+(t.object.work-1)*workColumns)
	}
}

// rounds returns how long the rounds of a collective operation took that ended within the time, in
// seconds.
func (t taken) rounds() (all []float64) {
	if t.object.work == 0 {
		return nil
	}
	for _, r := range t.c.Rounds(t.object.work - 1) {
		if r.Ended >= t.from && r.Ended < t.to {
			all = append(all, r.Ended.Sub(r.Begun).Seconds())
		}
	}
	return all
}

// algorithmBandwidth returns the size of the operation over the mean duration of those rounds, in
// bytes per second.
func (t taken) algorithmBandwidth() float64 {
	all, size := t.rounds(), t.c.works[t.object.work-1].workload.Operation().Size
	if slices.Sort(all); len(all) == 0 || size == 0 {
		return math.NaN()
	}
	return float64(size) / unit.Mean(all)
}

// busBandwidth returns their bus bandwidth, in bytes per second.
func (t taken) busBandwidth() float64 {
	if t.object.work == 0 || t.c.works[t.object.work-1].workload.Collective == "" {
		return math.NaN()
	}
	return t.algorithmBandwidth() * t.c.works[t.object.work-1].workload.Operation().BusFactor()
}

// Rank returns the value that a share of sorted values does not exceed, the nearest rank, or NaN if
// there are none.
func Rank(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}

// Supports reports whether n values support the percentile of a share: so many that one may lie
// above it. p95 needs 20 of them, p99 100, and p99.9 1,000. The median is of any number, and so is
// the greatest, which is no percentile.
func Supports(n int, share float64) bool {
	return share <= 0.5 || share == 1 || float64(n)*(1-share) > 1-1e-9
}

// Values returns how many values the metric is of over from <= t < to: transfers that ended, or
// rounds; of a quotient the smaller number. It is 0 for a figure that is not of many values.
func (m Metric) Values(c *Collector, from, to unit.Time) int { return m.values(c.between(from, to)) }

// ValuesOverRun returns the same for OverRun.
func (m Metric) ValuesOverRun(c *Collector) int { return m.values(c.usual) }

func (m Metric) values(of span) (least int) {
	for _, f := range []*term{&m.figure, m.over} {
		if f == nil || f.row == nil || f.row.values == nil { // nil: of a program
			continue
		}
		if t, ok := of(f); ok {
			if n := len(f.row.values(t)); least == 0 || n < least {
				least = n
			}
		}
	}
	return least
}

// thin says how many values a percentile is of, if they do not support it; else it is empty.
func (f *term) thin(of span) string {
	t, ok := of(f)
	if !ok || f.row.values == nil {
		return ""
	}
	n, share := len(f.row.values(t)), f.quantile()
	if n == 0 || Supports(n, share) {
		return ""
	}
	return fmt.Sprintf("%s is of %d values, and needs %.0f", f.name(), n, 1/(1-share))
}

// quantile is the share of the values that a figure of many is not below, by the end of its name; 0
// of the mean.
func (f *term) quantile() float64 {
	word, _, _ := strings.Cut(f.end, ".")
	for _, x := range statistics {
		if x.name == word {
			return x.share
		}
	}
	return 0
}

// statistic is the name of the parts of a figure of many values.
const statistic = "statistic"

// statistics are these parts, and the share of the values that each of them is not below; the mean
// has none.
var statistics = []struct {
	name  string
	share float64
}{{"mean", 0}, {"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}}

// Spread passes on the mean of values, percentiles by nearest rank, and the greatest: not a number
// where there is none, or the values do not support it (Supports). It sorts them.
func Spread(values []float64, part PartFunc) {
	slices.Sort(values)
	for _, x := range statistics {
		v := math.NaN()
		switch {
		case x.share == 0:
			v = unit.Mean(values)
		case Supports(len(values), x.share):
			v = Rank(values, x.share)
		}
		part(x.name, v)
	}
}

// spreadParts is the Spread of values over the run.
func spreadParts(of func(taken) []float64) func(At, PartFunc) {
	return func(x At, part PartFunc) { Spread(of(x.all()), part) }
}

// spreadOf is the mean of the figures of transfers, their greatest, or one that a share of them
// does not exceed, by the end of the name; not a number where there are none, or too few
// (Supports).
func spreadOf(of func(taken) []float64) formula {
	return func(t taken) float64 {
		all, share := of(t), t.quantile()
		switch slices.Sort(all); {
		case share == 0:
			return unit.Mean(all)
		case !Supports(len(all), share):
			return math.NaN()
		}
		return Rank(all, share)
	}
}
