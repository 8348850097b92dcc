package bench_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// design is a limiter of the matrix.
type design struct {
	name  string
	new   bench.New
	fresh func() bench.New // makes new for each case
}

func kept(r unit.Rate) keeper { return keeper{rate: r} }

// planted have one fault each.
func planted() []design {
	wrong := func(depth unit.Size, plant func(*pail)) bench.New {
		return func(r unit.Rate) node.RateLimiter { l := newPail(depth)(r); plant(l); return l }
	}
	bucket := func(r unit.Rate) node.TokenBucket { return *node.NewTokenBucket(r, 4500) }
	return []design{
		{name: "lets everything start", new: func(unit.Rate) node.RateLimiter { return free{} }},
		{name: "is empty after a rest", new: func(r unit.Rate) node.RateLimiter { return &forgetful{TokenBucket: bucket(r)} }},
		{name: "has a tenth of its burst after a rest", new: wrong(3000, func(l *pail) { l.promise = 30000 })},
		{name: "counts each packet twice", new: func(r unit.Rate) node.RateLimiter { return &double{kept(r)} }},
		{name: "rounds delays down to nanoseconds", new: func(r unit.Rate) node.RateLimiter { return &nanoseconds{kept(r)} }},
		{name: "rounds delays down to microseconds", new: func(r unit.Rate) node.RateLimiter { return &grained{kept(r), unit.Microsecond, false} }},
		{name: "rounds delays up to microseconds", new: func(r unit.Rate) node.RateLimiter { return &grained{kept(r), unit.Microsecond, true} }},
		{name: "gives whole milliseconds", new: func(r unit.Rate) node.RateLimiter { return &milliseconds{kept(r)} }},
		{name: "adds whole microseconds, makes up for rests", new: func(r unit.Rate) node.RateLimiter { return &drifting{rate: r} }},
		{name: "no delay below a microsecond", new: func(r unit.Rate) node.RateLimiter {
			return &changed{keeper: kept(r), delays: func(d unit.Duration) unit.Duration { return max(d, unit.Microsecond) }}
		}},
		{name: "delay in 32 bits of nanoseconds", new: func(r unit.Rate) node.RateLimiter {
			return &changed{keeper: kept(r), delays: func(d unit.Duration) unit.Duration {
				return unit.Duration(uint32(d/unit.Nanosecond))*unit.Nanosecond + d%unit.Nanosecond
			}}
		}},
		{name: "rate in 32 bits", new: func(r unit.Rate) node.RateLimiter {
			return &changed{keeper: kept(r), rates: func(r unit.Rate) unit.Rate { return unit.Rate(uint32(r)) }}
		}},
		{name: "rate in whole Mb/s", new: func(r unit.Rate) node.RateLimiter {
			return &changed{keeper: kept(r), rates: func(r unit.Rate) unit.Rate { return r / 1e6 * 1e6 }}
		}},
		{name: "time in 32-bit floating point", new: func(r unit.Rate) node.RateLimiter { return &single{keeper: kept(r)} }},
		{name: "bits times nanoseconds overflow", new: func(r unit.Rate) node.RateLimiter { return &narrow{rate: int64(r), level: 4500 * 8e9} }},
		{name: "counts bits in 32 bits", new: func(r unit.Rate) node.RateLimiter { return &counting{keeper: kept(r)} }},
		{name: "applies a rate to the next packet", new: func(r unit.Rate) node.RateLimiter { return &stubborn{keeper: kept(r)} }},
		{name: "keeps its delay for a length", new: func(r unit.Rate) node.RateLimiter { return &caching{keeper: kept(r)} }},
		{name: "takes over lower rates only", new: func(r unit.Rate) node.RateLimiter { return &falling{keeper: kept(r)} }},
		{name: "computes the delay before the start", new: func(r unit.Rate) node.RateLimiter { return &early{keeper: kept(r)} }},
		{name: "begins its delay again with each rate", new: func(r unit.Rate) node.RateLimiter { return &restarting{kept(r)} }},
		{name: "a new rate lets a packet start", new: func(r unit.Rate) node.RateLimiter { return &first{keeper: kept(r)} }},
		{name: "is full after each rate", new: wrong(4500, func(l *pail) { l.refills = true })},
		{name: "is empty after each rate", new: wrong(4500, func(l *pail) { l.empties = true })},
		{name: "is full when the same rate is set again", new: wrong(4500, func(l *pail) { l.repeats = true })},
		{name: "credit kept as time", new: wrong(4500, func(l *pail) { l.rescales = true })},
		{name: "makes up for late starts", new: func(r unit.Rate) node.RateLimiter { return &hasty{keeper: kept(r)} }},
		{name: "no limit to the credit", new: wrong(3000, func(l *pail) { l.uncapped = true })},
		{name: "a limit of 1 GB to the credit", new: func(r unit.Rate) node.RateLimiter { return &hoarder{*node.NewTokenBucket(r, unit.GB)} }},
		{name: "no stamp while it is full", new: wrong(3000, func(l *pail) { l.frozen = true })},
		{name: "a packet more after a rest", new: func(r unit.Rate) node.RateLimiter { l := newGCRA(3000, 3000)(r); l.fresh = 1; return l }},
		{name: "a refusal consumes credit", new: wrong(3000, func(l *pail) { l.refused = 1 })},
		{name: "a refusal of a large packet consumes credit", new: wrong(3000, func(l *pail) { l.refused = 1501 })},
		{name: "forgets parts of 64 bytes", new: func(r unit.Rate) node.RateLimiter { return &cells{rate: r, level: 48, deep: 48} }},
		{name: "waits until all of the burst is back", new: func(r unit.Rate) node.RateLimiter { l := newGCRA(13500, 15000)(r); l.late = true; return l }},
		{name: "counts 18 bytes too few", new: func(r unit.Rate) node.RateLimiter { return &beheaded{kept(r)} }},
		{name: "counts 64 bytes at least", new: func(r unit.Rate) node.RateLimiter {
			return &changed{keeper: kept(r), sizes: func(n unit.Size) unit.Size { return max(n, 64) }}
		}},
		{name: "counts 1500 bytes at most", new: func(r unit.Rate) node.RateLimiter {
			return &changed{keeper: kept(r), sizes: func(n unit.Size) unit.Size { return min(n, 1500) }}
		}},
		{name: "never lets a packet beyond its depth start", new: wrong(3000, func(l *pail) { l.refusesLarge = true })},
		{name: "counts the length that it was asked for", new: func(r unit.Rate) node.RateLimiter { return &askedFor{keeper: kept(r)} }},
		{name: "counts a packet when asked", new: func(r unit.Rate) node.RateLimiter { return &eager{kept(r)} }},
		{name: "lets everything start at rate 0", new: wrong(3000, func(l *pail) { l.zero = true })},
		{name: "stops for good at rate 0", new: func(r unit.Rate) node.RateLimiter { return &dead{keeper: kept(r)} }},
		{name: "divides by rate 0", new: func(r unit.Rate) node.RateLimiter { return &dividing{kept(r)} }},
		{name: "gives instants that are over", new: func(r unit.Rate) node.RateLimiter { return &past{kept(r)} }},
		{name: "puts off for ever", new: func(unit.Rate) node.RateLimiter { return putOff{} }},
		{name: "favours every other limiter", fresh: favouring},
		{name: "all limiters are one", fresh: sharing},
	}
}

// unusual are right.
func unusual() []design {
	deep := func(depth unit.Size) bench.New {
		return func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, depth) }
	}
	pails := func(depth unit.Size, change func(*pail, unit.Rate)) bench.New {
		return func(r unit.Rate) node.RateLimiter { l := newPail(depth)(r); change(l, r); return l }
	}
	return []design{
		{name: "a delay between packets", new: func(r unit.Rate) node.RateLimiter { return &keeper{rate: r} }},
		{name: "a token bucket of a packet", new: deep(1500)},
		{name: "a token bucket of a jumbo packet", new: deep(9000)},
		{name: "a token bucket of 100 kB", new: deep(100_000)},
		{name: "GCRA, nine packets ahead", new: func(r unit.Rate) node.RateLimiter { return newGCRA(13500, 22500)(r) }},
		{name: "GCRA, nothing ahead", new: func(r unit.Rate) node.RateLimiter { return newGCRA(0, 0)(r) }},
		{name: "a leaky bucket as a queue", new: func(r unit.Rate) node.RateLimiter { return &queueing{due: of(0), rate: r} }},
		{name: "a timing wheel, slots of 1 us", new: func(r unit.Rate) node.RateLimiter {
			return &wheel{schedule: keeperOnSchedule{rate: r}, slot: unit.Microsecond, line: r}
		}},
		{name: "an empty bucket in the beginning", new: pails(4500, func(l *pail, _ unit.Rate) { l.level.SetInt64(0) })},
		{name: "depth in proportion to the rate", new: pails(0, func(l *pail, line unit.Rate) {
			l.full = func(r unit.Rate) unit.Size { return max(1500, unit.Size(r.BytesPerSecond()*300e-6)) }
			l.depth, l.promise = of(l.full(line)), max(9000, l.full(line))
			l.level.Set(l.depth)
		})},
		{name: "a clock of 10 us within its promise", new: pails(0, func(l *pail, line unit.Rate) {
			l.grain = 10 * unit.Microsecond
			tick := unit.Size(line.BytesPerSecond() * 10e-6)
			l.depth, l.promise = of(9000+tick), 9000+2*tick
			l.level.Set(l.depth)
		})},
		{name: "filled each 10 us, 30 us of the rate deep", new: pails(0, func(l *pail, line unit.Rate) {
			l.grain = 10 * unit.Microsecond
			l.full = func(r unit.Rate) unit.Size { return max(12000, unit.Size(r.BytesPerSecond()*30e-6)) }
			l.depth = of(l.full(line))
			l.promise = l.full(line) + unit.Size(line.BytesPerSecond()*10e-6) + 1
			l.level.Set(l.depth)
		})},
		{name: "floating point, rounded up to nanoseconds", new: func(r unit.Rate) node.RateLimiter {
			return &floats{rate: float64(r), level: 4500, depth: 4500}
		}},
		{name: "nanoseconds, the rest carried on", new: func(r unit.Rate) node.RateLimiter { return &carrying{rate: r} }},
		{name: "two buckets, the mean and twice the rate", new: func(r unit.Rate) node.RateLimiter {
			return &two{newPail(15000)(r), newPail(3000)(2 * r)}
		}},
	}
}

// free lets everything start.
type free struct{}

func (free) Next(now unit.Time, _ unit.Size) unit.Time { return now }
func (free) Sent(unit.Time, unit.Size)                 {}
func (free) SetRate(unit.Time, unit.Rate)              {}

// Each planted bug is found by a case, and no right design is blamed by any. A case that finds only
// bugs that other cases find too is not worth its time: each case has its own bug, except two that
// are there for their figures. The matrix is in testdata.
func TestFiguresOfTheMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	cases := bench.Cases()
	bugs := planted()
	found := make([][]*bench.Report, len(bugs))
	t.Run("bugs", func(t *testing.T) {
		for i, b := range bugs {
			found[i] = make([]*bench.Report, len(cases))
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				for k, c := range cases {
					new := b.new
					if b.fresh != nil {
						new = b.fresh()
					}
					found[i][k] = bench.Measure(new, c, nil)
				}
			})
		}
	})
	t.Run("right", func(t *testing.T) {
		for _, d := range unusual() {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				for _, c := range cases {
					r := bench.Measure(d.new, c, nil)
					if len(r.Faults) > 0 {
						t.Errorf("%s: %v", c.Name, r.Faults)
					}
					if r.Starts == 0 {
						t.Errorf("%s: nothing has started", c.Name)
					}
				}
			})
		}
	})
	var b strings.Builder
	alone := map[string]string{}
	for k, c := range cases {
		fmt.Fprintf(&b, "%2d %s\n", k+1, c.Name)
	}
	fmt.Fprintf(&b, "\n%-44s", "")
	for k := range cases {
		fmt.Fprintf(&b, "%3d", k+1)
	}
	b.WriteString("  criteria\n")
	for i, bug := range bugs {
		fmt.Fprintf(&b, "%-44s", bug.name)
		var by, criteria []string
		for k, c := range cases {
			mark := "."
			if faults := found[i][k].Faults; len(faults) > 0 {
				mark = "x"
				by = append(by, c.Name)
				for _, f := range faults {
					if !slices.Contains(criteria, string(f.Criterion)) {
						criteria = append(criteria, string(f.Criterion))
					}
				}
			}
			fmt.Fprintf(&b, "%3s", mark)
		}
		slices.Sort(criteria)
		fmt.Fprintf(&b, "  %s\n", strings.Join(criteria, ", "))
		switch len(by) {
		case 0:
			t.Errorf("no case finds the limiter that %s", bug.name)
		case 1:
			alone[by[0]] = bug.name
		}
	}
	for _, c := range cases {
		if alone[c.Name] == "" && c.Name != "steady/700Mbps" && c.Name != "step/up" {
			t.Errorf("%s finds no bug that no other case finds", c.Name)
		}
	}
	t.Logf("\n%s", &b)
	golden.File(t, filepath.Join("testdata", "matrix.txt"), []byte(b.String()))
}
