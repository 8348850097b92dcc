package emu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/wire/link"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/process"
	"github.com/google/go-cmp/cmp"
)

// logOf runs a scenario and returns its result and its event log.
func logOf(t testing.TB, s *scenario.Scenario, o Options) (*Result, string) {
	t.Helper()
	var log bytes.Buffer
	o.Events, o.Digest = &log, true
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, log.String()
}

// The order of events on the wall clock is exact at every dilation: the log of a
// run over UDP sockets is that of the virtual clock, byte for byte.
func TestLogOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) { logAtDilation(t, 100, "3500us") }
func TestModelLogOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Run("500", func(t *testing.T) { logAtDilation(t, 500, "3500us") })
	t.Run("20", func(t *testing.T) { logAtDilation(t, 20, "5ms") })
}

func logAtDilation(t *testing.T, dilation int, duration string) {
	s := runtest.Short(t, "hpl2002/fig3b", duration, fmt.Sprintf("wall.dilation=%d", dilation))
	want, virtual := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
	got, wall := logOf(t, s, Options{})
	if virtual != wall {
		t.Errorf("the logs differ: %s", runtest.FirstDifference(virtual, wall))
	}
	if got.Digest != want.Digest || got.Verdict.Verify != "equal" {
		t.Errorf("digest %s, verified %q; want %s, equal", got.Digest, got.Verdict.Verify, want.Digest)
	}
	if want.Digest == "" || len(virtual) < 1<<20 {
		t.Errorf("a log of %d bytes shows little", len(virtual))
	}
}

// Faults are decided at the same place on every clock, from the seed: a run over UDP sockets, and
// one between namespaces, with faults of links and of an endpoint has the log of the virtual clock,
// and of a run whose frames go through their bytes.
func TestLogWithFaultsIsThatOfTheVirtualClock(t *testing.T) {
	s := runtest.Load(t, `
name: faulty
model: {duration: 600us}
defaults: {link: {rate: 10Gb/s, propagation: 100ns}, flow: {packet: 2048B, window: 8, timeout: 100us}}
switches: {S: {}}
endpoints: [A, B, C]
links: [{name: a, between: A - S}, {name: b, between: B - S}, {name: c, between: S - C}]
flows: [{name: one, from: A, to: C}, {name: two, from: B, to: C}]
faults:
  - {link: "*", loss: 0.01}
  - {link: "*", corruption: 0.01, burst: 3}
  - {link: a, delay: 1us, jitter: 300ns}
  - {at: 100us, link: b, loss: 1, frames: fcp, from: S, for: 100us}
  - {at: 300us, link: a, from: A, stuck: 50us}
  - {at: 350us, link: b, buffer: 0.5, for: 100us}
  - {at: 400us, endpoint: C, sink: stopped, for: 50us}
`)
	want, virtual := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
	for _, link := range []Carrier{UDP, Veth} {
		t.Run(string(link), func(t *testing.T) {
			if link == Veth {
				needNamespaces(t)
			}
			got, wall := logOf(t, s, Options{Settings: Settings{Link: link}})
			if virtual != wall || got.Verdict.Verify != "equal" {
				t.Errorf("the logs differ: %s", runtest.FirstDifference(virtual, wall))
			}
		})
	}
	if _, coded := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock, Codec: true}}); coded != virtual {
		t.Errorf("the logs differ: %s", runtest.FirstDifference(virtual, coded))
	}
	lost := map[string]bool{}
	for _, d := range want.Drops {
		lost[d.Reason] = true
	}
	if !lost["lost-on-link"] || !lost["fcs-error"] || want.Verdict.Violations != 0 {
		t.Errorf("%v, %d violations", want.Drops, want.Verdict.Violations)
	}
}

// Retry is its own node at both ends of a link, and what a fault does to its frames, its ACKs and
// its NACKs is drawn at both: over UDP sockets, and with frames as bytes, its log is the log of the
// virtual clock.
func TestLogWithRetryIsThatOfTheVirtualClock(t *testing.T) {
	for _, c := range []struct{ control, kind string }{
		{"pfc", "{kind: output-queued, memory: 1MB}"}, {"credit", "{}"}, {"cbfc, cbfc: {limit: 60}", "{kind: output-queued, memory: 1MB}"},
	} {
		s := runtest.Load(t, fmt.Sprintf(`
name: retried
model: {duration: 300us, framing: wire}
wall: {dilation: 200}
defaults: {link: {rate: 10Gb/s, propagation: 100ns, flow-control: %s, retry: {init: block, count: 16}}, flow: {packet: 1000B}}
switches: {S: %s}
endpoints: [A, B, C]
links: [A - S, B - S, S - C]
flows: [{name: one, from: A, to: C}, {name: two, from: B, to: C}]
faults:
  - {link: "*", loss: 0.02}
  - {link: "*", corruption: 0.02, burst: 3}
  - {at: 100us, link: A - S, loss: 0.5, frames: llr-ack, for: 50us}
  - {at: 200us, link: B - S, loss: 0.5, frames: llr-nack, for: 50us}
`, c.control, c.kind))
		want, virtual := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
		got, wall := logOf(t, s, Options{})
		if virtual != wall || got.Verdict.Verify != "equal" {
			t.Errorf("%s: the logs differ: %s", c.control, runtest.FirstDifference(virtual, wall))
		}
		if _, coded := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock, Codec: true}}); coded != virtual {
			t.Errorf("%s: the logs differ: %s", c.control, runtest.FirstDifference(virtual, coded))
		}
		counted := map[string]int64{}
		for _, r := range want.Retries {
			counted[r.Counter] += r.Count
		}
		for _, counter := range []string{"TX_REPLAY", "TX_NACK_CTL_OS", "RX_BAD", "RX_MISSING_SEQ", "timeout", "lost-on-link"} {
			if counted[counter] == 0 {
				t.Errorf("%s: no %s: %v", c.control, counter, counted)
			}
		}
		if counted["flush"] != 0 || want.Verdict.Violations != 0 {
			t.Errorf("%s: flushed %d times, %d violations", c.control, counted["flush"], want.Verdict.Violations)
		}
	}
}

// restless is an end of a link that keeps datagrams back at random, and lets
// them go in another order.
type restless struct {
	link.Link
	shelf *shelf
}

// shelf holds the datagrams that are kept back, of all ends: the driver is one
// goroutine.
type shelf struct {
	random *rand.Rand
	held   []heldDatagram
	most   int
	read   time.Time // when the driver last read
}

type heldDatagram struct {
	to    link.Link
	data  []byte
	since time.Time // no later than its departure by the driver's clock
}

// mostHeld is how long a datagram is kept back: what is overtaken by a datagram that left much
// later counts as lost.
const mostHeld = 10 * time.Millisecond

func (l *restless) Send(b []byte) error {
	s := l.shelf
	if err := s.release(func() bool { return false }); err != nil {
		return err
	}
	if s.random.IntN(4) > 0 {
		return l.Link.Send(b)
	}
	s.held = append(s.held, heldDatagram{l.Link, bytes.Clone(b), s.read})
	s.most = max(s.most, len(s.held))
	return nil
}

func (l *restless) Recv(b []byte) (int, error) {
	s := l.shelf
	s.read = time.Now()
	if err := s.release(func() bool { return s.random.IntN(3) == 0 }); err != nil {
		return 0, err
	}
	return l.Link.Recv(b)
}

// release sends what was held for mostHeld, even if the kernel has not run the driver in that time,
// and others while more reports true.
func (s *shelf) release(more func() bool) error {
	for len(s.held) > 0 {
		i := 0
		if time.Since(s.held[0].since) <= mostHeld {
			if i = s.random.IntN(len(s.held)); !more() {
				break
			}
		}
		d := s.held[i]
		s.held = slices.Delete(s.held, i, i+1)
		if err := d.to.Send(d.data); err != nil {
			return err
		}
	}
	return nil
}

// Nothing rests on the kernel delivering a datagram within the send: if datagrams are late, the log
// is that of the virtual clock, and none is lost. A kernel that has a datagram overtake another one
// of its link has broken the order of a lossless link: the run is void, and the reason names a
// frame.
func TestModelLogStandsWhenDatagramsAreDelayedAndReordered(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Short(t, "hpl2002/fig3b", "3500us", "wall.dilation=200")
	_, virtual := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
	for seed := range uint64(3) {
		shelf := &shelf{random: rand.New(rand.NewPCG(seed, 1))}
		o := Options{test: process.Hooks{Wrap: func(l link.Link) link.Link { return &restless{l, shelf} }}}
		r, wall := logOf(t, s, o)
		if virtual != wall {
			t.Errorf("seed %d: the logs differ: %s", seed, runtest.FirstDifference(virtual, wall))
		}
		if r.Verdict.LostDatagrams != 0 {
			t.Errorf("seed %d: %d datagrams lost", seed, r.Verdict.LostDatagrams)
		}
		if r.Verdict.Level != report.Void || r.Verdict.Reordered == 0 || !strings.Contains(r.Verdict.Reason, "out of order: frame ") {
			t.Errorf("seed %d: %d datagrams out of order: %s, %s", seed, r.Verdict.Reordered, r.Verdict.Level, r.Verdict.Reason)
		}
		if shelf.most < 2 {
			t.Errorf("seed %d: never were two datagrams kept back: nothing was reordered", seed)
		}
	}
}

// The same scenario and seed give the same log on the virtual clock; another seed gives
// another.
func TestModelVirtualClockIsDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Short(t, "hpl2002/fig3c", "8ms")
	a, first := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
	b, second := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
	if first != second {
		t.Error("two runs have different logs")
	}
	a.WallSeconds, b.WallSeconds = 0, 0
	if diff := cmp.Diff(a.Result, b.Result, cmp.Comparer(func(x, y report.Number) bool { return x == y || !x.Known() && !y.Known() })); diff != "" {
		t.Errorf("two runs have different results:\n%s", diff)
	}
	other, _ := logOf(t, runtest.Short(t, "hpl2002/fig3c", "8ms", "model.seed=2"), Options{Settings: Settings{Clock: VirtualClock}})
	if other.Digest == a.Digest {
		t.Error("another seed gives the same log")
	}
}

// A run on the wall clock says when its model time 0 was, so that captures of others
// and its figures can be laid side by side; on the virtual clock there is none.
func TestBegan(t *testing.T) {
	before := time.Now()
	wall, err := Run(context.Background(), runtest.Short(t, "hpl2002/fig3b", "4ms", "wall.dilation=20"), Options{Settings: Settings{Clock: WallClock, Link: Pipe}, Verify: VerifyOff})
	if err != nil {
		t.Fatal(err)
	}
	if began := wall.Began; began.Before(before) || began.After(time.Now().Add(-80*time.Millisecond)) { // 4 ms at dilation 20
		t.Errorf("model time 0 was at %v, the run began after %v", began, before)
	}
	virtual, err := Run(context.Background(), runtest.Short(t, "hpl2002/fig3b", "4ms", "wall.dilation=20"), Options{Settings: Settings{Clock: VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	if !virtual.Began.IsZero() {
		t.Errorf("a virtual run began at %v", virtual.Began)
	}
}
