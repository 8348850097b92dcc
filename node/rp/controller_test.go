package rp_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// config is one of the algorithms of the HP papers, with the parameters that it has.
type config struct {
	algorithm string
	line      unit.Rate
	ratio     int64
	length    unit.Size
	factor    float64
}

// clocked are those algorithms.
var clocked = []string{"fixed", "lipd", "fimd", "aimd"}

func (c config) make() (rp.Controller, error) {
	site, ratio, factor := rp.Site{Line: c.line, Length: c.length}, rp.Ratio{RmaxOverRmin: c.ratio}, rp.Factor{M: c.factor}
	switch c.algorithm {
	case "fixed":
		return rp.NewFixed(c.line), nil
	case "lipd":
		return either(rp.NewLIPD(rp.LIPDParams{Ratio: ratio}, site))
	case "fimd":
		return either(rp.NewFIMD(rp.MultiplicativeParams{Ratio: ratio, Factor: factor}, site))
	case "aimd":
		return either(rp.NewAIMD(rp.MultiplicativeParams{Ratio: ratio, Factor: factor}, site))
	}
	panic("no algorithm " + c.algorithm)
}

// either returns a controller or an error.
func either[C rp.Controller](c C, err error) (rp.Controller, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// An algorithm refuses what could never work, and says which parameter it is.
func TestNewRefuses(t *testing.T) {
	good := config{"fimd", rmax, 256, packet, 2}
	if _, err := good.make(); err != nil {
		t.Fatalf("%+v is refused: %v", good, err)
	}
	for _, tc := range []struct {
		name   string
		change func(c *config)
		want   string // part of the message
	}{
		{"no rate", func(c *config) { c.line = 0 }, "rate 0b/s"},
		{"a negative rate", func(c *config) { c.line = -1 }, "must be positive"},
		{"no length", func(c *config) { c.length = 0 }, "packet 0B"},
		{"no ratio", func(c *config) { c.ratio = 0 }, `rmax-over-rmin: "0" is not a whole number`},
		{"a lowest rate of nothing", func(c *config) { c.line, c.ratio = 255, 256 }, "the lowest rate, 255b/s over 256, is less than 1b/s"},
		{"a factor of 1", func(c *config) { c.factor = 1 }, "factor: 1 is out of range"},
		{"no factor", func(c *config) { c.algorithm, c.factor = "aimd", 0 }, "factor: 0 is out of range"},
		{"a factor that is not a number", func(c *config) { c.factor = math.NaN() }, `factor: "NaN" is not a number`},
	} {
		c := good
		tc.change(&c)
		got, err := c.make()
		if err == nil || !strings.Contains(err.Error(), tc.want) || got != nil {
			t.Errorf("%s: %v, %v; want an error with %q", tc.name, got, err, tc.want)
		}
	}
}

// Each row of the table makes an algorithm of its defaults; its parameters are documented and
// readable.
func TestAlgorithms(t *testing.T) {
	for _, l := range rp.Algorithms() {
		c, err := l.New(param.Defaults(l.Params), rp.Site{Line: rmax, Length: packet, Random: unit.NewRandom(1, 1)})
		if err != nil || c.Rate() != rmax {
			t.Errorf("%s: %v, %v", l.Name, c, err)
		}
		for _, p := range param.Of(l.Params).Params {
			if len(p.Doc) < 10 || !strings.HasSuffix(p.Doc, ".") || p.Default+p.Computed == "" {
				t.Errorf("%s: %s is not documented: %+v", l.Name, p.Key, p)
			}
		}
	}
}

// The algorithms of the HP papers change only when an ACK comes:
// what is sent and what time it is mean nothing to them.
func TestAlgorithmsAreACKClocked(t *testing.T) {
	for _, name := range clocked {
		c := algorithm(t, name, 256, 2)
		feed(c, 3, true)
		feed(c, 1, false)
		r := c.Rate()
		for i := range 100 {
			c.Sent(unit.Time(i), packet)
			c.Advance(unit.Time(i) * unit.Time(unit.Second))
		}
		if c.Rate() != r {
			t.Errorf("%s: without feedback the rate went from %v to %v", name, r, c.Rate())
		}
		if c.Deadline() != unit.Never {
			t.Errorf("%s: a deadline at %v, want none", name, c.Deadline())
		}
		if name == "fixed" && r != rmax {
			t.Errorf("fixed: marks lead to %v", r)
		}
	}
}

// A delay of few picoseconds shrinks by whole ones: it does not stay where its
// Rmin/Rmax-th part is less than one.
func TestLIPDRecoversAtShortDelays(t *testing.T) {
	c, err := config{"lipd", 400e9, 1 << 20, 64, 0}.make()
	if err != nil {
		t.Fatal(err)
	}
	feed(c, 4, true) // 6400 ps
	feed(c, 6400-1280, false)
	if c.Rate() != 400e9 {
		t.Errorf("the rate is %v, want 400Gb/s again", c.Rate())
	}
}

// Where a packet time is not a whole number of picoseconds, a flow that has recovered
// has Rmax again, not what its rounded delay amounts to.
func TestLIPDIsBackAtRmaxExactly(t *testing.T) {
	c, err := config{"lipd", 7e9, 256, packet, 0}.make()
	if err != nil {
		t.Fatal(err)
	}
	feed(c, 1, true)
	feed(c, 1000, false)
	if c.Rate() != 7e9 {
		t.Errorf("the rate is %v, want 7Gb/s", c.Rate())
	}
}

// FuzzFeedback: whatever comes back, in whatever order, a rate never leaves [Rmin,
// Rmax], a mark never raises it, and no mark never lowers it.
func FuzzFeedback(f *testing.F) {
	f.Add(byte(1), int64(8e9), int64(256), int64(2068), 2.0, []byte("marked or not"))
	f.Add(byte(2), int64(8e9), int64(1024), int64(2068), 1.001, []byte{0, 255, 0, 255, 7})
	f.Add(byte(3), int64(1), int64(1), int64(1), 1e300, []byte{255, 255, 0, 0})
	f.Add(byte(1), int64(400e9), int64(1<<31), int64(20), 2.0, []byte{255, 0, 0, 0, 255})
	f.Add(byte(0), int64(1), int64(0), int64(1), 2e299, []byte{0})
	f.Add(byte(2), int64(1)<<62, int64(1<<31), int64(4116), math.Inf(1), []byte{255, 0, 255})
	f.Fuzz(func(t *testing.T, which byte, high, ratio, length int64, factor float64, feedback []byte) {
		if high < 1 || ratio < 1 || length > 1<<16 || len(feedback) > 64 {
			return // NewFixed takes any rate and has no ratio, no packet is as long, and no more is learnt
		}
		config := config{clocked[int(which)%len(clocked)], unit.Rate(high), ratio, unit.Size(length), factor}
		c, err := config.make()
		if err != nil {
			return
		}
		top := float64(high)
		// Rates are whole bits per second, and LIPD's delays whole picoseconds: at Rmin
		// the delay is the ratio times that at Rmax, which is rounded up.
		step := unit.Rate(high).Serialise(unit.Size(length))
		bottom := float64(length) * 8 / (step.Seconds() * float64(ratio))
		bottom = math.Floor(math.Min(bottom, top/float64(ratio))*(1-1e-12)) - 0.5
		for i, b := range feedback {
			for range 1 + int(b>>1)*int(b>>1) {
				before := c.Rate()
				c.Feedback(unit.Time(i), wire.Frame{Kind: wire.Ack, BECN: b&1 == 1})
				r := c.Rate()
				if float64(r) > top || float64(r) < bottom || r < 0 {
					t.Fatalf("%+v: feedback %d leads from %v to %v, out of [%v, %v]", config, i, before, r, bottom, top)
				}
				if b&1 == 1 && r > before || b&1 == 0 && r < before {
					t.Fatalf("%+v: feedback %d, marked %v, leads from %v to %v", config, i, b&1 == 1, before, r)
				}
			}
		}
	})
}

// Two marks, and the ACKs that make them good, on a link of 1 GB/s with packets of
// 2068 bytes.
func ExampleLIPD() {
	c, err := rp.NewLIPD(rp.LIPDParams{Ratio: rp.Ratio{RmaxOverRmin: 256}}, rp.Site{Line: 8e9, Length: 2068})
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func(what string) {
		fmt.Printf("%-20s %.3f GB/s, one packet in %v\n", what, c.Rate().BytesPerSecond()/1e9, c.Rate().Serialise(2068))
	}
	marked, unmarked := wire.Frame{Kind: wire.Ack, BECN: true}, wire.Frame{Kind: wire.Ack}

	show("at first")
	c.Feedback(0, marked)
	show("a marked ACK")
	c.Feedback(0, marked)
	show("another")
	c.Feedback(0, unmarked)
	show("an unmarked ACK")
	for range 300 {
		c.Feedback(0, unmarked)
	}
	show("300 more")
	// Output:
	// at first             1.000 GB/s, one packet in 2.068us
	// a marked ACK         0.500 GB/s, one packet in 4.136us
	// another              0.333 GB/s, one packet in 6.204us
	// an unmarked ACK      0.335 GB/s, one packet in 6.179766us
	// 300 more             1.000 GB/s, one packet in 2.068us
}
