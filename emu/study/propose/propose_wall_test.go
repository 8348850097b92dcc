//go:build !race

package propose

import (
	"context"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/doctor"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// quiet is a computer that is never late by itself.
func quiet() *doctor.Speed {
	return &doctor.Speed{
		Floor:     doctor.Floor{Late: []doctor.Late{{ThanNs: 100, Share: 0.001}}},
		Datagrams: []doctor.Datagram{{Bytes: doctor.LargeDatagram, Ns: 1000}, {Bytes: doctor.SmallDatagram, Ns: 800}},
	}
}

func openWith(t *testing.T, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := emu.Open(name, runtest.Sets(t, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a real measurement proposes, on whatever computer this is: the figures fit
// together, and the busiest stretch is found where the victim is active.
func TestWallPropose(t *testing.T) {
	s := openWith(t, "hpl2002/fig3b")
	dilation := s.Wall.Dilation
	p, err := Dilation(context.Background(), s, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", p.Reason)
	if at := unit.Duration(p.BusyAtPs); at < 40*unit.Millisecond || at >= 60*unit.Millisecond {
		t.Errorf("the busiest millisecond begins at %v, want one in which the victim is active: 40 to 60 ms", at)
	}
	if p.CoveredPs != int64(s.Model.Duration) || p.LongestPs != int64(2068*unit.Nanosecond) {
		t.Errorf("covered %d, longest frame %d", p.CoveredPs, p.LongestPs)
	}
	// A frame is a send and a receive at least, some hundred ns on any computer.
	if p.FrameNs < 300 || p.Frames < 1000 || p.DataFrames*10 < p.Frames {
		t.Errorf("%+v", p)
	}
	if want := p.FrameNs * float64(p.Frames) / 1e6; p.Busy < 0.99*want || p.Busy > 1.01*want {
		t.Errorf("busy %v, want %v", p.Busy, want)
	}
	if float64(p.ForRate) < p.Busy || p.Dilation < max(p.ForRate, p.ForLateness) {
		t.Errorf("%+v", p)
	}
	for i, e := range p.Expected {
		if i > 0 && (e.Queue > p.Expected[i-1].Queue || e.Floor > p.Expected[i-1].Floor) {
			t.Errorf("at a higher dilation more is late: %+v", p.Expected)
		}
	}
	if s.Wall.Dilation != dilation || len(s.Expect) == 0 || s.Flows[20].Start != 40*unit.Millisecond {
		t.Error("the scenario was changed")
	}
}

// Traffic that begins late is found, and its cost is measured all the same.
func TestWallProposeForLateTraffic(t *testing.T) {
	s := openWith(t, "hpl2002/fig2", "model.duration=200ms", "flows.local.start=150ms", "flows.remote.start=150ms", "flows.victim.start=150ms", "flows.victim.stop=160ms")
	s.Expect = nil
	late, err := Dilation(context.Background(), s, quiet())
	if err != nil {
		t.Fatal(err)
	}
	now, err := Dilation(context.Background(), openWith(t, "hpl2002/fig2"), quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("late: %s", late.Reason)
	t.Logf("at once: %s", now.Reason)
	if late.BusyAtPs < int64(150*unit.Millisecond) {
		t.Errorf("the busiest millisecond begins at %v, want 150 ms or later", unit.Duration(late.BusyAtPs))
	}
	if r := late.FrameNs / now.FrameNs; r < 0.3 || r > 3 {
		t.Errorf("a frame costs %.0f ns where the traffic begins late, %.0f ns otherwise", late.FrameNs, now.FrameNs)
	}
}

// A scenario that leaves the computer idle most of the time needs no dilation for
// its rate: waiting is not work.
func TestWallProposeForLightTraffic(t *testing.T) {
	s := openWith(t, "hpl2002/fig2", "model.duration=100ms", "flows.local.traffic=constant", "flows.local.rate=100KB/s", "flows.remote.traffic=constant", "flows.remote.rate=100KB/s", "flows.victim.traffic=constant", "flows.victim.rate=100KB/s")
	p, err := Dilation(context.Background(), s, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", p.Reason)
	if p.FrameNs > 100_000 || p.Busy > 50 {
		t.Errorf("a frame costs %.0f ns, busy %.2g: the waiting was counted", p.FrameNs, p.Busy)
	}
}

// How late packets start under actual timing is measured: at a higher dilation no packet time is
// shorter, and the proposal is the first dilation at which few enough are late, or the last.
func TestWallStartsAreMeasured(t *testing.T) {
	s := openWith(t, "hpl2002/fig3b")
	dilation := s.Wall.Dilation
	p := &Proposal{ForRate: 100}
	if err := p.ForActual(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	t.Log(p.Reason)
	last := p.Starts[len(p.Starts)-1]
	if p.Dilation != last.Dilation || p.Starts[0].Dilation != 100 || !p.Steady && last.Dilation != sensible {
		t.Errorf("%+v", p)
	}
	for i, at := range p.Starts {
		if early := i < len(p.Starts)-1; at.Packets < fewPackets || at.P50Us > at.P99Us || at.P99Us <= 0 || (early || !p.Steady) == (at.Late <= lateWanted) {
			t.Errorf("%d: %+v", i, at)
		}
	}
	if s.Wall.Dilation != dilation {
		t.Errorf("the scenario has a dilation of %d now", s.Wall.Dilation)
	}
	none, err := StartsAt(t.Context(), openWith(t, "guest/ping"), 100)
	if none != nil || err != nil {
		t.Errorf("with hosts that are not started: %v, %v", none, err)
	}
}
