package drive

import (
	"context"
	"slices"
	"testing"
	"time"

	"fabemu/wire/port"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// caller is an outside that has something for nodes 1 and 0 at the first look after an
// instant of wall time, in ns.
type caller struct {
	clock *int64
	at    int64
	waits int
}

func (c *caller) Look(offer func(node int, p port.ID, c port.Change) unit.Time) error {
	if c.at > 0 && *c.clock >= c.at {
		c.at = 0
		offer(1, 0, port.Offer{})
		offer(0, 0, port.Offer{})
	}
	return nil
}

func (c *caller) Wait(most time.Duration) {
	c.waits++
	*c.clock += int64(most)
}

// What comes from outside is told at the model time that the wall clock shows while the loop
// waits; where it lags behind, at that of the event that it comes to. An event before that is
// done before it.
func TestOutside(t *testing.T) {
	for name, test := range map[string]struct {
		step int64 // of the clock, at each look, in ns
		at   int64
		want []string
	}{
		"waits": {step: 50, at: 4_900, want: append(slices.Clone(starStory), "middle 4.95ns: offer", "a 4.95ns: offer")},
		"lags":  {step: 30_000, at: 50_000, want: []string{"middle 0s: offer", "a 0s: offer", "a 0s: advance", "b 0s: advance"}},
	} {
		f, story := star()
		w := pipes(f, 1000)
		clock := int64(0)
		w.Clock = func() int64 { clock += test.step; return clock }
		f.Outside = &caller{clock: &clock, at: test.at}
		if _, err := w.Run(context.Background(), f); err != nil {
			t.Fatal(err)
		}
		got := *story
		if name == "lags" {
			got = got[:min(len(got), 4)]
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// A loop that has nothing to do for long sleeps until something comes.
func TestOutsideIsAwaited(t *testing.T) {
	f, story := star()
	f.End = unit.Time(unit.Millisecond)
	w := pipes(f, 1000)
	clock := int64(0)
	w.Clock = func() int64 { clock += 100; return clock }
	c := &caller{clock: &clock, at: 400_000_000}
	f.Outside = c
	if _, err := w.Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if last := (*story)[len(*story)-2:]; c.waits < 10 || last[0][:len("middle 4")] != "middle 4" {
		t.Errorf("%d waits, then %q", c.waits, last)
	}
}
