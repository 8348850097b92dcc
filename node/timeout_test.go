package node_test

import (
	"slices"
	"testing"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// lossy joins two endpoints by a link that loses what it is informed to, and lets model
// time pass until end. It returns what happened at the source and at the sink.
func lossy(t *testing.T, transport node.Transport, end unit.Time, lose func(n int, f *wire.Frame) bool) (source, sink events) {
	t.Helper()
	const rate = 8e9 * unit.BitPerSecond
	flow := node.Flow{QP: 7, Dst: 2, Payload: 2048, Transport: transport, Stop: unit.Never, Limiter: node.NewInterPacketDelay(rate), Reaction: of(rp.NewFixed(rate))}
	return over(t, paperPort(), flow, end, lose)
}

// over does what lossy does, for any flow and any configuration of the ports.
func over(t *testing.T, p port.Config, flow node.Flow, end unit.Time, lose func(n int, f *wire.Frame) bool) (source, sink events) {
	return overTo(t, p, node.AdapterConfig{}, flow, end, lose)
}

// overTo does what over does, with an adapter at the destination.
func overTo(t *testing.T, p port.Config, adapter node.AdapterConfig, flow node.Flow, end unit.Time, lose func(n int, f *wire.Frame) bool) (source, sink events) {
	t.Helper()
	return overPaths(t, p, adapter, flow, end, func(n int, f *wire.Frame) []unit.Duration {
		if lose(n, f) {
			return nil
		}
		return []unit.Duration{0}
	})
}

// overPaths does what overTo does over paths of different lengths: each frame comes as often as
// paths returns delays, which are in addition to that of the link.
func overPaths(t *testing.T, p port.Config, adapter node.AdapterConfig, flow node.Flow, end unit.Time, paths func(n int, f *wire.Frame) []unit.Duration) (source, sink events) {
	t.Helper()
	a, errA := node.New(node.Config{LID: 1, Port: p, Flows: []node.Flow{flow}}, &source)
	b, errB := node.New(node.Config{LID: 2, Port: p, Adapter: adapter, Sinks: []node.Sink{{QP: 7, Source: 1, Lane: flow.Lane, Transport: flow.Transport}}}, &sink)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	type crossing struct {
		due unit.Time
		a   port.Arrival
	}
	var way [2][]crossing
	ends := [2]*node.Endpoint{a, b}
	n := 0
	for now := unit.Time(0); ; {
		next := min(a.Deadline(), b.Deadline())
		for _, w := range way {
			if len(w) > 0 {
				next = min(next, w[0].due)
			}
		}
		if now = max(now, next); now > end {
			return source, sink
		}
		for i := range way {
			for len(way[i]) > 0 && way[i][0].due <= now {
				ends[1-i].Receive(now, 0, &way[i][0].a)
				way[i] = way[i][1:]
			}
		}
		for i, e := range ends {
			e.Advance(now)
			for {
				tr, ok := e.Poll()
				if !ok {
					break
				}
				late := []unit.Duration{0}
				if tr.Frame.Kind != wire.FlowControl {
					n++
					late = paths(n, &tr.Frame)
				}
				for _, d := range late {
					due, w := tr.Due.Add(d), &way[i]
					at := len(*w)
					for at > 0 && (*w)[at-1].due > due {
						at--
					}
					*w = slices.Insert(*w, at, crossing{due, port.Arrival{Frame: tr.Frame, Head: tr.Start.Add(d), Tail: tr.Start.Add(tr.Duration + d), Length: tr.Length}})
				}
			}
		}
	}
}

// events keeps what is reported.
type events []trace.Event

func (l *events) Record(e *trace.Event) { *l = append(*l, *e) }

// inTurn checks that packets were delivered one after another, none twice, none
// missing, and returns how many.
func (l events) inTurn(t *testing.T) (n uint32) {
	t.Helper()
	for _, e := range l {
		if e.Kind == trace.Deliver {
			if e.PSN != n {
				t.Fatalf("packet %d was delivered where %d was due", e.PSN, n)
			}
			n++
		}
	}
	return n
}

func (l events) count(k trace.Kind) (n int) {
	for _, e := range l {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// A packet that is lost, or its ACK, is retransmitted after the timeout, and all behind it:
// what is delivered is whole and in its order.
func TestTimeoutSendsAgain(t *testing.T) {
	const timeout = 50 * unit.Microsecond
	for name, lose := range map[string]func(n int, f *wire.Frame) bool{
		"a packet":           func(n int, f *wire.Frame) bool { return f.Kind == wire.Data && n == 21 },
		"an ACK":             func(n int, f *wire.Frame) bool { return f.Kind == wire.Ack && n > 20 && n < 24 },
		"a stretch":          func(n int, f *wire.Frame) bool { return n > 20 && n < 40 },
		"one in seven":       func(n int, f *wire.Frame) bool { return n%7 == 6 },
		"an ACK and another": func(n int, f *wire.Frame) bool { return n == 22 || n == 31 },
	} {
		for _, window := range []int{1, 4} {
			source, sink := lossy(t, node.Acknowledged{Window: window, Timeout: timeout}, unit.Time(3*unit.Millisecond), lose)
			n := sink.inTurn(t)
			again := source.count(trace.Timeout)
			// A later ACK is for earlier packets too.
			if n < 50 || again == 0 && !(name == "an ACK" && window > 1) {
				t.Errorf("%s, window %d: %d packets were delivered, %d timeouts", name, window, n, again)
			}
			if v := source.count(trace.Violation) + sink.count(trace.Violation); v > 0 {
				t.Errorf("%s, window %d: %d violations: a loss is none where packets are sent again", name, window, v)
			}
		}
	}
}

// Where nothing is lost nothing is retransmitted, and the timeout changes nothing.
func TestTimeoutWithoutLoss(t *testing.T) {
	keep := func(int, *wire.Frame) bool { return false }
	plain, _ := lossy(t, node.Acknowledged{Window: 2}, unit.Time(unit.Millisecond), keep)
	source, sink := lossy(t, node.Acknowledged{Window: 2, Timeout: 50 * unit.Microsecond}, unit.Time(unit.Millisecond), keep)
	if len(source) != len(plain) || source.count(trace.Timeout) != 0 || sink.inTurn(t) < 400 {
		t.Errorf("%d events with a timeout, %d without; %d timeouts, %d delivered", len(source), len(plain), source.count(trace.Timeout), sink.inTurn(t))
	}
}

// Without a timeout the window stays closed forever once a packet is lost.
func TestNoTimeoutWaitsForEver(t *testing.T) {
	_, sink := lossy(t, node.Acknowledged{Window: 1}, unit.Time(3*unit.Millisecond), func(n int, f *wire.Frame) bool { return n == 21 })
	if n := sink.inTurn(t); n != 10 {
		t.Errorf("%d packets were delivered, want the 10 before the loss", n)
	}
}

// Where links may go down a packet that is lost is missing: the ACK of one behind it is for
// it too, and no promise is broken.
func TestLossesWithoutATimeout(t *testing.T) {
	lose := func(n int, f *wire.Frame) bool { return f.Kind == wire.Data && n == 21 }
	for _, loses := range []bool{true, false} {
		source, sink := lossy(t, node.Acknowledged{Window: 4, Loses: loses}, unit.Time(unit.Millisecond), lose)
		n, wrong := sink.count(trace.Deliver), source.count(trace.Violation)+sink.count(trace.Violation)
		if loses && (n < 200 || wrong > 0) || !loses && wrong == 0 {
			t.Errorf("loses is %v: %d packets were delivered, %d violations", loses, n, wrong)
		}
	}
}
