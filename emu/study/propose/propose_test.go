package propose

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"fabemu/emu/host/doctor"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"

	"fabemu/emu"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRoundUp(t *testing.T) {
	for v, want := range map[float64]int64{0: 1, 1: 1, 1.1: 2, 2: 2, 3: 5, 9.9: 10, 11: 20, 50: 50, 51: 100, 1e4: 10_000, 1e9: 5_000_000} {
		if got := roundUp(v); got != want {
			t.Errorf("%v: %d, want %d", v, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	// expect lists dilations from 1 on, each with its floor and queue in percent.
	expect := func(percents ...[2]float64) []Expectation {
		var es []Expectation
		for i, d := range friendly()[:len(percents)] {
			es = append(es, Expectation{Dilation: d, Floor: percents[i][0] / 100, Queue: percents[i][1] / 100})
		}
		return es
	}
	hopeless := make([][2]float64, len(friendly()))
	for i := range hopeless {
		hopeless[i] = [2]float64{25, 100 / float64(friendly()[i])}
	}
	late := make([][2]float64, len(friendly())) // on time from 2000 on
	for i, d := range friendly() {
		late[i] = [2]float64{25, 0}
		if d >= 2000 {
			late[i][0] = 0.1
		}
	}
	for _, tc := range []struct {
		name    string
		es      []Expectation
		forRate int64
		want    int64
		steady  bool
	}{
		{"on time at once", expect([2]float64{0.5, 0.5}, [2]float64{0.1, 0}), 1, 1, true},
		{"the sum counts", expect([2]float64{1, 1}, [2]float64{0.9, 0.7}, [2]float64{0.8, 0.7}), 1, 5, true},
		{"the computer is late at any", expect(hopeless...), 1, 200, false},
		{"on time at what nobody uses", expect(late...), 1, 1, false},
		{"on time at what the rate asks for anyway", expect(late...), 5000, 2000, true},
		{"frames wait at any", expect([2]float64{0, 90}, [2]float64{0, 80}), 1, 2, false},
	} {
		got, steady := choose(tc.es, tc.forRate)
		if got != tc.want || steady != tc.steady {
			t.Errorf("%s: %d, %v; want %d, %v", tc.name, got, steady, tc.want, tc.steady)
		}
	}
}

func TestTrainCost(t *testing.T) {
	for _, tc := range []struct {
		large, small, weight, call float64
	}{{1000, 800, 1.25, 1000}, {800, 1000, 1, 1000}, {0, 0, 1, 0}, {9000, 1000, 3, 9000}} {
		speed := &doctor.Speed{Datagrams: []doctor.Datagram{{Bytes: doctor.LargeDatagram, Ns: tc.large}, {Bytes: doctor.SmallDatagram, Ns: tc.small}}}
		if weight, call := trainCost(speed); weight != tc.weight || call != tc.call {
			t.Errorf("%v and %v ns: %v, %v, want %v, %v", tc.large, tc.small, weight, call, tc.weight, tc.call)
		}
	}
}

// Frames that are due at the same instant leave together, and later ones wait for the train before them: not
// at a dilation at which there is time between.
func TestReplay(t *testing.T) {
	p := &proposer{callNs: 3000, replays: []replay{{dilation: 1}, {dilation: 100}}}
	const packet = 2 * unit.Microsecond // 5 %: 100 ns at dilation 1, 10 us at 100
	for i := range 10 {
		at := unit.Time(i+1) * unit.Time(unit.Microsecond)
		p.replay(at, false, packet)
		p.replay(at, true, packet)
		p.replay(at, true, packet)
	}
	// At dilation 1 a train leaves each 3 us: the frames of 1, 4, 7 and 10 us are in time, all others wait
	// for 1 or 2 us.
	if got := p.replays[0]; got.late != 12 || got.free != 13_000 {
		t.Errorf("dilation 1: %+v, want 12 late and free at 13 us", got)
	}
	if got := p.replays[1]; got.late != 0 || got.free != 1_003_000 {
		t.Errorf("dilation 100: %+v, want none late and free at 1003 us", got)
	}
}

func TestEarly(t *testing.T) {
	s, err := emu.Open("hpl2002/fig3b")
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Flows {
		s.Flows[i].Start += 30 * unit.Millisecond
		if s.Flows[i].Stop > 0 {
			s.Flows[i].Stop += 30 * unit.Millisecond
		}
	}
	s.Events = []scenario.Event{{At: 10 * unit.Millisecond}, {At: 50 * unit.Millisecond}}
	before := *s
	flow := s.Flows[20]
	got := early(s)
	if got.Flows[0].Start != 0 || got.Flows[20].Start != 40*unit.Millisecond || got.Flows[20].Stop != 60*unit.Millisecond || got.Flows[0].Stop != 0 {
		t.Errorf("flows: %+v, %+v", got.Flows[0], got.Flows[20])
	}
	if got.Events[0].At != 0 || got.Events[1].At != 20*unit.Millisecond || got.Expect != nil {
		t.Errorf("events %+v, %d claims", got.Events, len(got.Expect))
	}
	if diff := cmp.Diff(before, *s, cmpopts.IgnoreUnexported(scenario.Scenario{}), cmpopts.EquateComparable(netip.Prefix{})); diff != "" || s.Flows[20] != flow {
		t.Errorf("the scenario was changed: %s", diff)
	}
	if got := early(&scenario.Scenario{}); len(got.Flows) != 0 {
		t.Errorf("%+v", got)
	}
}

// From figures to a dilation, without a measurement.
func TestProposalOfFigures(t *testing.T) {
	floor := doctor.Floor{Late: []doctor.Late{{ThanNs: 1000, Share: 0.02}, {ThanNs: 10_000, Share: 0.01}, {ThanNs: 100_000, Share: 0.001}}}
	p := &proposer{
		scenario: &scenario.Scenario{Model: scenario.Model{Duration: 3 * unit.Millisecond}},
		speed:    &doctor.Speed{Floor: floor},
		weight:   1, unitNs: 2000,
		length: unit.Millisecond, frames: []int64{1000, 5000, 2000, 0}, data: []int64{300, 1000, 700, 0},
		covered: 3 * unit.Millisecond, longest: 2068 * unit.Nanosecond, allData: 2000,
	}
	for _, d := range friendly() {
		p.replays = append(p.replays, replay{dilation: d, late: 20_000 / d / d}) // 2.5 % at 20
	}
	got := p.propose()
	// 5000 frames of 2 us are 10 ms of work for a millisecond.
	if got.BusyAtPs != int64(unit.Millisecond) || got.BusyForPs != int64(unit.Millisecond) || math.Abs(got.Busy-10) > 1e-9 || got.Frames != 5000 || got.DataFrames != 1000 || got.FrameNs != 2000 {
		t.Errorf("%+v", got)
	}
	if got.ForRate != 20 || got.ForLateness != 100 || got.Dilation != 100 || !got.Steady {
		t.Errorf("rate %d, lateness %d, dilation %d; want 20, 100, 100", got.ForRate, got.ForLateness, got.Dilation)
	}
	for _, part := range []string{"The busiest 1ms begin at 1ms, with 5000 frames, 1000 of them data", "dilation of 20", "At 100, 5 % of a packet time are 10.3 us", "at 50 it would be"} {
		if !strings.Contains(got.Reason, part) {
			t.Errorf("no %q in: %s", part, got.Reason)
		}
	}
	for _, e := range got.Expected {
		if e.Dilation < 10 || e.Dilation > 200 {
			t.Errorf("an expectation at %d beside the proposal of %d", e.Dilation, got.Dilation)
		}
	}

	p.speed = &doctor.Speed{Floor: doctor.Floor{Late: []doctor.Late{{ThanNs: 1000, Share: 0.3}}}}
	p.covered, p.expected = 2*unit.Millisecond, nil
	got = p.propose()
	if got.Steady || got.Dilation != 50 || !strings.Contains(got.Reason, "end other work") || !strings.Contains(got.Reason, "Only the first 2ms were looked at") {
		t.Errorf("on a busy computer: %+v", got)
	}
}

func TestProposeIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := emu.Open("hpl2002/fig3b")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Dilation(ctx, s, &doctor.Speed{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", p, err)
	}
}
