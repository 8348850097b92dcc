package bench

import (
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// Case is a situation for rate limiters: the rates that feedback sets, the times with a packet, and
// the times at which the link is held.
type Case struct {
	Name string // such as "steady/700Mbps"
	Doc  string // its purpose, in one sentence

	Line     unit.Rate     // rate of the link, with which limiters are made
	Duration unit.Duration // of model time
	Rates    []Step        // rates that are set, in the order of time; the first may be at 0
	Sizes    []unit.Size   // sizes of the packets, in turn; none: 1500 B
	Unknown  bool          // Next gets the longest of Sizes, and Sent the real size
	Idle     []Span        // when there is no packet; else there is always one
	Held     []Span        // when the line lets nothing start, as when it is paused
	Again    int           // half of the packets are asked for this many times more before their instant, and once more before they start
	Limiters int           // how many limiters share the line; 0: one
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

// Longest returns the length of the longest packet.
func (c *Case) Longest() unit.Size {
	if c.Sizes == nil {
		return defaultSize
	}
	return slices.Max(c.Sizes)
}

const defaultSize = 1500 * unit.Byte

const (
	uneven = 2_300_000_003 * unit.BitPerSecond // at which no gap is a whole nanosecond
	again  = 2                                 // questions between an answer and its instant
)

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

// Cases returns the cases for rate limiters on the virtual clock. Each finds a bug that no other
// case finds; the matrix in testdata has the bugs. Two cases are there for their figures:
// steady/700Mbps and step/up.
func Cases() []Case {
	steady := func(r unit.Rate) Case {
		return Case{
			Name: "steady/" + word(r), Doc: "a rate that stays, and always a packet",
			Line: 40 * gbps, Duration: 40_000 * r.Serialise(defaultSize), Rates: []Step{{0, r}}, Again: again,
		}
	}
	rests, end := longer(10*us, unit.Millisecond, 20*86400*unit.Second)
	return []Case{
		steady(700 * mbps), steady(37 * gbps),
		{
			Name: "sizes/1500+20+20+700+64+9000", Doc: "packets of these sizes in turn, in bytes on the link",
			Line: 10 * gbps, Duration: 20 * unit.Millisecond, Rates: []Step{{0, uneven}},
			Sizes: []unit.Size{1500, 20, 20, 700, 64, 9000}, Again: again,
		},
		{
			Name: "sizes/unknown", Doc: "the limiter is asked for the longest packet, and a shorter one starts",
			Line: 10 * gbps, Duration: 20 * unit.Millisecond, Rates: []Step{{0, uneven}},
			Sizes: []unit.Size{1500, 300, 64}, Unknown: true, Again: again,
		},
		{
			Name: "step/up", Doc: "the rate rises while a packet waits for an instant of the lower one",
			Line: gbps, Duration: 200 * unit.Millisecond,
			Rates: []Step{{0, 10 * mbps}, {20*ms + 500*us, 100 * mbps}, {60*ms + 70*us, gbps}},
		},
		{
			Name: "rate/zero", Doc: "the rate is 0 for a time: nothing starts, and then everything continues",
			Line: gbps, Duration: 300 * unit.Millisecond,
			Rates: []Step{{0, 100 * mbps}, {50*ms + 55*us, 0}, {200*ms + 55*us, 100 * mbps}},
		},
		{
			Name: "rate/tiny", Doc: "one bit per second for days, and then the link rate",
			Line: gbps, Duration: 3*86400*unit.Second + 20*unit.Millisecond, Rates: []Step{{0, 1}, {3 * 86400 * s, gbps}},
		},
		{
			Name: "idle/then burst",
			Doc:  "nothing to send for a time, and then always a packet: no more starts at once than the limiter promises, and not much less",
			Line: gbps, Duration: 400 * unit.Millisecond, Rates: []Step{{0, 430 * mbps}}, Again: again,
			Idle: []Span{{50*ms + 31*us, 150 * ms}, {200*ms + 47*us, 300 * ms}},
		},
		{
			Name: "idle/longer and longer",
			Doc:  "nothing to send for a millisecond, and then for longer and longer, up to 20 days",
			Line: 400 * gbps, Duration: end.Sub(0), Idle: rests,
		},
		{
			Name: "feedback/repeated",
			Doc:  "the rate changes many times within each packet, and each feedback arrives three times; then the last rate holds",
			Line: gbps, Duration: 200 * unit.Millisecond,
			Rates: repeated(storm(3, 20000, 5*unit.Microsecond, gbps, 50*mbps)),
		},
		{
			Name: "late/line and feedback",
			Doc:  "the link is blocked for up to 10 ms, and the rate changes after a packet may start and before it starts",
			Line: gbps, Duration: 2 * unit.Second, Rates: storm(8, 2000, 800*unit.Microsecond, 100*mbps, 50*mbps),
			Held: holds(6, 2*s, 30*unit.Millisecond, 10*unit.Millisecond),
		},
		{
			Name: "many/32", Doc: "32 of the kind share nine tenths of a link",
			Line: gbps, Duration: 500 * unit.Millisecond, Rates: []Step{{0, 900 * mbps / 32}}, Limiters: 32, Again: again,
		},
		{
			Name: "hours/busy", Doc: "always a packet for two hours",
			Line: gbps, Duration: 2 * 3600 * unit.Second, Rates: []Step{{0, 777_777}},
		},
	}
}

// repeated returns steps of which each comes three times.
func repeated(steps []Step) (out []Step) {
	for _, x := range steps {
		out = append(out, x, Step{x.At + 1, x.Rate}, Step{x.At + 2*us, x.Rate})
	}
	return out
}

// storm returns n random rates up to most, in random distances around apart, and a last one that
// stays.
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

// longer returns spans of growing length with a fixed time between them, and the end of the time
// after the last.
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
	if r%gbps == 0 {
		return fmt.Sprintf("%dGbps", r/gbps)
	}
	return fmt.Sprintf("%dMbps", r/mbps)
}
