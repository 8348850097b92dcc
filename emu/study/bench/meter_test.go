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
		{"Next is called at 1us, after a call at 2us: time runs backwards", nil, func(m *meter) { m.Next(2*us, 1); m.Next(us, 1) }},
		{"Sent is called at 1us, after a call at 2us", nil, func(m *meter) { m.Next(2*us, 1); m.Sent(us, 1) }},
		{"SetRate is called at 1us, after a call at 2us", nil, func(m *meter) { m.Next(2*us, 1); m.SetRate(us, 1e9) }},
		{"1500 bytes start at 2us, and the limiter has not let them", nil, func(m *meter) { m.Sent(m.Next(0, 1500), 1500); m.Next(us, 1500); m.Sent(2*us, 1500) }},
		{"which is before", moody{}, func(m *meter) { m.Next(us, 1) }},
		{"asked then", putOff{}, func(m *meter) { m.Next(us, 1); m.Next(2*us, 1) }},
	} {
		if tc.limiter == nil {
			tc.limiter = node.NewInterPacketDelay(1e9)
		}
		m := newMeter(tc.limiter, 1e9, 1500)
		tc.calls(m)
		var got string
		for _, f := range m.report().Faults {
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
