package cp

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// The talk's queue: Qeq of 22 frames of 1500 bytes, w = 2.
func talkQCN() QCNParams {
	return QCNParams{Qeq: 33000, Weight: 1, SampleBase: 150000, Priority: 6}
}

func newQCN(t *testing.T, c QCNParams, random ...*unit.Random) *QCN {
	t.Helper()
	s := Site{Ports: 2, Address: 0xAA}
	for _, r := range random {
		s.Random = r
	}
	m, err := NewQCN(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The algorithm, sampled: Fb = (Qeq - q) - w (q - qold), quantised to 63 steps of
// Qeq (2w + 1), negative values alone (the talk, "Basic QCN").
func TestQCNFeedback(t *testing.T) {
	m := newQCN(t, talkQCN())
	for _, c := range []struct {
		q, old unit.Size
		fb     uint8
	}{
		{0, 0, 0},
		{33000, 33000, 0},  // where it should be
		{33000, 66000, 0},  // and falling
		{66000, 66000, 12}, // too long by Qeq: 33000 x 63 / 165000 = 12.6
		{33000, 0, 25},     // grown by Qeq: w x 33000 x 63 / 165000 = 25.2
		{66000, 33000, 37}, // both: 37.8
		{66000, 0, 63},     // the most: Qeq (2w + 1)
		{150000, 0, 63},    // no more than that
		{40000, 47000, 0},  // too long, but falling fast enough: Fb = 7000
		{36000, 34000, 2},  // -3000 - 4000: 2.67
	} {
		if got := m.Feedback(c.q, c.old); got != c.fb {
			t.Errorf("q %v, qold %v: %d, want %d", c.q, c.old, got, c.fb)
		}
	}
}

// The weight is a power of two, from 2^-10 to 2^10 (cpFeedbackWeight), against
// floating point.
func TestQCNWeights(t *testing.T) {
	for weight := -10; weight <= 10; weight++ {
		c := talkQCN()
		c.Weight = weight
		m := newQCN(t, c)
		w := math.Pow(2, float64(weight))
		for q := 0.0; q < 150000; q += 1237 {
			for old := 0.0; old < 150000; old += 4999 {
				fb := (33000 - q) - w*(q-old)
				most := 33000 * (2*w + 1)
				want := uint8(math.Floor(min(max(-fb, 0), most) * 63 / most))
				if got := m.Feedback(unit.Size(q), unit.Size(old)); got != want {
					t.Fatalf("w 2^%d, q %v, qold %v: %d, want %d", weight, q, old, got, want)
				}
			}
		}
	}
}

// data returns a frame of source 3.
func data(psn uint32) *wire.Frame {
	return &wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: 3, Dst: 9, QP: 7, PSN: psn, Payload: 1500, Lane: 2}
}

// gaps returns how many frames pass from one sample to the next, while the queue
// stays at q.
func gaps(m *QCN, q unit.Size, n int) (list []int) {
	since := 0
	for psn := uint32(0); len(list) < n; psn++ {
		m.points[1*8+2].old = q // no growth
		since++
		if _, ok := m.Enqueue(0, data(psn), Queue{Output: 1, Bytes: q}); ok {
			list = append(list, since)
			since = 0
		}
	}
	return list
}

// The standard's table: the more is wrong, the more often frames are sampled, from
// each 150 KB to each 18.5 KB.
func TestQCNSamplingIntervals(t *testing.T) {
	m := newQCN(t, talkQCN())
	for fb, want := range map[uint8]float64{0: 150, 8: 75, 16: 50, 24: 37.5, 32: 30, 40: 25, 48: 21.5, 63: 18.5} {
		if got := float64(m.interval(fb)) / 1000; math.Abs(got-want) > 0.1 {
			t.Errorf("Fb %d: each %v KB, want %v", fb, got, want)
		}
	}
	// 66000 B that do not grow: Fb 12, each 75 KB, which is passed by the 51st frame.
	if got := gaps(m, 66000, 3); got[1] != 51 || got[2] != 51 {
		t.Errorf("samples after %v frames, want 51", got)
	}
}

// With jitter intervals are 85 to 115 % of the table's, evenly.
func TestQCNSamplingJitter(t *testing.T) {
	c := talkQCN()
	c.Jitter = 15
	m := newQCN(t, c, unit.NewRandom(1, 2))
	low, high, sum := math.Inf(1), 0.0, 0.0
	const n = 5000
	for range n {
		v := float64(m.interval(0))
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	if low < 127500 || low > 128000 || high > 172500 || high < 172000 || math.Abs(sum/n-150000) > 600 {
		t.Errorf("%.0f to %.0f, mean %.0f", low, high, sum/n)
	}
}

// The talk's sampling: a share of all frames, from 1 % to 10 %, in a line with |Fb|.
func TestQCNSamplingOfTheTalk(t *testing.T) {
	c := talkQCN()
	c.Sampling = Linear
	m := newQCN(t, c, unit.NewRandom(1, 3))
	for _, q := range []unit.Size{40000, 66000, 120000, 198000} {
		fb := m.Feedback(q, q)
		want := 0.01 + 0.09*float64(fb)/63
		n := 0
		for _, g := range gaps(m, q, 3000) {
			n += g
		}
		if got := 3000 / float64(n); math.Abs(got/want-1) > 0.06 {
			t.Errorf("Fb %d: %.4f of the frames, want %.4f", fb, got, want)
		}
	}
}

// What goes back to the source of the sampled frame.
func TestQCNNotification(t *testing.T) {
	c := talkQCN()
	c.Octets = 20
	m := newQCN(t, c)
	m.points[1*8+2] = qcnPoint{old: 40000, left: 1000}
	got, ok := m.Enqueue(5, data(77), Queue{Output: 1, Bytes: 50000})
	want := wire.Frame{
		Kind: wire.Notification, Lane: 6, Src: 0xAA, Dst: 3, QP: 7, PSN: 77, Payload: 1500,
		Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 14, Octets: 20, Lane: 2, Dst: 9, QOffset: -17000 / 64, QDelta: 10000 / 64}), CPID: 0xAA0102,
	}
	if !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	if p := m.points[1*8+2]; p.old != 50000 || p.left != 75000 {
		t.Errorf("it goes on from %+v", p)
	}
	// Its bytes say the same.
	b := got.Append(nil)
	if back, err := wire.Parse(got.Delimiter(), b); err != nil || back != got {
		t.Errorf("%+v became %+v, %v", got, back, err)
	}
	// Other queues are their own points.
	if p := m.points[1*8+3]; p.old != 0 || p.left != 150000 {
		t.Errorf("another priority has %+v", p)
	}
	// A sample that has nothing to complain about is one all the same.
	m.points[0] = qcnPoint{old: 9000, left: 0}
	f := data(1)
	f.Lane = 0
	if _, ok := m.Enqueue(5, f, Queue{Output: 0, Bytes: 3000}); ok || m.points[0].old != 3000 {
		t.Errorf("told %v, qold %v", ok, m.points[0].old)
	}
}

// Without octets of the sampled frame a CN-TAG alone says which flow it was of.
func TestQCNNotificationWithoutOctets(t *testing.T) {
	for _, tagged := range []bool{false, true} {
		m := newQCN(t, talkQCN())
		m.points[1*8+2].left = 0
		f := data(77)
		f.QP, f.Tagged = 0x51234, tagged
		got, ok := m.Enqueue(5, f, Queue{Output: 1, Bytes: 50000})
		want := uint32(0)
		if tagged {
			want = 0x1234
		}
		if !ok || got.QP != want || got.PSN != 0 {
			t.Errorf("tagged %v: QP %x, PSN %d, told %v; want QP %x", tagged, got.QP, got.PSN, ok, want)
		}
		if back, err := wire.Parse(got.Delimiter(), got.Append(nil)); err != nil || back != got {
			t.Errorf("%+v became %+v, %v", got, back, err)
		}
	}
}

func TestQCNOffsetsAreCut(t *testing.T) {
	for n, want := range map[unit.Size]int16{0: 0, 63: 0, -63: 0, 64: 1, -640: -10, 1 << 40: math.MaxInt16, -1 << 40: math.MinInt16} {
		if got := in64(n); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}

func TestQCNMistakes(t *testing.T) {
	for want, change := range map[string]func(*QCNParams){
		`qeq: "99B"`:    func(c *QCNParams) { c.Qeq = 99 },
		`weight: "11"`:  func(c *QCNParams) { c.Weight = 11 },
		"sample-base: ": func(c *QCNParams) { c.SampleBase = 9999 },
		`octets: "65"`:  func(c *QCNParams) { c.Octets = 65 },
		"13 octets":     func(c *QCNParams) { c.Octets = 13 },
	} {
		c := talkQCN()
		change(&c)
		if _, err := NewQCN(c, Site{Ports: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Lost notifications are lost at random, and nothing else changes: the queue is sampled
// as before.
func TestQCNLosesNotifications(t *testing.T) {
	sent := func(lost int) int {
		m, err := NewQCN(QCNParams{Qeq: 33_000, Weight: 1, SampleBase: 150_000, Octets: 14, Lost: lost}, Site{Ports: 1, Random: unit.NewRandom(1, 1)})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range 100_000 {
			if _, ok := m.Enqueue(0, &wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: 1500, Src: 1, Dst: 2}, Queue{Bytes: 80_000}); ok {
				n++
			}
		}
		return n
	}
	all, half, none := sent(0), sent(50), sent(100)
	if none != 0 || half < all*45/100 || half > all*55/100 || all < 1000 {
		t.Errorf("%d notifications, %d when half are lost, %d when all are", all, half, none)
	}
	if _, err := NewQCN(QCNParams{Qeq: 33_000, SampleBase: 150_000, Lost: 101}, Site{Ports: 1}); err == nil {
		t.Error("101 % are lost")
	}
}

// A notification about a packet of RoCEv2 quotes all its headers, and comes back from its bytes as
// it is: of both schemes, over both versions of IP, and no longer than its parameters say.
func TestNotificationsQuoteRoCE(t *testing.T) {
	c := talkQCN()
	c.Octets = 14
	for _, v6 := range []bool{false, true} {
		f := data(77)
		f.Family, f.Payload = wire.RoCEv2, 1024
		f.SetRoCE(wire.RoCE{IPv6: v6, DSCP: 26, ECT: true, AckReq: true})
		m, b := newQCN(t, c), newBCN(t, nil)
		m.points[1*8+2] = qcnPoint{old: 40000, left: 0}
		cnm, ok := m.Enqueue(5, f, Queue{Output: 1, Bytes: 50000})
		bcn, told := b.Enqueue(5, f, Queue{Output: 1, Bytes: 50000})
		if !ok || !told || cnm.Sampled().Octets != map[bool]uint8{false: 42, true: 62}[v6] {
			t.Fatalf("IPv6 %v: %+v, %v, and %+v, %v", v6, cnm, ok, bcn, told)
		}
		for _, n := range []struct{ said, most wire.Frame }{{cnm, c.Traits().Notice(f)}, {bcn, b.c.Traits().Notice(f)}} {
			back, err := wire.Parse(n.said.Delimiter(), n.said.Append(nil))
			if err != nil || back != n.said || back.QP != f.QP || back.PSN != f.PSN {
				t.Errorf("%+v became %+v, %v", n.said, back, err)
			}
			if n.said.WireSize() > n.most.WireSize() {
				t.Errorf("%+v has %v, and %v at most", n.said, n.said.WireSize(), n.most.WireSize())
			}
		}
	}
}
