package rp

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The rules of Swift, each with its source: "Swift", Algorithm 1, or sim/swift.cpp of htsim.

// swiftPreset returns the parameters of a preset, some of them changed.
func swiftPreset(name string, change ...func(*SwiftParams)) SwiftParams {
	p := param.Of(SwiftParams{}).Build(func(p *param.Param) any {
		if p.Key == "preset" {
			return name
		}
		return nil
	}, nil).(SwiftParams)
	for _, c := range change {
		c(&p)
	}
	return p
}

// swiftSite is a line on which a packet of 1000 B takes 0.8 µs, with one switch.
var swiftSite = Site{Line: 10e9, Length: 1000, Hops: 1}

// delayed is an ACK at an instant, in microseconds, that acknowledges packets, and the window
// behind it in packets. A time at the destination above 0 is in held, and a loss has no packets.
type delayed struct{ at, rtt, held, packets, window float64 }

func TestSwift(t *testing.T) {
	start := func(w float64) func(*SwiftParams) { return func(p *SwiftParams) { p.StartWindow = w } }
	flat := func(p *SwiftParams) { p.ScalingRange, p.HopTarget = 0, 0 } // a target of 20 µs
	for _, c := range []struct {
		rule  string
		p     SwiftParams
		trips []delayed
	}{
		// "if delay < target_delay: if cwnd >= 1: cwnd = cwnd + ai/cwnd * num_acked".
		{"additive increase", swiftPreset("paper", flat, start(10)), []delayed{{1, 10, 0, 1, 10.1}, {2, 10, 0, 5, 10.1 + 5/10.1}}},
		// "else: cwnd = cwnd + ai * num_acked": below a packet.
		{"increase below a packet", swiftPreset("paper", flat, start(0.2), func(p *SwiftParams) { p.WindowIncrease = 0.25 }),
			[]delayed{{1, 10, 0, 1, 0.45}, {2, 10, 0, 1, 0.7}, {3, 10, 0, 2, 1.2}}},
		// "cwnd = max(1 - beta (delay - target)/delay, 1 - max_mdf) * cwnd": 0.8 of a fifth, and
		// half at most.
		{"a decrease by the excess", swiftPreset("paper", flat, start(10)), []delayed{{1, 25, 0, 1, 8.4}}},
		{"a decrease by half", swiftPreset("paper", flat, start(10)), []delayed{{1, 1000, 0, 1, 5}}},
		// "can_decrease: now - t_last_decrease >= rtt".
		{"a decrease once in a round trip", swiftPreset("paper", flat, start(10)),
			[]delayed{{1, 25, 0, 1, 8.4}, {2, 25, 0, 1, 8.4}, {25.9, 25, 0, 1, 8.4}, {26, 25, 0, 1, 7.056}}},
		// At the target itself it falls, by nothing.
		{"at the target", swiftPreset("paper", flat, start(10)), []delayed{{1, 20, 0, 1, 10}}},
		// "target = base + #hops * h": 20 µs and 3.053 µs for one switch.
		{"the hop is in the target", swiftPreset("paper", start(100)), []delayed{{1, 23, 0, 1, 100.01}}},
		{"and no more", swiftPreset("paper", start(100)), []delayed{{1, 24, 0, 1, 100 * (1 - 0.8*(24-23.053)/24)}}},
		// Flow scaling: a/sqrt(1) + b with a = 100/(1/sqrt(0.1) - 1/10) = 32.656 and b = -3.266 is
		// 29.39 µs.
		{"a packet has 29.39 us more", swiftPreset("paper", start(1)), []delayed{{1, 23.053 + 29.38, 0, 1, 2}}},
		{"and no more than that", swiftPreset("paper", start(1)), []delayed{{1, 23.053 + 29.40, 0, 1, 0.9998474}}},
		// "clamp": all of it from scaling-min down.
		{"a window of 0.01", swiftPreset("paper", start(0.01)), []delayed{{1, 123, 0, 1, 1.01}}},
		// htsim computes cwnd/_mss in whole numbers: 1.9 packets are one.
		{"htsim: by whole packets", swiftPreset("htsim", start(1.9)), []delayed{{1, 23.053 + 29.38, 0, 1.9, 2.9}}},
		{"the paper's is as it is", swiftPreset("paper", start(1.9)), []delayed{{1, 23.053 + 29.38, 0, 1, 1.9 * (1 - 0.8*(52.433-43.478)/52.433)}}},
		// "cwnd = min(fcwnd, ecwnd)": the time at the destination has a window and its own target.
		{"the endpoint's window", swiftPreset("paper", flat, start(10), func(p *SwiftParams) { p.MostWindow = 20 }),
			[]delayed{{1, 10, 200, 1, 10}, {300, 10, 40, 1, 6}, {600, 10, 10, 6, 7}}},
		// htsim has one window, and all of the delay in it.
		{"one window for both", swiftPreset("htsim", flat, start(10)), []delayed{{1, 10, 15, 1, 8.4}}},
		// "on fast recovery: if can_decrease: cwnd = (1 - max_mdf) * cwnd".
		{"losses", swiftPreset("paper", flat, start(8)), []delayed{{1, 10, 0, 8, 9}, {2, 0, 0, 0, 4.5}, {3, 0, 0, 0, 4.5}, {12, 0, 0, 0, 2.25}}},
		// "if retransmit_cnt >= RETX_RESET_THRESHOLD: cwnd = min_cwnd".
		{"losses in a row", swiftPreset("paper", flat, start(8), func(p *SwiftParams) { p.ResetAfter = 2 }),
			[]delayed{{1, 0, 0, 0, 4}, {2, 0, 0, 0, 0.001}}},
	} {
		algorithm, err := NewSwift(c.p, swiftSite)
		if err != nil {
			t.Fatal(c.rule, err)
		}
		for _, x := range c.trips {
			if now := unit.Time(micros(x.at)); x.rtt == 0 {
				algorithm.Lost(now)
			} else {
				algorithm.Acked(now, Ack{RTT: micros(x.rtt), Held: micros(x.held), Bytes: unit.Size(math.Round(x.packets * 1000))})
			}
			if got := min(algorithm.fabric.w, algorithm.end.w); math.Abs(got-x.window) > 1e-4 || algorithm.Window() != unit.Size(math.Ceil(got*1000)) {
				t.Errorf("%s: at %v us a window of %v and %v, want %v", c.rule, x.at, got, algorithm.Window(), x.window)
			}
		}
	}
}

// "if cwnd < 1: pacing_delay = rtt/cwnd, else 0": a quarter of a packet is one in four round trips.
func TestSwiftPaces(t *testing.T) {
	algorithm, err := NewSwift(swiftPreset("paper", func(p *SwiftParams) { p.StartWindow = 0.5 }), swiftSite)
	if err != nil {
		t.Fatal(err)
	}
	if algorithm.Rate() != swiftSite.Line {
		t.Errorf("%v before there is a round trip", algorithm.Rate())
	}
	algorithm.Acked(1, Ack{RTT: 800 * us, Held: 200 * us, Bytes: 1000}) // half of it, and all of the round trip is a millisecond
	if algorithm.Rate() != 2e6 || algorithm.Window() != 250 {
		t.Errorf("%v and a window of %v, want 1000 B in 4 ms", algorithm.Rate(), algorithm.Window())
	}
	algorithm.Acked(2, Ack{RTT: 10 * us, Bytes: 1000})
	if algorithm.Rate() != swiftSite.Line || algorithm.Window() != 1250 {
		t.Errorf("%v and a window of %v, want 1.25 packets, not paced", algorithm.Rate(), algorithm.Window())
	}
}

// Parameters that cannot work are refused, with the arithmetic.
func TestSwiftRefuses(t *testing.T) {
	for want, change := range map[string]func(*SwiftParams){
		"a packet of 1KB takes 800ns on a link of 10Gb/s": func(p *SwiftParams) { p.BaseTarget = 800 * us / 1000 },
		"must be above 0":                  func(p *SwiftParams) { p.ScalingMin = p.ScalingMax },
		"no window is between them":        func(p *SwiftParams) { p.LeastWindow, p.MostWindow = 20, 20 },
		"windows are from 0.001 to 1000":   func(p *SwiftParams) { p.StartWindow = 2000 },
		"a window is less than 2GiB":       func(p *SwiftParams) { p.MostWindow = 1e9 },
		"decrease-gain: 2 is out of range": func(p *SwiftParams) { p.DecreaseGain = 2 },
	} {
		p := swiftPreset("paper")
		change(&p)
		if _, err := NewSwift(p, swiftSite); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
