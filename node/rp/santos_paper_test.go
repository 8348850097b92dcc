package rp_test

import (
	"fmt"
	"math"
	"testing"

	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// The algorithms of Santos, Turner and Janakiraman, sentence by sentence. The sources:
// HPL-2002-224 ("Evaluation of Congestion Detection Mechanisms for InfiniBand
// Switches"), US 7,920,476 ("Network Congestion Control"), which claims the algorithms, and
// the authors' report at INFOCOM 2003, which compares them.

// HPL-2002-224, Table I: a link of 1 GB/s, a data packet of 2068 bytes.
const (
	rmax   = unit.Rate(8e9)
	packet = unit.Size(2068)
)

// algorithm returns a reaction point on the paper's link.
func algorithm(t testing.TB, name string, ratio int64, m float64) rp.Controller {
	t.Helper()
	c, err := config{name, rmax, ratio, packet, m}.make()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// feed hands over n ACKs, marked or not.
func feed(c rp.Controller, n int, marked bool) {
	for range n {
		c.Feedback(0, wire.Frame{Kind: wire.Ack, BECN: marked})
	}
}

// clone returns a reaction point in the same state.
func clone(t *testing.T, c rp.Controller) rp.Controller {
	t.Helper()
	switch c := c.(type) {
	case *rp.LIPD:
		d := *c
		return &d
	case *rp.FIMD:
		d := *c
		return &d
	case *rp.AIMD:
		d := *c
		return &d
	default:
		t.Fatalf("%T cannot be copied", c)
		return nil
	}
}

// near says whether a rate is what a formula gives, but for whole picoseconds and
// whole bits per second.
func near(got unit.Rate, want float64) bool {
	return math.Abs(float64(got)-want) <= 1+2e-6*want
}

// fInc and fDec are the algorithms as the sources state them, on real numbers.
func fInc(name string, r, ratio, m float64) float64 {
	top := float64(rmax)
	bottom := top / ratio
	switch name {
	case "lipd":
		return math.Min(r/(1-bottom/top), top)
	case "fimd":
		return math.Min(r*math.Pow(m, bottom/r), top)
	default:
		return math.Min(r+(m-1)*bottom*bottom/r, top)
	}
}

func fDec(name string, r, ratio, m float64) float64 {
	top := float64(rmax)
	if name == "lipd" {
		return math.Max(r/(1+r/top), top/ratio)
	}
	return math.Max(r/m, top/ratio)
}

type caseOf struct {
	name  string
	ratio int64
	m     float64
}

func (c caseOf) String() string { return fmt.Sprintf("%s, ratio %d, m %v", c.name, c.ratio, c.m) }

// cases are the algorithms with the parameters that are tried; m means nothing to LIPD.
func cases() []caseOf {
	var all []caseOf
	for _, ratio := range []int64{2, 16, 256, 1024, 65536} {
		all = append(all, caseOf{"lipd", ratio, 0})
		for _, m := range []float64{1.25, 2, 4} {
			all = append(all, caseOf{"fimd", ratio, m}, caseOf{"aimd", ratio, m})
		}
	}
	return all
}

// walk visits states of a reaction point: long runs of marks and of none, and
// single ones, at random. It calls visit at each.
func walk(t *testing.T, tc caseOf, visit func(c rp.Controller)) {
	t.Helper()
	c := algorithm(t, tc.name, tc.ratio, tc.m)
	random := unit.NewRandom(6, uint64(tc.ratio))
	for range 3000 {
		visit(c)
		n := 1
		if random.Below(20) == 0 {
			n = 1 + int(random.Below(400))
		}
		feed(c, n, random.Below(3) == 0)
	}
}

// US 7,920,476, claim 1: the rate is increased "according to an increase function if
// the marks of the return datapackets indicate no network congestion", and decreased
// "according to a decrease function" if they do.
//
//	LIPD  f_dec(r) = max(r / (1 + r/Rmax), Rmin)     f_inc(r) = min(r / (1 - Rmin/Rmax), Rmax)
//	FIMD  f_dec(r) = max(r/m, Rmin) (claim 3)        f_inc(r) = min(r * m^(Rmin/r), Rmax) (claim 2)
//	AIMD  f_dec(r) = max(r/m, Rmin)                  f_inc(r) = min(r + (m-1) Rmin^2/r, Rmax)
func TestIncreaseAndDecreaseFunctions(t *testing.T) {
	for _, tc := range cases() {
		walk(t, tc, func(c rp.Controller) {
			if t.Failed() {
				return
			}
			r := float64(c.Rate())
			up, down := clone(t, c), clone(t, c)
			feed(up, 1, false)
			feed(down, 1, true)
			// The state is finer than the rate that is shown, by half a bit per second.
			slack := 2 + float64(rmax)/float64(tc.ratio)*1e-5
			if want := fInc(tc.name, r, float64(tc.ratio), tc.m); !near(up.Rate(), want) && math.Abs(float64(up.Rate())-want) > slack {
				t.Errorf("%v: from %v an unmarked ACK leads to %v, want %.1fb/s", tc, c.Rate(), up.Rate(), want)
			}
			if want := fDec(tc.name, r, float64(tc.ratio), tc.m); !near(down.Rate(), want) && math.Abs(float64(down.Rate())-want) > slack {
				t.Errorf("%v: from %v a marked ACK leads to %v, want %.1fb/s", tc, c.Rate(), down.Rate(), want)
			}
		})
	}
}

// LIPD is linear in the inter-packet delay: each mark adds one packet time to it, so
// that after k of them in a row the rate is Rmax/(k+1).
func TestLIPDMarksAddPacketTimes(t *testing.T) {
	c := algorithm(t, "lipd", 256, 0)
	for k := range 256 {
		if want := float64(rmax) / float64(k+1); !near(c.Rate(), want) {
			t.Errorf("after %d marks the rate is %v, want %.0fb/s", k, c.Rate(), want)
		}
		if got, want := c.Rate().Serialise(packet), packetTimes(k+1); (got-want).Seconds() > 1e-9 || (want-got).Seconds() > 1e-9 {
			t.Errorf("after %d marks the delay is %v, want %v", k, got, want)
		}
		feed(c, 1, true)
	}
}

func packetTimes(n int) unit.Duration { return unit.Duration(n) * rmax.Serialise(packet) }

// A flow starts at Rmax; "R min is a predetermined minimum injection rate; R max is
// a predetermined maximum injection rate" (claim 2): no feedback leads past them.
func TestLimits(t *testing.T) {
	for _, tc := range cases() {
		c := algorithm(t, tc.name, tc.ratio, tc.m)
		if c.Rate() != rmax {
			t.Errorf("%v: starts at %v, want %v", tc, c.Rate(), rmax)
		}
		feed(c, 10, false)
		if c.Rate() != rmax {
			t.Errorf("%v: unmarked ACKs lead to %v, above %v", tc, c.Rate(), rmax)
		}
		feed(c, int(tc.ratio)+100, true)
		if want := float64(rmax) / float64(tc.ratio); !near(c.Rate(), want) {
			t.Errorf("%v: marks lead to %v, want Rmin, %.1fb/s", tc, c.Rate(), want)
		}
		low := c.Rate()
		feed(c, 10, true)
		if c.Rate() != low {
			t.Errorf("%v: at Rmin a mark leads to %v", tc, c.Rate())
		}
	}
	for _, tc := range cases() {
		if tc.name == "aimd" || tc.ratio > 1024 {
			continue // it gets there, after millions of ACKs
		}
		c := algorithm(t, tc.name, tc.ratio, tc.m)
		feed(c, int(tc.ratio)+100, true)
		feed(c, 20*int(tc.ratio), false)
		if c.Rate() != rmax {
			t.Errorf("%v: from Rmin unmarked ACKs lead to %v, want Rmax again", tc, c.Rate())
		}
	}
}

// To avoid congestion, one unmarked ACK must not undo a mark: f_inc(f_dec(r)) <= r,
// over all rates from which a mark is not cut short at Rmin. (At Rmin itself nothing
// is left to take away, and the next unmarked ACK raises the rate.)
func TestOneUnmarkedACKDoesNotUndoAMark(t *testing.T) {
	for _, tc := range cases() {
		if tc.ratio == 2 {
			continue // from hardly any rate
		}
		tried := 0
		walk(t, tc, func(c rp.Controller) {
			r := float64(c.Rate())
			bottom := float64(rmax) / float64(tc.ratio)
			if r < fInc(tc.name, bottom, float64(tc.ratio), tc.m)*1.000001 {
				return
			}
			tried++
			after := clone(t, c)
			feed(after, 1, true)
			feed(after, 1, false)
			if float64(after.Rate()) > r+1 {
				t.Errorf("%v: from %v one mark and one unmarked ACK lead to %v, which is more", tc, c.Rate(), after.Rate())
			}
		})
		if tried < 100 {
			t.Errorf("%v: only %d rates were tried", tc, tried)
		}
	}
}

// recovery lets a flow that sends a packet as soon as its rate allows take a mark,
// and counts the ACKs and the time until it is back at its rate: "the duration of
// time elapsed from the time the flow rate is decreased from the particular rate r
// due to network congestion, until the time the flow rate recovers to the particular
// rate r" (claim 1).
func recovery(c rp.Controller) (low unit.Rate, acks int, took unit.Duration) {
	before := c.Rate()
	feed(c, 1, true)
	low = c.Rate()
	for float64(c.Rate()) < float64(before)*(1-2e-6) {
		took += c.Rate().Serialise(packet)
		feed(c, 1, false)
		acks++
	}
	return low, acks, took
}

// "The recovery time is a constant value for at least two different flow rates,
// regardless of differing amounts by which the at least two different flow rates are
// decreased" (claim 1). Where only one packet is sent in 1/Rmin that constant is
// 1/Rmin, so it is 1/Rmin at every rate, seen when the next ACK comes.
func TestRecoveryTimeIsConstant(t *testing.T) {
	for _, tc := range []caseOf{
		{"lipd", 16, 0}, {"lipd", 256, 0}, {"lipd", 1024, 0},
		{"fimd", 16, 2}, {"fimd", 256, 2}, {"fimd", 1024, 2}, {"fimd", 256, 1.25}, {"fimd", 256, 4},
	} {
		want := packetTimes(int(tc.ratio)) // 1/Rmin
		bottom := float64(rmax) / float64(tc.ratio)
		tried := 0
		for marks := 0; ; marks = marks*5/4 + 1 {
			for _, more := range []int{0, 1, 7} { // rates between those that marks alone lead to
				c := algorithm(t, tc.name, tc.ratio, tc.m)
				feed(c, marks, true)
				feed(c, more, false)
				r := c.Rate()
				if fDec(tc.name, float64(r), math.Inf(1), tc.m) < bottom {
					continue // the mark would be cut short at Rmin
				}
				tried++
				low, acks, took := recovery(c)
				one := low.Serialise(packet)
				if took < want-want/1000 || took > want+one+want/1000 {
					t.Errorf("%v: from %v it takes %d ACKs and %v to be back from %v, want 1/Rmin, %v, and at most one packet time, %v, more", tc, r, acks, took, low, want, one)
				}
			}
			if marks > int(tc.ratio) {
				break
			}
		}
		if tried < 5 {
			t.Errorf("%v: only %d rates were tried", tc, tried)
		}
	}
}

// AIMD under the same design meets it at Rmin only: dr/dt = (m-1) Rmin^2, so that
// from r/m it takes (r/m)/Rmin^2, which is 1/Rmin only where r/m is Rmin. "Larger
// rates take longer": of the three algorithms it is the slowest to take back bandwidth.
func TestAIMDRecoversSlower(t *testing.T) {
	const ratio, m = 256, 2.0
	rmin := 1 / packetTimes(ratio).Seconds() // packets per second
	last := 0.0
	for marks := 7; marks >= 0; marks-- {
		c := algorithm(t, "aimd", ratio, m)
		feed(c, marks, true)
		r := c.Rate()
		low, acks, took := recovery(c)
		want := float64(low) / (float64(rmax) / ratio) / rmin
		t.Logf("%10v -> %10v: back after %6d ACKs, %.3f ms; the formula gives %.3f ms", r, low, acks, took.Seconds()*1e3, want*1e3)
		if got, one := took.Seconds(), low.Serialise(packet).Seconds(); got < want*0.999 || got > want*1.001+one {
			t.Errorf("from %v it takes %v, want %.3f ms", r, took, want*1e3)
		}
		if took.Seconds() <= last {
			t.Errorf("from %v it takes %v, no longer than from half the rate", r, took)
		}
		last = took.Seconds()
	}
	_, _, lipd := recovery(algorithm(t, "lipd", ratio, 0))
	_, _, fimd := recovery(algorithm(t, "fimd", ratio, m))
	if last < 100*lipd.Seconds() || last < 100*fimd.Seconds() {
		t.Errorf("from Rmax AIMD takes %v s, LIPD %v, FIMD %v; want 128 times as much", last, lipd, fimd)
	}
}

// "A more efficient variation for this environment that we term LIPD" (HPL-2002-224,
// footnote 1), in figures: with Rmax/Rmin = 1024, 1/Rmin is 2.1 ms; one mark at Rmax
// halves the rate, and ln 2 * 1024, about 710, unmarked ACKs make it good. With 256
// it is 529 µs and 177 ACKs.
func TestLIPDInFigures(t *testing.T) {
	for _, tc := range []struct {
		ratio int64
		acks  int
		took  unit.Duration
	}{
		{1024, 710, 2117 * unit.Microsecond},
		{256, 177, 529 * unit.Microsecond},
	} {
		c := algorithm(t, "lipd", tc.ratio, 0)
		low, acks, took := recovery(c)
		t.Logf("ratio %d: %v after a mark, back after %d ACKs and %v; ln 2 * %d = %.1f", tc.ratio, low, acks, took, tc.ratio, math.Ln2*float64(tc.ratio))
		if low != rmax/2 {
			t.Errorf("ratio %d: a mark at Rmax leads to %v, want half of it", tc.ratio, low)
		}
		if acks < tc.acks-1 || acks > tc.acks+2 {
			t.Errorf("ratio %d: back after %d ACKs, want about %d", tc.ratio, acks, tc.acks)
		}
		if d := took - tc.took; d < -2*unit.Microsecond || d > 5*unit.Microsecond {
			t.Errorf("ratio %d: back after %v, want about %v", tc.ratio, took, tc.took)
		}
	}
}
