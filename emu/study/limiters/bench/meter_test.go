package bench

import (
	"strings"
	"testing"

	"fabemu/node"
	"fabemu/wire/unit"
)

// Each breach of the contract is told, on either side.
func TestMeterTellsBreaches(t *testing.T) {
	for _, tc := range []struct {
		want    string
		limiter node.RateLimiter
		calls   func(m *meter)
	}{
		{"", nil, func(m *meter) { m.Sent(m.Next(0, 1500), 1500) }},
		{"Next is called at 1µs, after a call at 2µs: time runs backwards", nil, func(m *meter) { m.Next(2*us, 1); m.Next(us, 1) }},
		{"Sent is called at 1µs, after a call at 2µs", nil, func(m *meter) { m.Next(2*us, 1); m.Sent(us, 1) }},
		{"SetRate is called at 1µs, after a call at 2µs", nil, func(m *meter) { m.Next(2*us, 1); m.SetRate(us, 1e9) }},
		{"1500 bytes start at 2µs, and the limiter has not let them", nil, func(m *meter) { m.Sent(m.Next(0, 1500), 1500); m.Next(us, 1500); m.Sent(2*us, 1500) }},
		{"which is before", moody{}, func(m *meter) { m.Next(us, 1) }},
		{"asked then", putOff{}, func(m *meter) { m.Next(us, 1); m.Next(2*us, 1) }},
	} {
		if tc.limiter == nil {
			tc.limiter = node.NewInterPacketDelay(1e9)
		}
		m := newMeter(tc.limiter, 1e9, 1500)
		tc.calls(m)
		var got string
		for _, f := range m.out.Faults {
			if f.Criterion == Contract {
				got = f.Text
			}
		}
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// moody gives the past.
type moody struct{ putOff }

func (moody) Next(now unit.Time, _ unit.Size) unit.Time { return now - 1 }

// putOff never lets a packet start.
type putOff struct{}

func (putOff) Next(now unit.Time, _ unit.Size) unit.Time { return 2 * now }
func (putOff) Sent(unit.Time, unit.Size)                 {}
func (putOff) SetRate(unit.Time, unit.Rate)              {}

// The packets that are under an error of the rate are those that make it, wherever they are in
// the window: here ten of them, long before its end.
func TestMeterShowsTheWorstStretch(t *testing.T) {
	const packet, gap = 1500, 12 * us // at 1 Gb/s
	for _, tc := range []struct {
		name       string
		usual, odd unit.Time // gaps
	}{
		{"all are late, some the most", gap * 3 / 2, gap * 3},
		{"all are early, some the most", gap * 7 / 10, gap / 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &dictated{}
			m := newMeter(l, gbps, packet)
			odd := map[unit.Time]bool{}
			for k := range 140 {
				before := l.at
				if l.at += tc.usual; k >= 50 && k < 60 {
					l.at = before + tc.odd
					odd[l.at] = true
				}
				m.Next(before, packet)
				m.Next(l.at, packet)
				m.Sent(l.at, packet)
			}
			for _, f := range m.out.Faults {
				if f.Criterion != RateError {
					continue
				}
				found := 0
				for _, s := range f.Starts {
					if odd[s.At] && s.Size == packet {
						found++
					}
				}
				if found < around-1 || !strings.Contains(f.String(), "over 100 packets") {
					t.Errorf("%d odd packets are shown, want %d at least\n%v", found, around-1, f)
				}
				return
			}
			t.Error("no error of the rate is found")
		})
	}
}

// dictated lets packets start when it is told to.
type dictated struct {
	putOff
	at unit.Time
}

func (l *dictated) Next(unit.Time, unit.Size) unit.Time { return l.at }

// A figure is printed without powers of ten.
func TestPlain(t *testing.T) {
	for v, want := range map[float64]string{230.4: "+230", 5e-05: "+0.00005", 0: "0", -0.0123: "-0.012", 128_049: "+130000"} {
		if got := Signed(v, 2); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
