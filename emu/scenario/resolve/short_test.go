package resolve_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

const long = `
name: long
model: {duration: 100ms}
defaults:
  link: {rate: 1GB/s}
switches: {S: {}}
endpoints: [A, B]
links: [A - S, {name: out, between: S - B}]
flows: [{name: in, from: A, to: B}]
events: [{at: 50ms, link: out, rate: 0.5GB/s}]
expect:
  - {id: C1, metric: in.rate, during: [10ms, 50ms], low: 0, high: 1, expected: differs, reason: as it is}
  - {id: C2, metric: in.rate, during: [60ms, 100ms], low: 2, high: 3}
  - {id: C3, metric: in.rate, during: [1ms, 2ms], low: 4, high: 5}
`

const short = `
short:
  duration: 10ms
  dilation: 50
  window: 1ms
  events: [{at: 5ms, link: out, rate: 0.5GB/s}]
  expect:
    - {id: C1, during: [1ms, 5ms], expected: holds}
    - {id: C2, during: [6ms, 10ms], expected: differs, reason: too short}
`

// The short run has what is under short, and the rest as it is.
func TestShort(t *testing.T) {
	s, err := resolve.Load("long.yaml", []byte(long+short), nil, resolve.Short())
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "long-short" || s.Model.Duration != 10*unit.Millisecond || s.Wall.Dilation != 50 || s.Measure.Window != unit.Millisecond || s.Events[0].At != 5*unit.Millisecond || len(s.Events) != 1 {
		t.Errorf("%+v", s)
	}
	ms := func(from, to unit.Duration) [2]unit.Duration {
		return [2]unit.Duration{from * unit.Millisecond, to * unit.Millisecond}
	}
	want := []scenario.Check{
		{ID: "C1", Basis: scenario.Ours, Metric: "in.rate", During: ms(1, 5), High: 1, Expected: "holds"},
		{ID: "C2", Basis: scenario.Ours, Metric: "in.rate", During: ms(6, 10), Low: 2, High: 3, Expected: "differs", Reason: "too short"},
		{ID: "C3", Basis: scenario.Ours, Metric: "in.rate", During: ms(1, 2), Low: 4, High: 5, Expected: "holds"},
	}
	if diff := cmp.Diff(want, s.Expect); diff != "" {
		t.Error(diff)
	}
	if s, err = resolve.Load("long.yaml", []byte(long+short), []scenario.Set{{Path: "model.duration", Value: "3ms"}}, resolve.Short()); err != nil || s.Model.Duration != 3*unit.Millisecond {
		t.Errorf("with --set model.duration=3ms: %+v, %v", s, err)
	}
}

// Without the option the section changes nothing, and only says that it is there.
func TestShortIsLeftAlone(t *testing.T) {
	with, err := resolve.Load("long.yaml", []byte(long+short), nil)
	if err != nil {
		t.Fatal(err)
	}
	without, err := resolve.Load("long.yaml", []byte(long), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !with.HasShort || without.HasShort {
		t.Errorf("there is a short run: %v, and without the section: %v", with.HasShort, without.HasShort)
	}
	with.HasShort = false
	if diff := cmp.Diff(without, with, cmpopts.IgnoreUnexported(scenario.Scenario{}), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
}

func TestNoShort(t *testing.T) {
	if _, err := resolve.Load("long.yaml", []byte(long), nil, resolve.Short()); err == nil || !strings.Contains(err.Error(), "this scenario has no short run") {
		t.Errorf("%v", err)
	}
}
