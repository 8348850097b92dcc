package pace

import (
	"testing"
	"time"

	"fabemu/wire/unit"
)

// A run that becomes slower takes longer: what it did before the last seconds does not count.
func TestRemainingIsOfTheLastSeconds(t *testing.T) {
	const end = 1000 * unit.Time(unit.Millisecond)
	var r Remaining
	if left, known := r.Estimate(time.Second, 0, end); known {
		t.Errorf("a run that has not moved takes %v more", left)
	}
	now, wall := unit.Time(0), time.Second
	check := func(what string, want time.Duration) {
		t.Helper()
		left, known := r.Estimate(wall, now, end)
		if ratio := left.Seconds() / want.Seconds(); !known || ratio < 0.99 || ratio > 1.01 {
			t.Errorf("%s: %v, want %v", what, left, want)
		}
	}
	move := func(seconds int, each unit.Time) {
		for range 5 * seconds {
			wall += 200 * time.Millisecond
			now += each / 5
			r.Estimate(wall, now, end)
		}
	}
	const ms = unit.Time(unit.Millisecond)
	move(50, 10*ms)
	check("half of the run in 50 s", 50*time.Second)
	move(20, ms)
	check("then a tenth of that pace", 480*time.Second)
	move(60, 0)
	check("then 60 s at a stand: 5 ms in 65 s", 480*time.Second*65/5)
	move(10, 20*ms)
	check("then twice the first pace", 14*time.Second)
	if len(r.seen) > 30 {
		t.Errorf("%d readings are kept", len(r.seen))
	}
}
