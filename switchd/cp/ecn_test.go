package cp_test

import (
	"math"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// "p = 0 if q <= Kmin; Pmax (q - Kmin)/(Kmax - Kmin) if Kmin < q <= Kmax; 1 if q > Kmax" (Zhu et
// al. 2015, the marking probability of the congestion point).
func TestECNLine(t *testing.T) {
	c := param.Defaults(cp.ECNParams{})
	c.MaxP = 0.2
	e, err := cp.NewECN(c, cp.Site{Ports: 1, Random: unit.NewRandom(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	const frames = 100_000
	for _, tc := range []struct {
		queue unit.Size
		want  float64
	}{{0, 0}, {5 * unit.KB, 0}, {5*unit.KB + 1, 0.2 / 195_000}, {102_500, 0.1}, {200 * unit.KB, 0.2}, {200*unit.KB + 1, 1}, {unit.MB, 1}} {
		marked := 0
		for range frames {
			f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet}
			why := e.Dequeue(0, &f, cp.Queue{Bytes: tc.queue})
			if f.FECN != (why == trace.EarlyMark) || !f.FECN != (why == trace.NoReason) {
				t.Fatalf("marked %v, for %v", f.FECN, why)
			}
			if f.FECN {
				marked++
			}
		}
		most := 4 * math.Sqrt(frames*tc.want*(1-tc.want)) // standard deviations
		if d := math.Abs(float64(marked) - frames*tc.want); d > most {
			t.Errorf("a queue of %v: %d of %d are marked, want %.4g of them", tc.queue, marked, frames, tc.want)
		}
	}
}

// A packet that does not say that it may be marked is not (RFC 3168, section 5).
func TestECNMarksWhatMayBe(t *testing.T) {
	e, err := cp.NewECN(param.Defaults(cp.ECNParams{}), cp.Site{Ports: 1, Random: unit.NewRandom(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, may := range []bool{true, false} {
		f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2}
		f.SetRoCE(wire.RoCE{ECT: may})
		if e.Dequeue(0, &f, cp.Queue{Bytes: unit.MB}); f.FECN != may {
			t.Errorf("ECT %v: marked %v", may, f.FECN)
		}
	}
}

// Lines that do not rise, or that no queue reaches, are refused.
func TestECNRefuses(t *testing.T) {
	good := cp.ECNParams{Min: 5, Max: 200, MaxP: 0.01}
	for _, change := range []func(*cp.ECNParams, *cp.Site){
		func(c *cp.ECNParams, _ *cp.Site) { c.Max = 5 }, func(c *cp.ECNParams, _ *cp.Site) { c.Min = -1 },
		func(c *cp.ECNParams, _ *cp.Site) { c.MaxP = 0 }, func(c *cp.ECNParams, _ *cp.Site) { c.MaxP = math.NaN() },
		func(_ *cp.ECNParams, s *cp.Site) { s.Random = nil },
	} {
		c, s := good, cp.Site{Random: unit.NewRandom(1, 1)}
		change(&c, &s)
		if e, err := cp.NewECN(c, s); err == nil {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	if wrong := good.CheckRoom(5, 1); len(wrong) != 1 || wrong[0].Key != "min" {
		t.Errorf("a room of 5 bytes: %v", wrong)
	}
}
