package bench

import (
	"fmt"
	"slices"
	"strings"

	"fabemu/wire/unit"
)

// Case is a situation for rate limiters: the rates that feedback sets, the times with a packet, and the
// punctuality of the caller.
type Case struct {
	Name string // such as "steady/1Gbps"
	Doc  string // its purpose, in one sentence

	Line     unit.Rate     // rate of the line, with which limiters are made
	Duration unit.Duration // of model time
	Rates    []Step        // rates that are set, in the order of time; the first may be at 0
	Sizes    []unit.Size   // sizes of the packets, in turn; none: 1500 B
	Unknown  bool          // Next gets the longest of Sizes, and Sent the real size
	Idle     []Span        // when there is no packet; else there is always one
	Held     []Span        // when the line lets nothing start, as when it is paused
	Late     unit.Duration // the caller comes up to this late, and asks for the instant of the last answer
	Limiters int           // how many limiters share the line; 0: one
	Seed     uint64        // for the random lateness of the caller
}

// Step is a rate that is set at an instant.
type Step struct {
	At   unit.Time
	Rate unit.Rate
}

// Span is the time from one instant to another.
type Span struct{ From, To unit.Time }

// Through returns how many bytes the rates let through between two instants, outside idle spans.
func (c *Case) Through(from, to unit.Time) float64 {
	bytes := 0.0
	for i, s := range c.Rates {
		if s.At >= to {
			break
		}
		begin, end := max(s.At, from), to
		if i+1 < len(c.Rates) {
			end = min(end, c.Rates[i+1].At)
		}
		span := end.Sub(begin)
		for _, idle := range c.Idle {
			span -= max(0, min(end, idle.To).Sub(max(begin, idle.From)))
		}
		bytes += s.Rate.BytesPerSecond() * max(0, span).Seconds()
	}
	return bytes
}

// longest returns the length of the longest packet.
func (c *Case) longest() unit.Size {
	if c.Sizes == nil {
		return defaultSize
	}
	return slices.Max(c.Sizes)
}

const defaultSize = 1500 * unit.Byte

// Units of the instants in the cases below.
const (
	us = unit.Time(unit.Microsecond)
	ms = unit.Time(unit.Millisecond)
	s  = unit.Time(unit.Second)
)

const (
	mbps unit.Rate = 1e6
	gbps unit.Rate = 1e9
)

// Cases returns the cases for rate limiters on the virtual clock.
func Cases() []Case {
	var all []Case
	add := func(c Case) { all = append(all, c) }
	for _, r := range []unit.Rate{mbps, 10 * mbps, 100 * mbps, gbps, 9 * gbps, 10 * gbps} {
		add(Case{
			Name: "steady/" + word(r), Doc: "a rate that stays, and always a packet",
			Line: 10 * gbps, Duration: 40_000 * r.Serialise(defaultSize), Rates: []Step{{0, r}},
		})
	}
	for _, sizes := range [][]unit.Size{{20}, {64}, {4096}, {20, 1500}, {1500, 20, 20, 700, 64, 9000}} {
		add(Case{
			Name: "sizes/" + strings.ReplaceAll(strings.Trim(fmt.Sprintf("%d", sizes), "[]"), " ", "+"), Doc: "packets of these sizes in turn, in bytes on the line",
			Line: 10 * gbps, Duration: 20 * unit.Millisecond, Rates: []Step{{0, 3 * gbps}}, Sizes: sizes,
		})
	}
	add(Case{
		Name: "sizes/unknown", Doc: "the limiter is asked for the longest packet, and a shorter one starts",
		Line: 10 * gbps, Duration: 20 * unit.Millisecond, Rates: []Step{{0, 3 * gbps}},
		Sizes: []unit.Size{1500, 300, 64}, Unknown: true,
	})
	add(Case{
		Name: "step/up", Doc: "the rate rises while a packet waits for an instant of the lower one",
		Line: gbps, Duration: 200 * unit.Millisecond,
		Rates: []Step{{0, 10 * mbps}, {20*ms + 500*us, 100 * mbps}, {60*ms + 70*us, gbps}},
	})
	add(Case{
		Name: "step/up from almost nothing", Doc: "the rate rises from one packet in minutes",
		Line: gbps, Duration: 2 * unit.Second, Rates: []Step{{0, gbps}, {10*ms + 5*us, 100}, {s + 3*us, gbps}},
	})
	add(Case{
		Name: "step/down", Doc: "the rate falls while a packet waits",
		Line: gbps, Duration: 400 * unit.Millisecond,
		Rates: []Step{{0, gbps}, {20*ms + 5*us, 100 * mbps}, {60*ms + 70*us, 10 * mbps}},
	})
	add(Case{
		Name: "rate/zero", Doc: "the rate is 0 for a time: nothing starts, and then all goes on",
		Line: gbps, Duration: 300 * unit.Millisecond,
		Rates: []Step{{0, 100 * mbps}, {50*ms + 55*us, 0}, {200*ms + 55*us, 100 * mbps}},
	})
	add(Case{
		Name: "rate/tiny", Doc: "one bit per second for days, and then the line's rate",
		Line: gbps, Duration: 3*86400*unit.Second + 20*unit.Millisecond, Rates: []Step{{0, 1}, {3 * 86400 * s, gbps}},
	})
	add(Case{
		Name: "idle/then burst",
		Doc:  "nothing to send for a time, and then always a packet: the credit is the burst that the limiter promises",
		Line: gbps, Duration: 400 * unit.Millisecond, Rates: []Step{{0, 100 * mbps}},
		Idle: []Span{{50*ms + 31*us, 150 * ms}, {200*ms + 47*us, 300 * ms}},
	})
	add(Case{
		Name: "idle/for hours", Doc: "nothing to send for a day on a line of 400 Gb/s",
		Line: 400 * gbps, Duration: 86400*unit.Second + 2*unit.Millisecond,
		Rates: []Step{{0, 400 * gbps}, {86400*s + ms, 100 * gbps}},
		Idle:  []Span{{ms, 86400 * s}},
	})
	rests, end := longer(10*us, unit.Millisecond, 20*86400*unit.Second)
	add(Case{
		Name: "idle/longer and longer",
		Doc:  "nothing to send for a millisecond, and then for longer and longer, up to 20 days",
		Line: 400 * gbps, Duration: end.Sub(0), Idle: rests,
	})
	for _, f := range []struct {
		name, doc string
		mangle    func([]Step) []Step
	}{
		{"storm", "the rate changes many times within each packet", func(s []Step) []Step { return s }},
		{"repeated", "each feedback comes three times", func(s []Step) []Step {
			var out []Step
			for _, x := range s {
				out = append(out, x, Step{x.At + 1, x.Rate}, Step{x.At + 2*us, x.Rate})
			}
			return out
		}},
		{"out of order", "feedback overtakes feedback", func(s []Step) []Step {
			for i := 0; i+2 < len(s); i += 2 {
				s[i].Rate, s[i+1].Rate = s[i+1].Rate, s[i].Rate
			}
			return s
		}},
		{"lost", "two of three feedbacks are lost", func(s []Step) []Step {
			var out []Step
			for i, x := range s {
				if i%3 == 0 || i == len(s)-1 {
					out = append(out, x)
				}
			}
			return out
		}},
	} {
		add(Case{
			Name: "feedback/" + f.name, Doc: f.doc + "; then the last rate holds",
			Line: gbps, Duration: 200 * unit.Millisecond,
			Rates: f.mangle(storm(3, 20000, 5*unit.Microsecond, gbps, 50*mbps)),
		})
	}
	add(Case{
		Name: "late/caller", Doc: "the caller comes late by up to 10 ms, and shows it only with feedback",
		Line: gbps, Duration: 2 * unit.Second, Rates: storm(4, 100, 10*unit.Millisecond, 100*mbps, 50*mbps),
		Late: 10 * unit.Millisecond, Seed: 5,
	})
	add(Case{
		Name: "late/line", Doc: "the line is held for up to 10 ms when a packet may start",
		Line: gbps, Duration: 2 * unit.Second, Rates: []Step{{0, 100 * mbps}},
		Held: holds(6, 2*s, 30*unit.Millisecond, 10*unit.Millisecond),
	})
	add(Case{
		Name: "late/line and feedback",
		Doc:  "the rate changes while the line is held, after a packet may start and before it starts",
		Line: gbps, Duration: 2 * unit.Second, Rates: storm(8, 2000, 800*unit.Microsecond, 100*mbps, 50*mbps),
		Held: holds(6, 2*s, 30*unit.Millisecond, 10*unit.Millisecond),
	})
	add(Case{
		Name: "many/32", Doc: "32 of the kind share nine tenths of a line",
		Line: gbps, Duration: 500 * unit.Millisecond, Rates: []Step{{0, 900 * mbps / 32}}, Limiters: 32,
	})
	add(Case{
		Name: "hours/busy", Doc: "always a packet for four hours",
		Line: gbps, Duration: 4 * 3600 * unit.Second, Rates: []Step{{0, 777_777}},
	})
	return all
}

// storm returns n random rates up to most, in random distances around apart, and a last one that stays.
func storm(seed uint64, n int, apart unit.Duration, most, last unit.Rate) []Step {
	random := unit.NewRandom(seed, 0)
	steps := []Step{{0, most}}
	at := unit.Time(0)
	for range n {
		at = at.Add(1 + unit.Duration(random.Uint64()%uint64(2*apart)))
		steps = append(steps, Step{at, most/100 + unit.Rate(random.Uint64()%uint64(most-most/100))})
	}
	return append(steps, Step{at.Add(apart), last})
}

// holds returns random spans up to longest, in random distances around apart, until an end.
func holds(seed uint64, end unit.Time, apart, longest unit.Duration) []Span {
	random := unit.NewRandom(seed, 0)
	var spans []Span
	for at := unit.Time(0); ; {
		from := at.Add(1 + unit.Duration(random.Uint64()%uint64(2*apart)))
		to := from.Add(1 + unit.Duration(random.Uint64()%uint64(longest)))
		if at = to; to >= end {
			return spans
		}
		spans = append(spans, Span{from, to})
	}
}

// longer returns spans of growing length with a fixed time between them, and the end of the time after the
// last.
func longer(between unit.Time, shortest, longest unit.Duration) (spans []Span, end unit.Time) {
	at := between
	for d := shortest; d < longest; d += d / 3 {
		spans = append(spans, Span{at, at.Add(d)})
		at = at.Add(d) + between
	}
	return spans, at
}

// word returns a rate in the form of the names of cases: 100Mbps.
func word(r unit.Rate) string {
	if r >= gbps {
		return fmt.Sprintf("%dGbps", r/gbps)
	}
	return fmt.Sprintf("%dMbps", r/mbps)
}
