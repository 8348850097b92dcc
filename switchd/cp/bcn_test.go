package cp

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The rules of BCN's congestion point, each with the slide of July 2006 that has it ("BCN:
// Analytical Model and Simulation Study", R. Jain).

// newBCN returns points that sample every frame, with a Qeq of 16 frames of 1500 bytes.
func newBCN(t *testing.T, change func(c *BCNParams)) *BCN {
	t.Helper()
	c := param.Defaults(BCNParams{})
	c.Pm = 1
	if change != nil {
		change(&c)
	}
	b, err := NewBCN(c, Site{Ports: 2, Address: 0xAA, Random: unit.NewRandom(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// point is the CPID of the point for priority 2 at port 1: 2 bytes of port, 6 of MAC.
const point = 0x000A_0200_0000_00AA

// tagged returns a data frame with a rate-limited tag; 0: without.
func tagged(cpid uint64) *wire.Frame {
	f := data(7)
	f.CPID = cpid
	return f
}

// frames16 is 16 frames of 1500 bytes in the unit of messages, 64 octets.
const frames16 = 375

// "Qoff = min{Qeq, Qeq-Qlen}, range [-Qeq, +Qeq]; Qdelta = max{min{2Qeq, #pktArrival -
// #pktDeparture}, -2Qeq}". "Negative to any, positive only to who carries the tag of this
// congestion point" (US patent 7,961,621, claim 1).
func TestBCNMessages(t *testing.T) {
	for _, c := range []struct {
		name         string
		old, q       unit.Size
		cpid         uint64
		sent         bool
		qoff, qdelta int16
		flags        uint8
	}{
		{"above Qeq", 25500, 27000, 0, true, -47, 23, wire.BCNMild},
		{"both clamps", 0, 120000, 0, true, -frames16, 2 * frames16, wire.BCNMild},
		{"above and falling", 120000, 30000, 0, true, -94, -2 * frames16, wire.BCNMild},
		{"above, with the tag", 0, 48000, point, true, -frames16, 2 * frames16, wire.BCNMild},
		{"below, without a tag", 0, 12000, 0, false, 0, 0, 0},
		{"below, with the tag", 0, 12000, point, true, 188, 188, 0},
		{"below, with the tag of another", 0, 12000, point + 1, false, 0, 0, 0},
		{"empty", 120000, 0, point, true, frames16, -2 * frames16, 0},
		{"at Qeq, growing", 0, 24000, point, true, 0, frames16, 0},
		{"at Qeq, growing, without a tag", 0, 24000, 0, false, 0, 0, 0},
		{"in equilibrium", 24000, 24000, point, false, 0, 0, 0},
		{"a byte above it", 24001, 24001, 0, false, 0, 0, 0}, // nothing that a message can tell
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBCN(t, nil)
			f := tagged(c.cpid)
			b.Enqueue(0, f, Queue{Output: 1, Bytes: c.old})
			m, ok := b.Enqueue(0, f, Queue{Output: 1, Bytes: c.q})
			if ok != c.sent {
				t.Fatalf("sent %v: %+v", ok, m)
			}
			want := wire.Frame{
				Kind: wire.BCN, Lane: 6, Src: 0xAA, Dst: 3, CPID: point, Flags: c.flags, Extension: wire.ExtensionOf(wire.SampleExtension{QOffset: c.qoff, QDelta: c.qdelta, Lane: 2, Dst: 9}),
				QP: f.QP, PSN: f.PSN, Payload: f.Payload,
			}
			if ok && m != want {
				t.Errorf("%+v\nwant %+v", m, want)
			}
		})
	}
}

// Each priority of each output has its own queue, and what was sampled there last.
func TestBCNPointsAreApart(t *testing.T) {
	b := newBCN(t, nil)
	other := *data(1)
	other.Lane = 3
	b.Enqueue(0, data(0), Queue{Output: 1, Bytes: 30000})
	for _, c := range []struct {
		f      *wire.Frame
		output int
		qdelta int16
		cpid   uint64
	}{{&other, 1, 469, point + 1<<48}, {data(2), 0, 469, 0x0002_0200_0000_00AA}, {data(3), 1, 0, point}} {
		if m, ok := b.Enqueue(0, c.f, Queue{Output: c.output, Bytes: 30000}); !ok || m.Sampled().QDelta != c.qdelta || m.CPID != c.cpid {
			t.Errorf("%+v, want Qdelta %d of %#x", m, c.qdelta, c.cpid)
		}
	}
	b.Reset()
	if m, _ := b.Enqueue(0, data(4), Queue{Output: 1, Bytes: 30000}); m.Sampled().QDelta != 469 {
		t.Errorf("after a restart Qdelta is %d", m.Sampled().QDelta)
	}
}

// "BCN(0,0) is sent when the queue is severely congested", beyond Qsc, to any; BCN_MAX has the
// most negative values.
func TestBCNSevereAndMaximum(t *testing.T) {
	for _, c := range []struct {
		q            unit.Size
		severe       bool
		maximum      unit.Size
		qoff, qdelta int16
		flags        uint8
	}{
		{96000, true, 0, -frames16, 2 * frames16, wire.BCNMild}, // at Qsc, four times Qeq, not beyond
		{96001, true, 0, 0, 0, wire.BCNSevere | wire.BCNMild},
		{96001, false, 0, -frames16, 2 * frames16, wire.BCNMild},
		{25500, false, 25499, -frames16, 2 * frames16, wire.BCNMax | wire.BCNMild},
		{25500, false, 25500, -23, 398, wire.BCNMild},
		{97500, true, 30000, 0, 0, wire.BCNSevere | wire.BCNMild}, // to stop is more
	} {
		b := newBCN(t, func(p *BCNParams) { p.Severe, p.Maximum = c.severe, c.maximum })
		m, ok := b.Enqueue(0, data(0), Queue{Output: 1, Bytes: c.q})
		if !ok || m.Sampled().QOffset != c.qoff || m.Sampled().QDelta != c.qdelta || m.Flags != c.flags {
			t.Errorf("%+v: %v, Qoff %d, Qdelta %d, flags %#x", c, ok, m.Sampled().QOffset, m.Sampled().QDelta, m.Flags)
		}
	}
}

// "In the original BCN message, sending back Qoff=0, Qdelta=0 to indicate the severe
// congestion ... is very likely when the queue operates at the equilibrium".
func TestBCNZerosInEquilibrium(t *testing.T) {
	for _, zeros := range []bool{false, true} {
		b := newBCN(t, func(p *BCNParams) { p.Zeros = zeros })
		b.Enqueue(0, data(0), Queue{Output: 1, Bytes: 24000})
		if m, ok := b.Enqueue(0, tagged(point), Queue{Output: 1, Bytes: 24000}); ok != zeros || ok && (m.Sampled().QOffset != 0 || m.Sampled().QDelta != 0 || m.Flags != 0) {
			t.Errorf("zeros %v: sent %v, %+v", zeros, ok, m)
		}
		if m, ok := b.Enqueue(0, data(0), Queue{Output: 1, Bytes: 24000}); ok {
			t.Errorf("sent to who is not limited: %+v", m)
		}
	}
}

// "Queue is sampled randomly with probability Pm"; or every 1/Pm frames, jittered.
func TestBCNSampling(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		sampling string
		pm       float64
		jitter   int
		low      int // the shortest and the longest interval; random: of a hundred thousand and more
		high     int
	}{
		{"random", 0.01, 0, 1, math.MaxInt},
		{"random", 0.1, 0, 1, math.MaxInt},
		{IntervalSampling, 0.01, 15, 85, 115},
		{IntervalSampling, 0.1, 0, 10, 10},
		{IntervalSampling, 1, 50, 1, 2},
	} {
		b := newBCN(t, func(p *BCNParams) { p.Sampling, p.Pm, p.Jitter = c.sampling, c.pm, c.jitter })
		samples, last, short, long := 0, 0, math.MaxInt, 0
		for i := 1; i <= n; i++ {
			if _, ok := b.Enqueue(0, data(0), Queue{Output: 1, Bytes: 30000}); ok {
				samples++
				short, long, last = min(short, i-last), max(long, i-last), i
			}
		}
		// Three deviations of a binomial distribution; an interval spreads less.
		want := n * c.pm
		if diff := math.Abs(float64(samples) - want); diff > 3*math.Sqrt(want)+1 && c.pm < 1 {
			t.Errorf("%s, Pm %v: %d samples of %d", c.sampling, c.pm, samples, n)
		}
		if short < c.low || long > c.high || c.sampling == "random" && (short != 1 || float64(long) < 4/c.pm) {
			t.Errorf("%s, Pm %v: intervals from %d to %d, want %d to %d", c.sampling, c.pm, short, long, c.low, c.high)
		}
	}
}

// Jain's enhancement: "Need to add bottleneck rate to the BCN message".
func TestBCNTellsTheBottleneck(t *testing.T) {
	b := newBCN(t, func(p *BCNParams) { p.Rate = true })
	for _, c := range []struct {
		rate unit.Rate
		want uint16
	}{{10e9, 1000}, {1e9, 100}, {504e6, 50}, {505e6, 51}, {1e6, 1}, {800e9, 65535}} {
		if m, _ := b.Enqueue(0, data(0), Queue{Output: 1, Bytes: 30000, Rate: c.rate}); m.Sampled().Bottleneck != c.want {
			t.Errorf("%v is told as %d", c.rate, m.Sampled().Bottleneck)
		}
	}
	if m, _ := newBCN(t, nil).Enqueue(0, data(0), Queue{Output: 1, Bytes: 30000, Rate: 10e9}); m.Sampled().Bottleneck != 0 {
		t.Errorf("%d is told without it", m.Sampled().Bottleneck)
	}
}

// Messages can be lost, and tags where they are read: what is below Qeq is then not told.
func TestBCNLosses(t *testing.T) {
	const n = 10_000
	for _, c := range []struct {
		name       string
		lost, tags int
		q          unit.Size
		low, high  int
	}{
		{"none", 0, 0, 12000, n, n},
		{"30 % of the messages", 30, 0, 30000, 6800, 7200},
		{"30 % of the tags", 0, 30, 12000, 6800, 7200},
		{"all tags", 0, 100, 12000, 0, 0},
		{"all tags, above Qeq", 0, 100, 30000, n, n},
		{"all messages", 100, 0, 30000, 0, 0},
	} {
		b := newBCN(t, func(p *BCNParams) { p.Lost, p.LostTags = c.lost, c.tags })
		sent := 0
		for range n {
			if _, ok := b.Enqueue(0, tagged(point), Queue{Output: 1, Bytes: c.q}); ok {
				sent++
			}
		}
		if sent < c.low || sent > c.high {
			t.Errorf("%s: %d of %d messages are sent", c.name, sent, n)
		}
	}
}

// ECM: "Qeq = 75 KB", "Psample = 2 %", "BCN_MAX enabled, threshold = 280 KB", "No BCN(0,0)".
func TestECMDefaults(t *testing.T) {
	p := BCNParams{Version: ECM}
	p.Complete(func(string) bool { return false })
	if p.Qeq != 75000 || p.Pm != 0.02 || p.Maximum != 280000 || p.Severe {
		t.Errorf("%+v", p)
	}
}

func TestNewBCNRefuses(t *testing.T) {
	site := Site{Ports: 2, Random: unit.NewRandom(1, 1)}
	for _, c := range []struct {
		words  string
		change func(p *BCNParams)
	}{
		{"qeq: ", func(p *BCNParams) { p.Qeq = 63 }},
		{"Qeq is", func(p *BCNParams) { p.Qeq = bcnMost }},
		{"pm: ", func(p *BCNParams) { p.Pm = 0 }},
		{"pm: ", func(p *BCNParams) { p.Pm = math.NaN() }},
		{"jitter: ", func(p *BCNParams) { p.Jitter = 100 }},
		{"priority: ", func(p *BCNParams) { p.Priority = 8 }},
		{"lost-tags: ", func(p *BCNParams) { p.LostTags = 101 }},
		{"above Qeq", func(p *BCNParams) { p.Severe, p.Qsc = true, 64 }},
		{"above Qeq", func(p *BCNParams) { p.Maximum = 24000 }},
	} {
		p := param.Defaults(BCNParams{})
		c.change(&p)
		if _, err := NewBCN(p, site); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
}
