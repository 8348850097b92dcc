package metrics

import (
	"testing"

	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A frame that is on the link at an edge counts for its part on both sides of it.
func TestAFrameThatStraddlesAnEdgeCountsForItsParts(t *testing.T) {
	f, s := paperFabric(2) // links of 1 GB/s, an edge each 100 µs
	p := newPlay(t, f, s)
	p.start(99*us, "trunk", 0, wire.Data, 4000)                            // 1 µs before the edge, 3 µs behind it
	p.start(199*us, "trunk", 0, wire.Data, 4000)                           // the same, told after
	p.deliver(301*us, 0, 4000, false)                                      // came from 297 µs on
	p.deliver(402*us, 0, 4000, false)                                      // from 398 µs on
	p.deliver(500*us, 0, 4000, false)                                      // whole at the edge
	p.start(100*ms-unit.Time(unit.Microsecond), "root", 0, wire.Data, 4e3) // at the end of the run
	p.c.Close(100 * ms)
	near(t, "link, before", over(t, p.c, "trunk.A-B.rate", 0, 100*us), 1000/100e-6)
	near(t, "link, behind", over(t, p.c, "trunk.A-B.rate", 100*us, 200*us), 4000/100e-6)
	near(t, "link, last", over(t, p.c, "trunk.A-B.rate", 200*us, 300*us), 3000/100e-6)
	near(t, "flow, before", over(t, p.c, "local.B1.rate", 200*us, 300*us), 3000/100e-6)
	near(t, "flow, behind", over(t, p.c, "local.B1.rate", 300*us, 400*us), (1000+2000)/100e-6)
	near(t, "flow, last", over(t, p.c, "local.B1.rate", 400*us, 500*us), (2000+4000)/100e-6)
	near(t, "flow, after", over(t, p.c, "local.B1.rate", 500*us, 600*us), 0)
	near(t, "the end of the run", over(t, p.c, "root.B-BC.rate", 99*ms, 100*ms), 1000/1e-3)
	if got := total(t, p.c, "root.B-BC", "bytes"); got != 4000 {
		t.Errorf("%v bytes were put on the line, want all 4000", got)
	}
}

// The same where the frame is told after later ones of other nodes, and over several edges.
func TestAStraddlingFrameThatIsToldLate(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	p.start(50*ms, "root", 0, wire.Data, 1)
	p.start(150*us, "trunk", 0, wire.Data, 200_000) // until 350 µs
	p.deliver(450*us, 0, 300_000, false)            // from 150 µs on
	p.c.Close(100 * ms)
	for i, want := range []float64{0, 50, 100, 50, 0} {
		from := unit.Time(i) * 100 * us
		near(t, "link "+from.String(), over(t, p.c, "trunk.A-B.rate", from, from+100*us), want*1e3/100e-6)
	}
	for i, want := range []float64{0, 50, 100, 100, 50, 0} {
		from := unit.Time(i) * 100 * us
		near(t, "flow "+from.String(), over(t, p.c, "local.B1.rate", from, from+100*us), want*1e3/100e-6)
	}
}

// A line that is full is full, wherever an interval begins, and never more than that.
func TestUtilisationIsAtMostOne(t *testing.T) {
	const rate = 2_999_999_999 // no frame takes a whole number of picoseconds
	f, s := paperFabric(2, scenario.Event{At: 0, Link: "trunk", Act: scenario.RateChange{Rate: rate}}, scenario.Event{At: 0, Link: "AV - A", Act: scenario.RateChange{Rate: rate}})
	p := newPlay(t, f, s)
	span := unit.Rate(rate).Serialise(2068)
	victim := len(f.Flows) - 1
	for at := unit.Time(0); at < 20*ms; at = at.Add(span) {
		p.start(at, "trunk", 0, wire.Data, 2068)
		p.deliver(at.Add(span), victim, 2068, false)
	}
	p.c.Close(100 * ms)
	for from := ms; from < 5*ms; from += 100 * us {
		for _, metric := range []string{"trunk.A-B.utilisation", "victim.utilisation"} {
			for _, length := range []unit.Time{100 * us, 1300 * us, 15 * ms} {
				if got := over(t, p.c, metric, from, from+length); got > 1 || got < 1-1e-4 {
					t.Fatalf("%s is %v over %v from %v on", metric, got, length, from)
				}
			}
		}
	}
}

// Where the rate of a link changes, the parts of frames follow.
func TestPartsFollowTheRateOfTheLine(t *testing.T) {
	f, s := paperFabric(2, scenario.Event{At: unit.Duration(50 * ms), Link: "trunk", Act: scenario.RateChange{Rate: 8e8}})
	p := newPlay(t, f, s)
	m, out := p.end("trunk", 0)
	victim := len(f.Flows) - 1
	p.deliver(10*ms+us, victim, 2000, false)
	p.record(trace.Event{At: 50 * ms, Node: m, Port: out, Kind: trace.Control, A: int64(port.RateChange{}.Kind()), B: 8e8})
	p.start(60*ms-5*us, "trunk", 0, wire.Data, 2000)
	p.deliver(70*ms+5*us, victim, 2000, false)
	p.c.Close(100 * ms)
	near(t, "flow before", over(t, p.c, "victim.rate", 9*ms, 10*ms), 1000/1e-3)
	near(t, "link", over(t, p.c, "trunk.A-B.rate", 59*ms, 60*ms), 500/1e-3)
	near(t, "flow", over(t, p.c, "victim.rate", 69*ms, 70*ms), 1500/1e-3)
}
