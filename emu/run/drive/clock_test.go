package drive

import (
	"testing"
	"time"
)

func TestBounds(t *testing.T) {
	const us, ms = int64(time.Microsecond), int64(time.Millisecond)
	for _, x := range []struct {
		t                   int64
		limiters, processes bool
		tight, loose        int64
	}{
		{100 * us, false, false, 100 * us, 100 * us},
		{10 * us, false, false, 10 * us, 200 * us},
		{us, false, false, 5 * us, 200 * us},
		{100 * us, true, false, 25 * us, 25 * us},
		{10 * us, true, false, 5 * us, 5 * us},
		{100 * us, false, true, 50 * ms, 50 * ms},
		{ms, false, true, ms, ms},
		{100 * us, true, true, 25 * us, 25 * us}, // a limiter is never later, in whatever process it is
	} {
		if tight, loose := bounds(x.t, x.limiters, x.processes); tight != x.tight || loose != x.loose {
			t.Errorf("T %v, limiters %v, processes %v: %v to %v, want %v to %v", x.t, x.limiters, x.processes, tight, loose, x.tight, x.loose)
		}
	}
}
