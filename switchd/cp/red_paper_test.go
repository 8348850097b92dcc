package cp

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The rules of RED, each with the section of S. Floyd, V. Jacobson, "Random Early Detection
// Gateways for Congestion Avoidance" (1993) that has it.

// newRED returns points with the paper's parameters.
func newRED(t *testing.T, change func(c *REDParams)) *RED {
	t.Helper()
	c := param.Defaults(REDParams{})
	if change != nil {
		change(&c)
	}
	r, err := NewRED(c, Site{Ports: 2, Address: 0xAA, Random: unit.NewRandom(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// linkRate sends a mean packet of 1000 bytes in a millisecond.
const linkRate = 8e6 * unit.BitPerSecond

// found is a queue of this many frames of 1000 bytes.
func found(frames int) Queue {
	return Queue{Output: 1, Frames: frames, Bytes: unit.Size(frames) * 1000, Length: 1000, Rate: linkRate}
}

// average returns that of the queue of found.
func average(r *RED) float64 { return r.point(data(1), &Queue{Output: 1}).average }

// near compares to so many parts.
func near(t *testing.T, what string, got, want, parts float64) {
	t.Helper()
	if !(math.Abs(got-want) <= parts*math.Abs(want)) {
		t.Errorf("%s is %.9g, want %.9g", what, got, want)
	}
}

// Section 4, Fig. 2: "avg <- (1 - w_q) avg + w_q q".
func TestREDAverageOfAScript(t *testing.T) {
	r := newRED(t, func(c *REDParams) { c.Weight = 0.25 })
	for _, c := range []struct {
		q    int
		want float64
	}{{4, 1}, {4, 1.75}, {0, 1.3125}, {8, 2.984375}, {1, 2.48828125}} {
		q := found(c.q)
		r.point(data(1), &q).idle = unit.Never // the line is busy
		if r.Admit(0, data(1), q); average(r) != c.want {
			t.Errorf("with a queue of %d the average is %v, want %v", c.q, average(r), c.want)
		}
	}
}

// Section 6.1: where the queue grows from 0 to L packets over L arrivals the average is
// L + 1 + ((1-w)^(L+1) - 1)/w; with a min_th of 5 and L = 50 that stays below it for a w_q
// of at most 0.0042 (0.00420 is rounded up).
func TestREDAverageAfterABurst(t *testing.T) {
	const burst = 50
	for w, below := range map[float64]bool{0.001: true, 0.0041: true, 0.0043: false, 0.01: false} {
		r := newRED(t, func(c *REDParams) { c.Weight = w })
		for n := 1; n <= burst; n++ {
			r.Admit(0, data(1), found(n))
		}
		near(t, fmt.Sprintf("with w_q = %v the average", w), average(r), burst+1+(math.Pow(1-w, burst+1)-1)/w, 1e-9)
		if average(r) < 5 != below {
			t.Errorf("with w_q = %v the average is %v", w, average(r))
		}
	}
}

// Section 6.2: where the queue goes from 0 to 1 packet and stays there, the average reaches
// 0.63 after -1/ln(1-w_q) arrivals: 1000 for w_q = 0.001, 500 for 0.002, 333 for 0.003.
func TestREDAverageFollowsTheQueue(t *testing.T) {
	for w, want := range map[float64]int{0.001: 1000, 0.002: 500, 0.003: 333} {
		r := newRED(t, func(c *REDParams) { c.Weight = w })
		n := 0
		for average(r) < 1-1/math.E {
			r.Admit(0, data(1), found(1))
			n++
		}
		if n < want || n > want+1 {
			t.Errorf("with w_q = %v it took %d arrivals, want %d", w, n, want)
		}
	}
}

// Section 4, Fig. 2: "else m <- f(time - q_time), avg <- (1 - w_q)^m avg": m is the number
// of small packets that could have been sent while the queue was empty.
func TestREDIdleRule(t *testing.T) {
	const ms = unit.Time(unit.Millisecond)
	r := newRED(t, func(c *REDParams) { c.Weight = 0.5 })
	for range 40 {
		r.Admit(0, data(1), found(4))
	}
	near(t, "the average of a constant queue", average(r), 4, 1e-9)
	r.Dequeue(10*ms, data(1), found(1)) // one frame waits still: nothing is idle
	r.Dequeue(11*ms, data(1), found(0)) // the last one is on the link until 12 ms
	for _, c := range []struct {
		at   unit.Time
		want float64
	}{
		{12 * ms, 2},    // the line is free now, and was not: one sample of an empty queue
		{15 * ms, 0.25}, // three packets could have been sent since
	} {
		q := found(0)
		r.Admit(c.at, data(1), q)
		near(t, fmt.Sprintf("the average at %v", c.at), average(r), c.want, 1e-9)
	}
	r.Dequeue(15*ms, data(1), found(0)) // on the line until 16 ms
	r.Admit(18*ms+ms/2, data(1), found(0))
	near(t, "the average after two and a half packets", average(r), 0.0625, 1e-9)
}

// redGaps returns how many frames it is from each one that is dropped to the next, at a constant
// probability p.
func redGaps(t *testing.T, kind string, p float64, n int) (all []int) {
	t.Helper()
	r := newRED(t, func(c *REDParams) { c.Gaps, c.MaxP, c.Weight = kind, 2*p, 1 })
	for last, i := 0, 1; len(all) < n; i++ {
		if r.Admit(0, data(1), found(10)) == Drop { // half of the way from 5 to 15
			all, last = append(all, i-last), i
		}
	}
	return all
}

// Section 7, method 2: "Let X be uniform over 1, 2, ..., 1/p_b ... E[X] = 1/(2 p_b) + 1/2".
// Method 1: "X is a geometric random variable, E[X] = 1/p_b". In addition to them that of ns-2
// (wait_), which is uniform from 1/p to 2/p - 1.
func TestREDGaps(t *testing.T) {
	const p, n = 0.02, 50000
	for _, c := range []struct {
		kind      string
		low, high int // of uniform gaps
	}{{UniformGaps, 1, 50}, {WaitGaps, 50, 99}} {
		count := map[int]int{}
		for _, g := range redGaps(t, c.kind, p, n) {
			count[g]++
		}
		chi := 0.0
		for g := c.low; g <= c.high; g++ {
			d := float64(count[g]) - n*p
			chi += d * d / (n * p)
			delete(count, g)
		}
		if len(count) > 0 || chi > 95 || chi < 20 { // 49 degrees of freedom, at 99.99 %
			t.Errorf("%s: chi squared is %.1f; beyond %d to %d there are %v", c.kind, chi, c.low, c.high, count)
		}
	}
	sum, squares := 0.0, 0.0
	for _, g := range redGaps(t, GeometricGaps, p, n) {
		sum += float64(g)
		squares += float64(g) * float64(g)
	}
	mean := sum / n
	near(t, "the mean of geometric gaps", mean, 1/p, 0.02)
	near(t, "their variance", squares/n-mean*mean, (1-p)/(p*p), 0.05)
}

// Section 4, Fig. 2: below min_th no packet is marked, from max_th on each arriving one, and
// "p_b <- max_p (avg - min_th)/(max_th - min_th)". Gentle: from max_p at max_th to 1 at twice
// max_th.
func TestREDProbability(t *testing.T) {
	for _, gentle := range []bool{false, true} {
		above := map[bool]float64{false: 1, true: 0.1 + 0.9/3}[gentle]
		r := newRED(t, func(c *REDParams) { c.MaxP, c.Gentle = 0.1, gentle })
		for average, want := range map[float64]float64{0: 0, 4.999: 0, 5: 0, 10: 0.05, 12: 0.07, 20: above, 30: 1, 100: 1} {
			near(t, fmt.Sprintf("gentle %v: the probability at %v", gentle, average), r.likely(average), want, 1e-9)
		}
	}
}

// Section 4: the gateway may drop or mark, and "p_b <- p_b PacketSize/MaximumPacketSize".
func TestREDDropsOrMarks(t *testing.T) {
	share := func(change func(c *REDParams), q Queue) map[Verdict]float64 {
		r := newRED(t, func(c *REDParams) {
			c.Gaps, c.MaxP, c.Weight = GeometricGaps, 0.2, 1
			change(c)
		})
		of := map[Verdict]float64{}
		const n = 20000
		for range n {
			f := data(1)
			v := r.Admit(0, f, q)
			if f.FECN != (v == Marked) {
				t.Fatalf("FECN is %v with verdict %d", f.FECN, v)
			}
			of[v] += 1.0 / n
		}
		return of
	}
	sure, small, kept := found(20), found(10), found(20)
	small.Length, kept.Lossless = 250, true
	for _, c := range []struct {
		name   string
		change func(c *REDParams)
		q      Queue
		want   map[Verdict]float64
	}{
		{"half of the way", func(*REDParams) {}, found(10), map[Verdict]float64{Drop: 0.1}},
		{"marks", func(c *REDParams) { c.ECN = true }, found(10), map[Verdict]float64{Marked: 0.1}},
		{"above max", func(*REDParams) {}, sure, map[Verdict]float64{Drop: 1}},
		{"marks above max", func(c *REDParams) { c.ECN = true }, sure, map[Verdict]float64{Marked: 1}},
		{"drops above max", func(c *REDParams) { c.ECN, c.HardDrop = true, true }, sure, map[Verdict]float64{Drop: 1}},
		{"never what is lossless", func(c *REDParams) { c.ECN, c.HardDrop = true, true }, kept, map[Verdict]float64{Marked: 1}},
		{"a quarter of a packet", func(c *REDParams) { c.BySize = true }, small, map[Verdict]float64{Drop: 0.025}},
		{"in bytes", func(c *REDParams) { c.Min, c.Max = unit.Room{Bytes: 5000}, unit.Room{Bytes: 15000} }, found(10), map[Verdict]float64{Drop: 0.1}},
	} {
		got := share(c.change, c.q)
		for _, v := range []Verdict{Drop, Marked} {
			if want := c.want[v]; math.Abs(got[v]-want) > 0.015*math.Sqrt(want) { // five standard errors at most
				t.Errorf("%s: verdict %d has %.4f, want %.4f", c.name, v, got[v], want)
			}
		}
	}
}

// Each priority of each output has its own queue, and an average.
func TestREDPointsAreApart(t *testing.T) {
	r := newRED(t, nil)
	other := *data(1)
	other.Lane = 3
	r.Admit(0, data(1), found(10))
	if r.Admit(0, &other, found(0)); average(r) != 0.02 || r.point(&other, &Queue{Output: 1}).average != 0 {
		t.Errorf("averages are %v and %v, want 0.02 and 0", average(r), r.point(&other, &Queue{Output: 1}).average)
	}
	if r.Reset(); average(r) != 0 {
		t.Errorf("after a restart the average is %v", average(r))
	}
}

// Defaults of ns-2 (before October 2004) and of tc red. "tc qdisc add ... red limit 400000
// min 30000 max 90000 avpkt 1000 burst 55" shows "ewma 5" (Linux, commit 8af2a218de38).
func TestREDDefaults(t *testing.T) {
	none := func(string) bool { return false }
	red := func(p REDParams, given func(string) bool) REDParams {
		keep := func(q *param.Param) any {
			switch q.Key {
			case "version":
				return string(p.Version)
			case "min":
				return p.Min
			case "max":
				return p.Max
			case "burst":
				return p.Burst
			}
			return nil
		}
		return param.Of(p).Build(keep, param.Complete(given)).(REDParams)
	}
	ns2 := red(REDParams{Version: "ns-2"}, none)
	want := REDParams{Version: "ns-2", Min: unit.Room{Packets: 5}, Max: unit.Room{Packets: 15}, MaxP: 0.1, Weight: 0.002, Gentle: true, Gaps: WaitGaps, MeanPacket: 500, HardDrop: true}
	if ns2 != want {
		t.Errorf("ns-2: %+v, want %+v", ns2, want)
	}
	tc := REDParams{Version: REDtc, Min: unit.Room{Bytes: 30000}, Max: unit.Room{Bytes: 90000}, Burst: 55}
	given := func(key string) bool { return strings.Contains("min max burst", key) }
	tc = red(tc, given)
	tc.FitSwitch(false, 400000, given)
	if tc.Weight != math.Ldexp(1, -5) || tc.MaxP != 0.02 || tc.Gentle || tc.Gaps != UniformGaps {
		t.Errorf("tc red: %+v, want a weight of 2^-5", tc)
	}
	tc = red(REDParams{Version: REDtc}, none)
	tc.FitSwitch(false, 120000, none)
	if tc.Max.Bytes != 30000 || tc.Min.Bytes != 10000 || tc.Burst != 16 {
		t.Errorf("tc red with a limit alone: %+v", tc)
	}
}

// What cannot be is refused, by name.
func TestREDMisfits(t *testing.T) {
	packets := func(n int) unit.Room { return unit.Room{Packets: n} }
	for key, c := range map[string]REDParams{
		"max":     {Min: packets(15), Max: packets(15)},
		"max ":    {Min: packets(5), Max: unit.Room{Bytes: 15000}},
		"min":     {Min: packets(80), Max: packets(160)},
		"version": {Version: REDtc},
		"":        {Min: packets(5), Max: packets(15)},
	} {
		wrong := c.CheckRoom(100000, 1500)
		if key == "" && len(wrong) > 0 || key != "" && (len(wrong) != 1 || wrong[0].Key != strings.TrimSpace(key)) {
			t.Errorf("%+v: %+v, want %q", c, wrong, key)
		}
	}
	for want, change := range map[string]func(c *REDParams){
		"q-weight: 2 is out": func(c *REDParams) { c.Weight = 2 },
		"max-p: 0 is out":    func(c *REDParams) { c.MaxP = 0 },
		"mean-packet: ":      func(c *REDParams) { c.MeanPacket = 0 },
		"above min":          func(c *REDParams) { c.Min = packets(20) },
	} {
		c := param.Defaults(REDParams{})
		change(&c)
		if _, err := NewRED(c, Site{Random: unit.NewRandom(1, 1)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
