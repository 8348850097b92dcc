package traffic_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/node/traffic"
	"fabemu/wire/unit"
)

func distribution(t testing.TB, text string) traffic.Sizes {
	t.Helper()
	s, err := traffic.ParseSizes(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// points are the distributions as their papers draw them, apart from the table of the package.
var points = map[string][][2]float64{
	"web-search": {{0, 0}, {10e3, 15}, {20e3, 20}, {30e3, 30}, {50e3, 40}, {80e3, 53}, {200e3, 60}, {1e6, 70}, {2e6, 80}, {5e6, 90}, {10e6, 97}, {30e6, 100}},
	"hadoop": {{0, 0}, {100, 1}, {200, 2}, {300, 5}, {350, 15}, {400, 20}, {500, 30}, {600, 40}, {700, 50}, {1000, 60}, {2000, 67}, {7000, 70},
		{30e3, 72}, {50e3, 82}, {80e3, 87}, {120e3, 90}, {300e3, 95}, {1e6, 97.5}, {2e6, 99}, {10e6, 100}},
	"storage": {{0, 0}, {4e3, 22.93}, {8e3, 69.21}, {16e3, 80.61}, {32e3, 90.47}, {64e3, 93.53}, {128e3, 96.77}, {256e3, 97.53}, {2e6, 100}},
}

// share returns the share of transfers of at most a size.
func share(points [][2]float64, size float64) float64 {
	for i := 1; i < len(points); i++ {
		if a, b := points[i-1], points[i]; size <= b[0] {
			return (a[1] + (b[1]-a[1])*(size-a[0])/(b[0]-a[0])) / 100
		}
	}
	return 1
}

// 100,000 sizes have a Kolmogorov distance from their distribution that one in a thousand samples
// exceeds, or less; a uniform distribution over the same range has more than a hundred times as
// much.
func TestSizesAreDrawnByTheirDistribution(t *testing.T) {
	const n = 100_000
	bound := 1.95 / math.Sqrt(n)
	for name, want := range points {
		s := distribution(t, name)
		g, err := traffic.NewMesh(traffic.Mesh{Members: 3, Sizes: s, Rate: 1e12, Stop: unit.Never, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		sizes, sum := make([]float64, n), 0.0
		for i := range sizes {
			sizes[i] = float64(g.Next().Size)
			sum += sizes[i]
		}
		slices.Sort(sizes)
		distance, flat := 0.0, 0.0
		for i, size := range sizes {
			f := share(want, size)
			distance = max(distance, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
			flat = max(flat, math.Abs(size/want[len(want)-1][0]-float64(i)/n))
		}
		// Sizes are whole bytes: a step of one byte is seen where many transfers are within few
		// bytes.
		if whole := 0.0016; distance > bound+whole || flat < 0.5 {
			t.Errorf("%s: a distance of %.5f, at most %.5f; from a uniform distribution %.3f", name, distance, bound+whole, flat)
		}
		mean := 0.0
		for i := 1; i < len(want); i++ {
			mean += (want[i][1] - want[i-1][1]) / 100 * (want[i][0] + want[i-1][0]) / 2
		}
		if got := s.Mean(); math.Abs(got-mean) > 1e-9*mean {
			t.Errorf("%s: a mean of %v, want %v", name, got, mean)
		}
		back := distribution(t, s.String())
		if back.String() != s.String() || back.Mean() != s.Mean() {
			t.Errorf("%s does not read back", name)
		}
	}
}

// A member offers its rate of payload, to all others alike.
func TestMeshOffersItsLoad(t *testing.T) {
	const members, rate = 9, unit.Rate(5e9)
	for _, pattern := range []traffic.Pattern{traffic.Uniform, traffic.AllToAll} {
		g, err := traffic.NewMesh(traffic.Mesh{Pattern: pattern, Members: members, Self: 4, Sizes: distribution(t, "web-search"), Rate: rate, Stop: unit.Never, Seed: 3, Stream: 9})
		if err != nil {
			t.Fatal(err)
		}
		bytes, last, to := 0.0, unit.Time(0), make([]float64, members)
		const n = 400_000
		for range n {
			a := g.Next()
			bytes, last = bytes+float64(a.Size), a.At
			to[a.To]++
		}
		if got := bytes * 8 / last.Sub(0).Seconds(); math.Abs(got/float64(rate)-1) > 0.01 {
			t.Errorf("%v offers %.4g b/s, want %.4g", pattern, got, float64(rate))
		}
		for k, have := range to {
			if want := n / float64(members-1); k == 4 && have != 0 || k != 4 && math.Abs(have-want) > 5*math.Sqrt(want) {
				t.Errorf("%v: %v transfers to member %d, want %v", pattern, have, k, want)
			}
		}
	}
}

// Without a rate each destination of a pattern gets a transfer at the start.
func TestMeshPatterns(t *testing.T) {
	const members = 7
	for pattern, sent := range map[traffic.Pattern]int{traffic.Uniform: 1, traffic.Permutation: 1, traffic.Ring: 1, traffic.AllToAll: members - 1, traffic.Incast: -1} {
		received, total := make([]int, members), 0
		for self := range members {
			g, err := traffic.NewMesh(traffic.Mesh{Pattern: pattern, Members: members, Self: self, Sizes: traffic.One(9), Senders: 4, Start: 5, Stop: unit.Never, Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for a := g.Next(); a.At != unit.Never; a = g.Next() {
				if a.At != 5 || a.Size != 9 || a.To == self || a.To < 0 || a.To >= members || pattern == traffic.Ring && a.To != (self+1)%members {
					t.Fatalf("%v: %d sends %+v", pattern, self, a)
				}
				received[a.To]++
				n++
			}
			if total += n; sent >= 0 && n != sent {
				t.Errorf("%v: %d sends %d, want %d", pattern, self, n, sent)
			}
		}
		for k, n := range received {
			if pattern != traffic.Uniform && pattern != traffic.Incast && n != sent {
				t.Errorf("%v: %d receives %d, want %d", pattern, k, n, sent)
			}
		}
		if pattern == traffic.Incast && (total != 4 || slices.Max(received) != 4) {
			t.Errorf("incast: %d transfers, %v received", total, received)
		}
	}
}

// All members draw the same events of incast, each with so many senders.
func TestIncastEvents(t *testing.T) {
	const members, senders, rate = 12, 5, unit.Rate(40e9)
	type event struct {
		at unit.Time
		to int
	}
	events, end := map[event]int{}, unit.Time(20*unit.Millisecond)
	for self := range members {
		g, err := traffic.NewMesh(traffic.Mesh{Pattern: traffic.Incast, Members: members, Self: self, Sizes: traffic.One(500), Senders: senders, Rate: rate, Stop: end, Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		for a := g.Next(); a.At != unit.Never; a = g.Next() {
			events[event{a.At, a.To}]++
		}
	}
	for e, n := range events {
		if n != senders {
			t.Fatalf("%d send at %v", n, e)
		}
	}
	got, want := float64(len(events)), float64(rate)/8/500/senders*end.Sub(0).Seconds()
	if math.Abs(got-want) > 4*math.Sqrt(want) {
		t.Errorf("%v events, want %v", got, want)
	}
}

// At a step of a distribution, so many transfers have just the size of its two points.
func TestStepsOfSizes(t *testing.T) {
	const members, n = 2, 20000
	sizes, err := traffic.ParseSizes("64B:0 64B:30 256B:50 256B:60 1KB:100")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := traffic.ParseSizes(sizes.String()); err != nil || again.String() != sizes.String() {
		t.Errorf("%v is read as %v, %v", sizes, again, err)
	}
	if got, want := sizes.Mean(), 0.3*64+0.2*160+0.1*256+0.4*628; math.Abs(got-want) > 1e-6 {
		t.Errorf("the mean is %v, want %v", got, want)
	}
	g, err := traffic.NewMesh(traffic.Mesh{Members: members, Self: 1, Sizes: sizes, Rate: 1e9, Count: n, Stop: unit.Never - 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	count := map[unit.Size]int{}
	for a := g.Next(); a.At != unit.Never; a = g.Next() {
		count[a.Size]++
	}
	for size, share := range map[unit.Size]float64{64: 0.3, 256: 0.1} {
		if got, most := float64(count[size])/n, 4*math.Sqrt(share*(1-share)/n); math.Abs(got-share) > most+0.002 {
			t.Errorf("%.3f of the transfers have %v, want %v", got, size, share)
		}
	}
}

func TestSizesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"0B:0 10KB:15":          "the last point has 15 per cent of the flows: it must have all of them, 100",
		"10KB:15 5KB:100":       "the point 5KB:100 is below the one before it, 10KB:15: neither sizes nor per cents fall from point to point",
		"1KB:50 2KB:20 3KB:100": "the point 2KB:20 is below the one before it, 1KB:50: neither sizes nor per cents fall from point to point",
		"0B:100":                "all flows have 0 bytes: there is no mean",
		"1KB:101":               `the point 1KB:101 has "101" per cent, of 0 to 100`,
		"1KB:NaN":               `the point 1KB:NaN has "NaN" per cent, of 0 to 100`,
		":":                     `"" is not a size: a size is a number with a unit, such as 2048B; units are B, KiB, MiB, GiB, KB, MB, GB, kb, mb, gb`,
		"0B":                    "a flow of 0B: it has 1 to 1125899906842624 bytes",
	} {
		if s, err := traffic.ParseSizes(text); err == nil {
			t.Errorf("%q is %v", text, s)
		} else if want[0] != '"' && err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, m := range []traffic.Mesh{{}, {Members: 1, Sizes: traffic.One(1)}, {Members: 3, Self: 3, Sizes: traffic.One(1)}, {Members: 3}, {Members: 3, Sizes: traffic.One(1), Rate: -1},
		{Pattern: traffic.Incast, Members: 3, Senders: 3, Sizes: traffic.One(1)}} {
		if _, err := traffic.NewMesh(m); err == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
}

// A backlog counts just the arrivals that Next has still to return, whenever it is asked and
// however many are taken meanwhile, and counting changes none of them.
func TestBacklogsCountArrivals(t *testing.T) {
	const start, stop = unit.Time(3 * unit.Microsecond), unit.Time(900 * unit.Microsecond)
	for pattern := range traffic.Incast + 1 {
		for _, rate := range []unit.Rate{0, 60e9, 300e9} {
			m := traffic.Mesh{Pattern: pattern, Members: 5, Self: 2, Sizes: distribution(t, "hadoop"), Rate: rate, Count: 40, Senders: 3, Start: start, Stop: stop, Seed: 11}
			g, err := traffic.NewMesh(m)
			if err != nil {
				t.Fatal(err)
			}
			var all []traffic.Arrival
			for a := g.Next(); a.At != unit.Never; a = g.Next() {
				all = append(all, a)
			}
			if g, err = traffic.NewMesh(m); err != nil {
				t.Fatal(err)
			}
			counted(t, fmt.Sprintf("%v at %v", pattern, rate), g, all)
			counted(t, fmt.Sprintf("the list of %v at %v", pattern, rate), traffic.NewList(all), all)
		}
	}
	if g, err := traffic.NewMesh(traffic.Mesh{Members: 2, Sizes: traffic.One(1), Start: 5, Stop: 5}); err != nil {
		t.Error(err)
	} else if n, next := g.Waiting(5); n != 0 || next != unit.Never {
		t.Errorf("a workload that stops as it starts: %d transfers, then %v", n, next)
	}
}

// counted compares a backlog with all of its arrivals.
func counted(t *testing.T, what string, g traffic.Backlog, all []traffic.Arrival) {
	t.Helper()
	if len(all) < 5 {
		t.Fatalf("%s: %d arrivals", what, len(all))
	}
	random, taken := unit.NewRandom(1, 2), 0
	for at := unit.Time(-1); ; at = at.Add(random.Span(60 * unit.Microsecond)) {
		arrived := 0
		for arrived < len(all) && all[arrived].At <= at {
			arrived++
		}
		want := unit.Never
		if arrived < len(all) {
			want = all[arrived].At
		}
		n, next := g.Waiting(at)
		if n != arrived-taken || next != want {
			t.Fatalf("%s: at %v %d wait, the next one arrives at %v; want %d and %v", what, at, n, next, arrived-taken, want)
		}
		for range random.Below(uint64(n + 1)) {
			if a := g.Next(); a != all[taken] {
				t.Fatalf("%s: arrival %d is %+v, want %+v", what, taken, a, all[taken])
			}
			taken++
		}
		if taken == len(all) {
			return
		}
	}
}

// A number or a point is refused by its length before anything is computed with it, in a message
// that does not repeat it.
func TestLongSizesAreRefused(t *testing.T) {
	digits := strings.Repeat("9", 10_000_000)
	for _, text := range []string{digits + "B", digits, "0B:0 " + digits + "B:100", "0B:" + digits, "1" + strings.Repeat("0", 50) + "B"} {
		if _, err := traffic.ParseSizes(text); err == nil || len(err.Error()) > 200 {
			t.Errorf("%d characters: %.300v", len(text), err)
		}
	}
}
