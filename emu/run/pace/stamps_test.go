package pace

import (
	"testing"
	"time"
)

// A time stamp of the kernel becomes an instant of the run's clock. Where someone sets the time of
// day, the stamps of then have no instant, and the following ones do.
func TestStampsSurviveAChangeOfTheTimeOfDay(t *testing.T) {
	clock := Monotonic()
	s := NewStamps(clock)
	timeOfDay := func() int64 { return time.Now().UnixNano() }
	const slack = int64(time.Millisecond) // between two readings here
	for _, set := range []int64{0, int64(time.Hour), -int64(time.Hour)} {
		since := clock()
		if at, ok := s.At(timeOfDay()+set, since, since); ok != (set == 0) || ok && at-since > slack {
			t.Errorf("set by %v: %v after the departure, %v", time.Duration(set), time.Duration(at-since), ok)
		}
	}
	since := clock()
	if at, ok := s.At(timeOfDay(), since, since); !ok || at < since || at > clock() {
		t.Errorf("afterwards: %v after the departure, %v", time.Duration(at-since), ok)
	}
	if at, ok := s.At(0, since, since); ok {
		t.Errorf("no stamp has the instant %d", at)
	}
}

// An instant that is known only from both sides counts as the worst.
func TestGapBetweenBounds(t *testing.T) {
	for _, c := range []struct {
		least, most, held int64
		off               bool
		gapsHeld          int64
	}{
		{-5, 5, 0, false, 0},
		{-6, 0, 0, true, 0},
		{0, 6, 0, true, 0},
		{-6, -6, 6, false, 1},
		{-20, -10, 15, false, 1},
		{-20, -9, 15, true, 1},
	} {
		m := NewMeter(1000)
		if got := m.Gap(c.least, c.most, c.held, 100); got != c.off || m.GapsHeld != c.gapsHeld {
			t.Errorf("%+v: off is %v, %d held", c, got, m.GapsHeld)
		}
	}
}
