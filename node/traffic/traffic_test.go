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

const (
	us     = unit.Microsecond
	ten    = unit.Rate(10e9)
	length = 1500 // 1.2 µs at 10 Gb/s
)

// Three transfers, and nothing more.
func ExampleNew() {
	g, err := traffic.New(traffic.Config{Kind: traffic.Transfers, Start: unit.Time(5 * us), Sizes: traffic.One(64000), Count: 3})
	if err != nil {
		panic(err)
	}
	for a := g.Next(); a.At != unit.Never; a = g.Next() {
		fmt.Println(a.At, a.Size)
	}
	// Output:
	// 5us 64KB
	// 5us 64KB
	// 5us 64KB
}

func generator(t testing.TB, c traffic.Config) traffic.Generator {
	t.Helper()
	if c.Length == 0 {
		c.Length = length
	}
	g, err := traffic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// gaps returns the distances of the first n arrivals, the first from the start.
func gaps(g traffic.Generator, start unit.Time, n int) []float64 {
	var s []float64
	last := start
	for range n {
		a := g.Next()
		s = append(s, float64(a.At-last))
		last = a.At
	}
	return s
}

func moments(s []float64) (mean, deviation float64) {
	for _, v := range s {
		mean += v / float64(len(s))
	}
	for _, v := range s {
		deviation += (v - mean) * (v - mean) / float64(len(s))
	}
	return mean, math.Sqrt(deviation)
}

// near fails unless got is within so many standard errors of want.
func near(t *testing.T, what string, got, want, errors, standard float64) {
	t.Helper()
	if math.Abs(got-want) > errors*standard {
		t.Errorf("%s is %g, want %g +- %g", what, got, want, errors*standard)
	}
}

func TestConstantNeverDrifts(t *testing.T) {
	g := generator(t, traffic.Config{Kind: traffic.Constant, Start: 7, Rate: 3_333_333_333})
	for i := range 100_000 {
		if got, want := g.Next().At, unit.Time(7).Add(unit.Rate(3_333_333_333).Serialise(unit.Size(i*length))); got != want {
			t.Fatalf("packet %d arrives at %v, want %v", i, got, want)
		}
	}
}

// Exponential distances: mean and deviation are the same, no memory, and the share
// beyond x means is e^-x.
func TestPoisson(t *testing.T) {
	const n = 200_000
	for _, rate := range []unit.Rate{1e6, 3_333_333_333, 9e9} {
		start := unit.Time(123 * us)
		s := gaps(generator(t, traffic.Config{Kind: traffic.Poisson, Start: start, Rate: rate, Seed: 1}), start, n)
		want := length * 8e12 / float64(rate)
		mean, deviation := moments(s)
		near(t, "the mean distance", mean, want, 4, want/math.Sqrt(n))
		near(t, "its deviation", deviation, want, 4, want*math.Sqrt(2./n))
		for _, x := range []float64{0.1, 0.5, 1, 2, 3, 5} {
			beyond := 0.
			for _, v := range s {
				if v > x*want {
					beyond++
				}
			}
			p := math.Exp(-x)
			near(t, fmt.Sprintf("the share beyond %g means", x), beyond/n, p, 4, math.Sqrt(p*(1-p)/n))
		}
		covariance := 0.
		for i := 1; i < n; i++ {
			covariance += (s[i] - want) * (s[i-1] - want) / want / want / n
		}
		near(t, "the correlation of neighbours", covariance, 0, 4, 1/math.Sqrt(n))
	}
}

// Each slot has a packet with the same probability: slots are whole, their distances
// geometric.
func TestBernoulli(t *testing.T) {
	const n = 100_000
	slot := float64(ten.Serialise(length))
	for _, load := range []float64{0.01, 0.5, 0.85, 1} {
		s := gaps(generator(t, traffic.Config{Kind: traffic.Bernoulli, Rate: unit.Rate(load * float64(ten)), Peak: ten, Seed: 2}), 0, n)[1:]
		mean, deviation := moments(s)
		near(t, "the mean distance in slots", mean/slot, 1/load, 4, math.Sqrt((1-load)/n)/load+1e-12)
		near(t, "its deviation", deviation/slot, math.Sqrt(1-load)/load, 6, 2/load/math.Sqrt(n))
		next := 0.
		for _, v := range s {
			if v < 1 || math.Mod(v, slot) != 0 {
				t.Fatalf("load %g: two packets %g slots apart", load, v/slot)
			}
			if v == slot {
				next++
			}
		}
		near(t, "the share of neighbours", next/(n-1), load, 4, math.Sqrt(load*(1-load)/n)+1e-12)
	}
}

// Bursts: packets of a burst are back to back at the peak, lengths and silences have the
// tail of a Pareto distribution, and the mean load is the rate.
func TestBursts(t *testing.T) {
	const n = 1_000_000
	const shape = 2.5 // with a variance, so that a mean can be tested
	c := traffic.Config{Kind: traffic.Bursts, Rate: 4e9, Peak: ten, Burst: 20 * length, Shape: shape, Seed: 3}
	s := gaps(generator(t, c), 0, n)
	packet := float64(ten.Serialise(length))
	var bursts, silences []float64
	burst, total := 1., s[0]
	for _, v := range s[1:] {
		total += v
		if v < packet-1 {
			t.Fatalf("two packets are %g ps apart, a packet takes %g", v, packet)
		}
		if v <= packet+1 {
			burst++
			continue
		}
		bursts, burst = append(bursts, burst), 1
		silences = append(silences, v-packet)
	}
	deviation := math.Sqrt(1 / (shape * (shape - 2))) // of a Pareto distribution, over its mean
	k := float64(len(bursts))
	near(t, "the load", float64(n)*length*8e12/total, 4e9, 4, 4e9*deviation/math.Sqrt(k))
	mean, _ := moments(bursts)
	near(t, "the mean burst", mean, 20, 4, 20*deviation/math.Sqrt(k))
	wantSilence := 20 * length * 8e12 * (1/4e9 - 1/10e9)
	mean, _ = moments(silences)
	near(t, "the mean silence", mean, wantSilence, 4, wantSilence*deviation/math.Sqrt(k))
	least := wantSilence * (shape - 1) / shape
	if got := slices.Min(silences); got < least-2 || got > least*1.001 {
		t.Errorf("the shortest silence is %g, want %g", got, least)
	}
	for _, x := range []float64{1.5, 2, 4, 8} {
		beyond, longer := 0., 0.
		for i, v := range silences {
			if v > x*least {
				beyond++
			}
			if bursts[i] >= 12*x+1 {
				longer++
			}
		}
		p := math.Pow(x, -shape)
		near(t, fmt.Sprintf("the share of silences beyond %g times the least", x), beyond/k, p, 4, math.Sqrt(p*(1-p)/k))
		// A burst of so many whole packets has a length between that and one packet more or less.
		high, low := p, math.Pow((12*x+2)/12, -shape)
		if got := longer / k; got > high+4*math.Sqrt(high/k) || got < low-4*math.Sqrt(low/k) {
			t.Errorf("the share of bursts of %g packets and more is %g, want %g to %g", 12*x+1, got, low, high)
		}
	}
}

// A line that is always on: no silence.
func TestBurstsAtTheirPeak(t *testing.T) {
	g := generator(t, traffic.Config{Kind: traffic.Bursts, Rate: ten, Peak: ten, Burst: length, Shape: 1.1})
	for i := range 1000 {
		if got, want := g.Next().At, unit.Time(i)*unit.Time(ten.Serialise(length)); got != want {
			t.Fatalf("packet %d at %v, want %v", i, got, want)
		}
	}
}

func TestDestinationsAreUniform(t *testing.T) {
	for _, c := range []traffic.Config{
		{Kind: traffic.Constant, Rate: 1e9}, {Kind: traffic.Poisson, Rate: 1e9}, {Kind: traffic.Bernoulli, Rate: 1e9, Peak: ten},
		{Kind: traffic.Bursts, Rate: 1e9, Peak: ten, Burst: length, Shape: 3},
		{Kind: traffic.Transfers, Rate: 1e9, Sizes: traffic.One(100)},
	} {
		const n, to = 70_000, 7
		c.Destinations, c.Seed = to, 4
		g := generator(t, c)
		var count [to]float64
		for range n {
			count[g.Next().To]++
		}
		for d := range count {
			spread := 4.
			if c.Kind == traffic.Bursts {
				spread = 8 // a burst goes to one
			}
			near(t, fmt.Sprintf("%v: arrivals for %d", c.Kind, d), count[d], n/to, spread, math.Sqrt(n/to))
		}
	}
}

func TestTransfers(t *testing.T) {
	all := func(c traffic.Config, most int) (s []traffic.Arrival) {
		c.Kind = traffic.Transfers
		g := generator(t, c)
		for range most {
			a := g.Next()
			if a.At == unit.Never {
				if b := g.Next(); b.At != unit.Never {
					t.Errorf("%+v arrives after the end", b)
				}
				break
			}
			s = append(s, a)
		}
		return s
	}
	if got := all(traffic.Config{Start: 9, Sizes: traffic.One(5)}, 10); !slices.Equal(got, []traffic.Arrival{{At: 9, Size: 5}}) {
		t.Errorf("one transfer: %+v", got)
	}
	got := all(traffic.Config{Start: 9, Rate: 1e9, Sizes: traffic.One(2000), Count: 100_000, Seed: 5}, 1<<30)
	if len(got) != 100_000 {
		t.Fatalf("%d transfers, want 100000", len(got))
	}
	for i, a := range got {
		if a.Size != 2000 || i > 0 && a.At < got[i-1].At {
			t.Fatalf("transfer %d is %+v", i, a)
		}
	}
	const mean = 2000 * 8e12 / 1e9
	near(t, "the mean distance", float64(got[len(got)-1].At-9)/float64(len(got)), mean, 4, mean/math.Sqrt(float64(len(got))))
	if n := len(all(traffic.Config{Rate: 1e9, Sizes: traffic.One(1)}, 5000)); n != 5000 {
		t.Errorf("transfers at a rate end after %d", n)
	}
}

// "A seed gives the same arrivals for ever", on every processor.
func TestSeedsForEver(t *testing.T) {
	for _, tc := range []struct {
		c    traffic.Config
		want string
	}{
		{traffic.Config{Kind: traffic.Poisson, Rate: 1e9}, "376447>5 14735304>0 18303638>1 20101214>2 20780566>3"},
		{traffic.Config{Kind: traffic.Bernoulli, Rate: 3e9, Peak: ten}, "0>6 2400000>1 4800000>1 6000000>2 8400000>1"},
		{traffic.Config{Kind: traffic.Bursts, Rate: 3e9, Peak: ten, Burst: 2 * length, Shape: 1.5}, "11529736>1 17633637>7 22038393>0 23238393>0 24438393>0"},
		{traffic.Config{Kind: traffic.Transfers, Rate: 3e9, Sizes: traffic.One(9000)}, "752895>5 29470609>0 36607277>1 40202428>2 41561133>3"},
	} {
		tc.c.Seed, tc.c.Stream, tc.c.Destinations = 42, 3, 9
		g, again := generator(t, tc.c), generator(t, tc.c)
		tc.c.Stream++
		other := generator(t, tc.c)
		var s []string
		same := true
		for range 5 {
			a := g.Next()
			s = append(s, fmt.Sprintf("%d>%d", a.At, a.To))
			if b := again.Next(); a != b {
				t.Errorf("%v: the same seed gives %+v and %+v", tc.c.Kind, a, b)
			}
			same = same && a == other.Next()
		}
		if got := strings.Join(s, " "); got != tc.want {
			t.Errorf("%v:\n got %s\nwant %s", tc.c.Kind, got, tc.want)
		}
		if same {
			t.Errorf("%v: another stream gives the same", tc.c.Kind)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []traffic.Config{
		{Kind: traffic.Greedy, Rate: 1, Length: 1}, {Kind: 99, Rate: 1, Length: 1},
		{Kind: traffic.Constant, Length: 1}, {Kind: traffic.Poisson, Rate: 1}, {Kind: traffic.Poisson, Rate: -1, Length: 1},
		{Kind: traffic.Poisson, Rate: 1, Length: 1, Destinations: -1}, {Kind: traffic.Poisson, Rate: 1, Length: 1, Start: -1},
		{Kind: traffic.Bernoulli, Rate: 2, Peak: 1, Length: 1},
		{Kind: traffic.Bursts, Rate: 2, Peak: 1, Length: 1, Burst: 1, Shape: 2}, {Kind: traffic.Bursts, Rate: 1, Peak: 1, Length: 2, Burst: 1, Shape: 2},
		{Kind: traffic.Bursts, Rate: 1, Peak: 1, Length: 1, Burst: 1, Shape: 1}, {Kind: traffic.Bursts, Rate: 1, Peak: 1, Length: 1, Burst: 1, Shape: math.NaN()},
		{Kind: traffic.Transfers}, {Kind: traffic.Transfers, Sizes: traffic.One(0)},
		{Kind: traffic.Transfers, Sizes: traffic.One(1), Count: -1}, {Kind: traffic.Transfers, Sizes: traffic.One(1), Rate: -1},
	} {
		if g, err := traffic.New(c); err == nil || g != nil || !strings.HasPrefix(err.Error(), "traffic: ") {
			t.Errorf("%+v: %v, %v", c, g, err)
		}
	}
}

// FuzzTraffic: no values that New accepts make times run back, panic, or go on forever.
func FuzzTraffic(f *testing.F) {
	for k := range uint8(6) {
		f.Add(k, int64(5), int64(1e9), int64(1e10), int64(1500), int64(9000), 1.5, int64(64000), 10, 3, uint64(1))
	}
	f.Fuzz(func(t *testing.T, kind uint8, start, rate, peak, length, burst int64, shape float64, size int64, count, destinations int, seed uint64) {
		if kind%6 == uint8(traffic.Bernoulli) && rate < peak/1000 {
			return // draws for each slot
		}
		g, err := traffic.New(traffic.Config{
			Kind: traffic.Kind(kind % 6), Start: unit.Time(start), Rate: unit.Rate(rate), Peak: unit.Rate(peak), Length: unit.Size(length),
			Burst: unit.Size(burst), Shape: shape, Sizes: traffic.One(unit.Size(size)), Count: count, Destinations: destinations, Seed: seed,
		})
		if err != nil {
			return
		}
		last := unit.Time(start)
		for range 100 {
			a := g.Next()
			if a.At < last || a.To < 0 || a.To >= max(destinations, 1) {
				t.Fatalf("%+v after %v", a, last)
			}
			last = a.At
		}
	})
}
