package pace

import "testing"

// A loop leaves to others what is theirs, while they want it, and only then.
func TestShare(t *testing.T) {
	const ms, slice = 1_000_000, 4
	for _, c := range []struct {
		name      string
		taken     func(at int) bool // whether others have the processor in this slice, unless the loop sleeps
		moves     int               // after so many ms the loop runs on another thread, whose wait is another; 0: never
		least, up int               // percent of the time that the loop has
		until     int               // ms; measured is the second half
	}{
		{name: "alone", taken: func(int) bool { return false }, least: 100, up: 100},
		{name: "a stall now and then", taken: func(at int) bool { return at%400 == 0 }, least: 99, up: 99},
		{name: "a tenth for others", taken: func(at int) bool { return at%40 == 0 }, least: shareMost - 5, up: shareMost + 1},
		{name: "half for others", taken: func(at int) bool { return at%8 == 0 }, least: 50, up: 50},
		{name: "a tenth, and threads change", taken: func(at int) bool { return at%40 == 0 }, moves: 52, least: shareMost - 5, up: shareMost + 8},
		{name: "others until 10 s", taken: func(at int) bool { return at%40 == 0 && at < 10_000 }, least: 100, up: 100, until: 80_000},
	} {
		until := max(c.until, 40_000)
		var waited [2]int64
		thread, had, sleeps := 0, 0, 0
		s := NewShare(0, func() (int, int64) { return thread, waited[thread] })
		for at := 0; at < until; at += slice {
			now, late := int64(at)*ms, int64(0)
			if c.moves > 0 && at/c.moves%2 != thread {
				thread = 1 - thread
			}
			switch {
			case at < sleeps:
				continue
			case c.taken(at):
				waited[thread] += slice * ms
				late = slice * ms
			case at >= until/2:
				had += slice
			}
			if nap := s.Nap(now+slice*ms, late); nap > 0 {
				sleeps = at + slice + int(nap/ms)
			}
		}
		if share := had * 100 / (until / 2); share < c.least || share > c.up {
			t.Errorf("%s: the loop has %d %% of the time, want %d to %d", c.name, share, c.least, c.up)
		}
	}
}
