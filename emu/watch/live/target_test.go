package live

import (
	"math"
	"slices"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/observe"
)

// alone is a fabric in which the first flow has its link for itself, until a second one comes.
const alone = `
name: alone
model: {duration: 31ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pfc}
  switch: {kind: output-queued, marking: {scheme: ecn}}
  flow: {transport: rocev2, packet: 1024B, control: {algorithm: dcqcn}}
switches: {S: {}}
endpoints: [a, b, c]
links: [a - S, b - S, c - S]
flows: [{name: first, from: a, to: c}, {name: second, from: b, to: c, start: 30ms}]
`

// TestTargetBeforeFeedback: before the first CNP the page of a finished run shows the same limit
// and target of each flow as the page of the run did.
func TestTargetBeforeFeedback(t *testing.T) {
	s := runtest.Load(t, alone)
	f, err := emu.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	c := NewScene(s, f)
	var running []*Moment
	observer, ended := NewObserver(c, func(m *Moment) { running = append(running, m) }), make(chan struct{})
	o := emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{{Every: 10 * time.Millisecond, Observer: observe.Func(func(s *observe.Snapshot) {
		observer.Observe(s)
		if s.Last {
			close(ended)
		}
	})}}}
	r, err := emu.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	dir := t.TempDir()
	if err := r.Write(dir, nil); err != nil {
		t.Fatal(err)
	}
	d, err := report.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, finished, err := Results(d)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b []Figure) bool { // the files have ten digits
		return slices.EqualFunc(a, b, func(x, y Figure) bool {
			return math.IsNaN(float64(x)) && math.IsNaN(float64(y)) || math.Abs(float64(x-y)) <= 1e-9*math.Abs(float64(x))
		})
	}
	compared := 0
	for _, m := range running {
		if m.ModelPs >= 30_000_000_000 {
			break
		}
		i := slices.IndexFunc(finished, func(x *Moment) bool { return x.ModelPs > m.ModelPs }) - 1
		if i < 0 {
			continue
		}
		compared++
		if x := finished[i]; !same(x.Limit, m.Limit) || !same(x.Target, m.Target) {
			t.Errorf("at %d ps the page of the run shows the limits %v and targets %v, and afterwards %v and %v", m.ModelPs, m.Limit, m.Target, x.Limit, x.Target)
		}
	}
	if last := finished[len(finished)-1]; compared == 0 || !(last.Target[0] > 0) || !(last.Limit[0] < 1.2e9) {
		t.Errorf("%d moments are compared; at the end the limit is %v, the target %v", compared, last.Limit, last.Target)
	}
}
