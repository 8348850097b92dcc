package cp

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// newECN returns points with the parameters of DCQCN.
func newECN(t *testing.T, change func(c *ECNParams)) *ECN {
	t.Helper()
	c := param.Defaults(ECNParams{})
	change(&c)
	e, err := NewECN(c, Site{Ports: 2, Random: unit.NewRandom(5, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// capable returns a packet of RoCEv2 that may be marked, or not.
func capable(may bool) *wire.Frame {
	f := &wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Payload: 1024}
	f.SetRoCE(wire.RoCE{ECT: may})
	return f
}

// SONiC's test plan for ECN measures the probability at each length of the queue over 200
// repetitions and compares it with the line; here each is one that the binomial distribution gives
// more often than once in a million times, of 3200 lengths.
func TestECNLine(t *testing.T) {
	const kmin, kmax, pmax, repetitions = 500_000, 2_000_000, 0.05, 200
	for _, moment := range []string{AtEnqueue, AtDequeue} {
		e := newECN(t, func(c *ECNParams) { c.Min, c.Max, c.MaxP, c.At = kmin, kmax, pmax, moment })
		all, expected, variance := 0, 0.0, 0.0
		for q := unit.Size(0); q <= 2_100_000; q += 1000 {
			marked := 0
			for range repetitions {
				f := capable(true)
				if moment == AtEnqueue { // the packet itself is in the queue
					e.Enqueue(0, f, Queue{Bytes: q + 1000, Length: 1000})
				} else if why := e.Dequeue(0, f, Queue{Bytes: q, Length: 1000}); (why == trace.EarlyMark) != f.FECN {
					t.Fatalf("%v, and the mark is %v", why, f.FECN)
				}
				if f.FECN {
					marked++
				}
			}
			p := pmax * float64(q-kmin) / (kmax - kmin)
			switch {
			case q <= kmin:
				p = 0
			case q > kmax:
				p = 1
			}
			if strange := tail(repetitions, marked, p); strange < 1e-6 {
				t.Errorf("%s: of %d packets at %v %d are marked, want %.1f: so far from it comes with a probability of %.2g", moment, repetitions, q, marked, repetitions*p, strange)
			}
			if p < 1 {
				all, expected, variance = all+marked, expected+repetitions*p, variance+repetitions*p*(1-p)
			}
		}
		if math.Abs(float64(all)-expected) > 3*math.Sqrt(variance) {
			t.Errorf("%s: %d are marked in all, want %.0f +- %.0f", moment, all, expected, math.Sqrt(variance))
		}
	}
}

// tail returns the probability that of n independent packets at least k are marked, or at most k,
// whichever is less.
func tail(n, k int, p float64) float64 {
	if p == 0 || p == 1 {
		if float64(k) == p*float64(n) {
			return 1
		}
		return 0
	}
	low, high := 0.0, 0.0
	for i := range n + 1 {
		choose, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		q := math.Exp(choose - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log(1-p))
		if i <= k {
			low += q
		}
		if i >= k {
			high += q
		}
	}
	return min(low, high)
}

func TestECNThresholds(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *ECNParams)
		q      Queue // at dequeue
		want   bool
	}{
		{"at kmin", func(c *ECNParams) { c.Min, c.Max, c.MaxP = 1000, 1000, 1 }, Queue{Bytes: 1000}, false},
		{"above both", func(c *ECNParams) { c.Min, c.Max, c.MaxP = 1000, 1000, 0.01 }, Queue{Bytes: 1001}, true},
		{"at kmax with certainty", func(c *ECNParams) { c.Min, c.Max, c.MaxP = 0, 1000, 1 }, Queue{Bytes: 1000}, true},
		{"cells at the threshold", func(c *ECNParams) { c.Min, c.Max, c.Cell = 400*208, 400*208, 208 }, Queue{Bytes: 1, Cells: 400}, false},
		{"cells above it", func(c *ECNParams) { c.Min, c.Max, c.Cell = 400*208, 400*208, 208 }, Queue{Bytes: 1, Cells: 401}, true},
	} {
		dequeue := func(change func(*ECNParams)) func(*ECNParams) {
			return func(p *ECNParams) { change(p); p.At = AtDequeue }
		}
		e := newECN(t, dequeue(c.change))
		if f := capable(true); e.Dequeue(0, f, c.q) != trace.NoReason != c.want || f.FECN != c.want {
			t.Errorf("%s: marked %v", c.name, f.FECN)
		}
		if f := capable(false); e.Dequeue(0, f, c.q) != trace.NoReason || f.FECN {
			t.Errorf("%s: a packet that may not be marked is", c.name)
		}
		was := capable(true)
		was.FECN = true
		if e.Dequeue(0, was, c.q) != trace.NoReason {
			t.Errorf("%s: a marked packet is marked again", c.name)
		}
	}
	at := newECN(t, func(c *ECNParams) { c.Min, c.Max, c.Cell, c.At = 208, 208, 208, AtEnqueue })
	for own, want := range map[int]bool{6: false, 7: true} { // a packet of 1068 bytes takes 6 cells
		f := capable(true)
		if at.Enqueue(0, f, Queue{Length: 1068, Cells: own + 1}); f.FECN != want {
			t.Errorf("%d cells with its own: marked %v", own+1, f.FECN)
		}
	}
}

func TestECNRefusals(t *testing.T) {
	for words, change := range map[string]func(c *ECNParams, s *Site){
		"must be at least min": func(c *ECNParams, _ *Site) { c.Min = c.Max + 1 },
		"max-p: 2 is out":      func(c *ECNParams, _ *Site) { c.MaxP = 2 },
		`max-p: "NaN"`:         func(c *ECNParams, _ *Site) { c.MaxP = math.NaN() },
		`min: "-1B"`:           func(c *ECNParams, _ *Site) { c.Min = -1 },
	} {
		c, s := param.Defaults(ECNParams{}), Site{Random: unit.NewRandom(1, 1)}
		change(&c, &s)
		if _, err := NewECN(c, s); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", words, err)
		}
	}
}

// RED that marks drops a packet that may not be marked.
func TestREDDropsWhatMayNotBeMarked(t *testing.T) {
	for may, want := range map[bool]Verdict{true: Marked, false: Drop} {
		r := newRED(t, func(c *REDParams) { c.ECN, c.Weight = true, 1 })
		if got := r.Admit(0, capable(may), found(100)); got != want {
			t.Errorf("ECT %v: %v", may, got)
		}
	}
}

// TestECNPerRate: run.py of HPCC's simulator gives KMIN 100*bw/25 and KMAX 400*bw/25, and the same
// for links of four times the rate.
func TestECNPerRate(t *testing.T) {
	of := param.Of(ECNParams{})
	hpcc := of.Build(func(p *param.Param) any {
		if p.Key == "preset" {
			return "hpcc"
		}
		return nil
	}, nil).(ECNParams)
	e, err := NewECN(hpcc, Site{Ports: 2, Random: unit.NewRandom(5, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, bw := range []unit.Size{25, 100, 400} {
		kmin, kmax, rate := 100_000*bw/25, 400_000*bw/25, unit.Rate(bw)*1e9
		if least, most := thresholdsAt(t, hpcc, rate); least != kmin || most != kmax {
			t.Errorf("at %v from %v to %v, want %v to %v", rate, least, most, kmin, kmax)
		}
		marked := func(q unit.Size) (n int) {
			for range 1000 {
				f := capable(true)
				if e.Dequeue(0, f, Queue{Bytes: q, Length: 1000, Rate: rate}); f.FECN {
					n++
				}
			}
			return n
		}
		// In the middle the probability is 0.1: 1000 trials give 40 to 160, or it is one of 10^8.
		if a, b, c := marked(kmin), marked((kmin+kmax)/2), marked(kmax+1); a != 0 || b < 40 || b > 160 || c != 1000 {
			t.Errorf("at %v %d, %d and %d of 1000 are marked", rate, a, b, c)
		}
	}
}

// thresholdsAt returns the thresholds at an output of a rate.
func thresholdsAt(t *testing.T, p ECNParams, rate unit.Rate) (least, most unit.Size) {
	t.Helper()
	there := AtRate(p, rate).(ECNParams)
	if again := AtRate(there, 1e9); again != any(there) {
		t.Errorf("scaled twice: %+v", again)
	}
	return there.Min, there.Max
}
