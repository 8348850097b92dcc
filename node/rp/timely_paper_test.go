package rp

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The rules of TIMELY, by preset, each with its source. The snippet is the code of its authors as
// in eRPC (src/cc/timely.h), hpcc the simulator of HPCC (rdma-hw.cc, UpdateRateTimely).

// timelyPreset returns the parameters of a preset, some of them changed.
func timelyPreset(name string, change ...func(*TimelyParams)) TimelyParams {
	p := param.Of(TimelyParams{}).Build(func(p *param.Param) any {
		if p.Key == "preset" {
			return name
		}
		return nil
	}, nil).(TimelyParams)
	for _, c := range change {
		c(&p)
	}
	return p
}

// trip is a round trip in microseconds that an ACK at an instant, in microseconds, brings, and the
// rate behind it in Mb/s.
type trip struct{ at, rtt, rate float64 }

func micros(x float64) unit.Duration { return unit.Duration(math.Round(x * float64(us))) }

func TestTimely(t *testing.T) {
	start := func(p *TimelyParams) { p.StartRate = 1e9 }
	for _, c := range []struct {
		rule  string
		p     TimelyParams
		line  unit.Rate
		trips []trip
	}{
		// "if new_rtt < T_low: rate += delta": also while round trips become longer.
		{"paper: below t-low it rises", timelyPreset("paper", start), 10e9,
			[]trip{{100, 20, 1010}, {200, 30, 1020}, {300, 49, 1030}}},
		// "if new_rtt > T_high: rate *= 1 - beta (1 - T_high/new_rtt)": 0.8 (1 - 500/1000) is 0.4.
		{"paper: above t-high it falls", timelyPreset("paper", start), 10e9, []trip{{100, 1000, 600}, {200, 1000, 360}}},
		// "rtt_diff = (1-alpha) rtt_diff + alpha new_rtt_diff", "normalized_gradient = rtt_diff /
		// minRTT": 0.875 of 4 µs is 3.5 µs, over 20 µs is 0.175; times beta 0.14.
		{"paper: a positive gradient", timelyPreset("paper", start), 10e9, []trip{{100, 100, 1010}, {200, 104, 868.6}}},
		// "if normalized_gradient <= 0: rate += N delta": a queue that is stopped is no reason to
		// slow down.
		{"paper: no gradient", timelyPreset("paper", start), 10e9, []trip{{100, 100, 1010}, {200, 100, 1020}, {300, 100, 1030}}},
		// "N = 5 if gradient < 0 for five completion events, otherwise N = 1".
		{"paper: hyper-active increase", timelyPreset("paper", start), 10e9,
			[]trip{{1, 100, 1010}, {2, 99, 1020}, {3, 98, 1030}, {4, 97, 1040}, {5, 96, 1050}, {6, 95, 1100}, {7, 94, 1150}, {8, 94, 1160}}},
		// A steep gradient leaves nothing: the lowest rate.
		{"paper: no less than min-rate", timelyPreset("paper", start), 10e9, []trip{{100, 100, 1010}, {200, 200, 10}}},
		{"paper: no more than the line", timelyPreset("paper", start), 1e9, []trip{{100, 20, 1000}}},

		// snippet: delta_factor = min(elapsed / minRTT, 1): half a microsecond is half a step of 40
		// Mb/s.
		{"snippet: steps by time", timelyPreset("snippet", start), 10e9, []trip{{10, 20, 1040}, {10.5, 20, 1060}, {20, 20, 1100}}},
		// snippet: new_rate = max(new_rate, rate * 0.5). 0.02 of 100 µs over 1 µs is a gradient
		// of 2.
		{"snippet: no less than half", timelyPreset("snippet", start), 10e9, []trip{{10, 100, 1040}, {20, 200, 520}}},
		// snippet: N = 5 after five negative differences, and 0.8 (1 - 1000/2000) above T_high.
		{"snippet: above t-high", timelyPreset("snippet", start), 10e9, []trip{{10, 2000, 600}}},

		// hpcc: only the first ACK for a packet behind lastUpdateSeq counts, and the very first
		// sets it. Each trip here is one. Rates are times the line over 10 Gb/s: 25 Mb/s, and 125
		// Mb/s "incStage < 5 ? rai : rhai".
		{"hpcc: increases in a row", timelyPreset("hpcc", start), 25e9,
			[]trip{{1, 20, 1000}, {2, 20, 1025}, {3, 20, 1050}, {4, 20, 1075}, {5, 20, 1100}, {6, 20, 1125}, {7, 20, 1250}, {8, 1000, 750}, {9, 20, 775}}},

		// patched ("ECN or Delay", Algorithm 2): w(0) is 1/2; half of 10 Mb/s up, and down by
		// 0.008/2 times (100-50)/50, of 1 Gb/s: +5 - 4.
		{"patched: both at once", timelyPreset("patched", start), 10e9, []trip{{100, 100, 1001}}},
		// At rest delta/2 = beta/2 R (rtt-ref)/ref: 1 Gb/s has its round trip at 2.25 times
		// reference.
		{"patched: at rest", timelyPreset("patched", start), 10e9, []trip{{100, 112.5, 1000}, {200, 112.5, 1000}}},
		// w is 1 from a gradient of 1/4 on, and 0 below -1/4.
		{"patched: steep", timelyPreset("patched", start), 10e9, []trip{{100, 100, 1001}, {200, 110, 991.3904}, {300, 90, 1001.3904}}},
		{"patched: another reference", timelyPreset("patched", start, func(p *TimelyParams) { p.Reference = 100 * us }), 10e9,
			[]trip{{100, 100, 1005}}},
	} {
		algorithm, err := NewTimely(c.p, Site{Line: c.line, Length: 1000})
		if err != nil {
			t.Fatal(c.rule, err)
		}
		for i, x := range c.trips {
			algorithm.Acked(unit.Time(micros(x.at)), Ack{RTT: micros(x.rtt), Bytes: 1000, Oldest: uint64(i + 1), Next: uint64(i + 1)})
			if got := float64(algorithm.Rate()) / 1e6; math.Abs(got-x.rate) > 1e-4 {
				t.Errorf("%s: at %v us %v Mb/s, want %v", c.rule, x.at, got, x.rate)
			}
		}
		if algorithm.Window() != 0 || algorithm.Deadline() != unit.Never {
			t.Errorf("%s: a window of %v, a deadline of %v", c.rule, algorithm.Window(), algorithm.Deadline())
		}
	}
}

// hpcc: "if (ack_seq > lastUpdateSeq)", and lastUpdateSeq becomes snd_nxt.
func TestTimelyOncePerRoundTrip(t *testing.T) {
	algorithm, err := NewTimely(timelyPreset("hpcc", func(p *TimelyParams) { p.StartRate = 1e9 }), Site{Line: 10e9, Length: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		oldest, next uint64
		rate         unit.Rate
	}{{1, 10, 1000e6}, {2, 11, 1000e6}, {10, 19, 1000e6}, {11, 20, 1010e6}, {12, 21, 1010e6}, {20, 29, 1010e6}, {21, 30, 1020e6}} {
		algorithm.Acked(unit.Time(i+1), Ack{RTT: 20 * us, Oldest: c.oldest, Next: c.next})
		if algorithm.Rate() != c.rate {
			t.Errorf("ACK %d: %v, want %v", i, algorithm.Rate(), c.rate)
		}
	}
	algorithm.Acked(99, Ack{Oldest: 99, Next: 100})
	if algorithm.Rate() != 1020e6 {
		t.Errorf("an ACK without a round trip: %v", algorithm.Rate())
	}
}

// Parameters that cannot work are refused, with the arithmetic.
func TestTimelyRefuses(t *testing.T) {
	for want, change := range map[string]func(*TimelyParams){
		"no round trip is between them":                   func(p *TimelyParams) { p.THigh = p.TLow },
		"the lowest rate, 20Gb/s, is above the highest":   func(p *TimelyParams) { p.MinRate = 20e9 },
		"a packet of 1KB takes 800ns on a link of 10Gb/s": func(p *TimelyParams) { p.TLow, p.THigh = us/1000, 800*us/1000 },
		"its rates are from 10Mb/s to 10Gb/s":             func(p *TimelyParams) { p.StartRate = 1e6 },
		"the algorithm aims at must be below":             func(p *TimelyParams) { p.Between, p.Reference = ByWeight, p.THigh },
		"out of range":                                    func(p *TimelyParams) { p.Beta = 2 },
	} {
		p := timelyPreset("paper")
		change(&p)
		if _, err := NewTimely(p, Site{Line: 10e9, Length: 1000}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
