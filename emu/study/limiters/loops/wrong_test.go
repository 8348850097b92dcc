package loops_test

import (
	"context"
	"slices"
	"testing"

	"fabemu/emu/study/limiters/bench"
	"fabemu/emu/study/limiters/loops"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// halver is a right reaction point. The wrong ones below change one thing each.
type halver struct{ rate, line unit.Rate }

func (c *halver) Feedback(_ unit.Time, f wire.Frame) {
	if f.BECN {
		c.rate = max(c.rate/2, c.line/256)
	} else {
		c.rate = min(c.rate+c.line/1000, c.line)
	}
}
func (c *halver) Rate() unit.Rate         { return c.rate }
func (*halver) Sent(unit.Time, unit.Size) {}
func (*halver) Advance(unit.Time)         {}
func (*halver) Deadline() unit.Time       { return unit.Never }

// deaf hears nothing.
type deaf struct{ halver }

func (*deaf) Feedback(unit.Time, wire.Frame) {}

// lost never takes back what it gave up.
type lost struct{ halver }

func (c *lost) Feedback(now unit.Time, f wire.Frame) {
	if f.BECN {
		c.halver.Feedback(now, f)
	}
}

// bottomless has no lowest rate.
type bottomless struct{ halver }

func (c *bottomless) Feedback(now unit.Time, f wire.Frame) {
	if !f.BECN {
		c.halver.Feedback(now, f)
	} else {
		c.rate /= 1000
	}
}

// boundless has no highest rate.
type boundless struct{ halver }

func (c *boundless) Feedback(_ unit.Time, f wire.Frame) {
	if !f.BECN {
		c.rate += c.line / 1000
	}
}

// spinning never moves its deadline on.
type spinning struct{ halver }

func (*spinning) Deadline() unit.Time { return unit.Time(unit.Millisecond) }

// impatient counts calls as time.
type impatient struct {
	halver
	due unit.Time
}

func (c *impatient) Deadline() unit.Time { return c.due }
func (c *impatient) Advance(now unit.Time) {
	c.rate, c.due = max(c.rate-1, 1), now.Add(unit.Millisecond)
}

// fragile panics on the first mark.
type fragile struct{ halver }

func (c *fragile) Feedback(now unit.Time, f wire.Frame) {
	if f.BECN {
		panic("a mark")
	}
	c.halver.Feedback(now, f)
}

// timid heeds a report of congestion only if it is the hundredth.
type timid struct {
	halver
	heard int
}

func (c *timid) Feedback(now unit.Time, f wire.Frame) {
	if f.BECN {
		c.heard++
	}
	if !f.BECN || c.heard%100 == 0 {
		c.halver.Feedback(now, f)
	}
}

// greedy returns reaction points of which one in eight is timid.
func greedy() func(rp.Site) rp.Reaction {
	n := 0
	return func(s rp.Site) rp.Reaction {
		n++
		h := halver{s.Line, s.Line}
		if n%8 == 1 {
			return rp.Reaction{Controller: &timid{halver: h}}
		}
		return rp.Reaction{Controller: &h}
	}
}

// Each of the wrong reaction points is found, and the right one they are made of is not.
func TestFiguresOfWrongControllers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, tc := range []struct {
		name      string
		new       func(rp.Site) rp.Reaction
		in        string // the loop; empty: it is right in all of them
		criterion bench.Criterion
	}{
		{"right", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &halver{s.Line, s.Line}} }, "", ""},
		{"hears nothing", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &deaf{halver{s.Line, s.Line}}} }, "loop/half", bench.Overshoot},
		{"heeds storms late", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &timid{halver: halver{s.Line, s.Line}}} }, "loop/storm", bench.Reaction},
		{"never recovers", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &lost{halver{s.Line, s.Line}}} }, "loop/storm", bench.Recovery},
		{"falls to nothing", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &bottomless{halver{s.Line, s.Line}}} }, "loop/storm", bench.Recovery},
		{"exceeds the line", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &boundless{halver{s.Line, s.Line}}} }, "loop/free", bench.Contract},
		{"spins", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &spinning{halver{s.Line, s.Line}}} }, "loop/free", bench.Contract},
		{"counts calls as time", func(s rp.Site) rp.Reaction {
			return rp.Reaction{Controller: &impatient{halver: halver{s.Line, s.Line}}}
		}, "loop/free", bench.Contract},
		{"panics", func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &fragile{halver{s.Line, s.Line}}} }, "loop/half", bench.Panic},
		{"takes the share of others", greedy(), "loop/many", bench.Fairness},
	} {
		t.Run(tc.name, func(t *testing.T) {
			subject, err := loops.Of(tc.new, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range loops.All() {
				if tc.in != "" && l.Name != tc.in {
					continue
				}
				r, err := l.Measure(context.Background(), subject)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(l.Name, r, r.Faults)
				found := slices.ContainsFunc(r.Faults, func(f bench.Fault) bool { return f.Criterion == tc.criterion })
				if found != (tc.in != "") || tc.in == "" && r.Faults != nil {
					t.Errorf("%s: want it to find %q", l.Name, tc.criterion)
				}
			}
		})
	}
}
