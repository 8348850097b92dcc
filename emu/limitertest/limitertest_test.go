package limitertest_test

import (
	"strings"
	"testing"

	"fabemu/emu/limitertest"
	"fabemu/node"
	"fabemu/wire/unit"
)

// Each breach of the contract is told, on either side.
func TestWatchTells(t *testing.T) {
	const us = unit.Time(unit.Microsecond)
	for _, tc := range []struct {
		want  string
		calls func(w *limitertest.Watch)
	}{
		{"", func(w *limitertest.Watch) { w.Sent(w.Next(0, 1500), 1500) }},
		{"Next is called at 1us, after a call at 2us: time runs backwards", func(w *limitertest.Watch) { w.Next(2*us, 1); w.Next(us, 1) }},
		{"Sent is called at 1us, after a call at 2us", func(w *limitertest.Watch) { w.Next(2*us, 1); w.Sent(us, 1) }},
		{"SetRate is called at 1us, after a call at 2us", func(w *limitertest.Watch) { w.Next(2*us, 1); w.SetRate(us, 1e9) }},
		{"1500 bytes start at 2us, and the limiter has not let them", func(w *limitertest.Watch) { w.Sent(w.Next(0, 1500), 1500); w.Next(us, 1500); w.Sent(2*us, 1500) }},
	} {
		w := limitertest.NewWatch(node.NewInterPacketDelay(1e9), 1e9)
		tc.calls(w)
		if err := w.Err(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
	w := limitertest.NewWatch(moody{}, 1e9)
	if w.Next(us, 1); w.Err() == nil || !strings.Contains(w.Err().Error(), "which is before") {
		t.Errorf("a limiter that gives the past: %v", w.Err())
	}
	w = limitertest.NewWatch(putOff{}, 1e9)
	w.Next(us, 1)
	if w.Next(2*us, 1); w.Err() == nil || !strings.Contains(w.Err().Error(), "asked then") {
		t.Errorf("a limiter that does not keep to what it gave: %v", w.Err())
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
