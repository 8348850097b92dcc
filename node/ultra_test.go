package node_test

import (
	"slices"
	"testing"

	"fabemu/node"
	"fabemu/node/uet"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// uetFlow returns a flow with UET.
func uetFlow(p uet.Params) node.Flow {
	f := roceFlow(node.RoCEParams{})
	f.Family, f.Transport = wire.UET, node.UET{Params: p}
	return f
}

// ultra are parameters of UET, with an ACK for each four packets.
func ultra(change func(p *uet.Params)) uet.Params {
	p := uet.Params{Range: 64, Window: 32, AckBytes: 4 * 1024, Timeout: 200 * us, Backoff: 1, RetryCount: uet.Unlimited, ECN: true}
	if change != nil {
		change(&p)
	}
	return p
}

// What a path does to packets, and how often they are sent again: each arrives once all the same.
func TestUETOverPaths(t *testing.T) {
	data := func(f *wire.Frame, psn ...uint32) bool {
		return f.Kind == wire.Data && slices.Contains(psn, f.PSN) && f.UET().Flags&wire.UETRetransmitted == 0
	}
	now, late := []unit.Duration{0}, []unit.Duration{4500 * ns}
	lose := func(_ int, f *wire.Frame) []unit.Duration {
		if data(f, 20) {
			return nil
		}
		return now
	}
	for name, c := range map[string]struct {
		paths           func(n int, f *wire.Frame) []unit.Duration
		change          func(p *uet.Params)
		again, timeouts int
		early           bool
	}{
		"nothing":          {func(int, *wire.Frame) []unit.Duration { return now }, nil, 0, 0, false},
		"a packet is lost": {lose, nil, 0, 1, true},
		"a packet is lost, and a probe asks for it": {lose, func(p *uet.Params) { p.Probe = 50 * us }, 1, 0, true},
		"a packet is trimmed": {func(_ int, f *wire.Frame) []unit.Duration {
			if data(f, 20) && !f.Trim(76, 11) {
				t.Error("it cannot be trimmed")
			}
			return now
		}, nil, 1, 0, true},
		"late": {func(_ int, f *wire.Frame) []unit.Duration {
			if data(f, 20, 40, 60) {
				return late
			}
			return now
		}, nil, 0, 0, true},
		"all twice":                 {func(int, *wire.Frame) []unit.Duration { return []unit.Duration{0, 700 * ns} }, nil, 0, 0, false},
		"ordered, a packet is lost": {lose, func(p *uet.Params) { p.Delivery = uet.Ordered }, 1, 0, false},
	} {
		source, sink := overPaths(t, ethernetPort(), node.AdapterConfig{}, uetFlow(ultra(c.change)), unit.Time(500*us), c.paths)
		if n := once(t, name, node.Direct, sink); n < 150 {
			t.Errorf("%s: %d packets were delivered", name, n)
		}
		if again, timeouts := source.count(trace.Retransmit), source.count(trace.Timeout); again != c.again || timeouts != c.timeouts {
			t.Errorf("%s: sent again %d times, and %d timeouts, want %d and %d", name, again, timeouts, c.again, c.timeouts)
		}
		if early := sink.count(trace.Disorder) > 0; early != c.early {
			t.Errorf("%s: packets ahead of their turn: %v", name, early)
		}
		if v := source.count(trace.Violation) + sink.count(trace.Violation); v > 0 {
			t.Errorf("%s: %d violations", name, v)
		}
	}
}
