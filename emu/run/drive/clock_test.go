package drive

import (
	"testing"
	"time"
)

func TestBounds(t *testing.T) {
	const us, ms = int64(time.Microsecond), int64(time.Millisecond)
	for _, x := range []struct {
		t                          int64
		limiters, processes, apart bool
		tight, loose               int64
	}{
		{100 * us, false, false, false, 100 * us, 100 * us},
		{10 * us, false, false, false, 10 * us, 200 * us},
		{us, false, false, false, 5 * us, 200 * us},
		{us, false, false, true, 5 * us, ms},
		{100 * us, false, false, true, 100 * us, 100 * us},
		{100 * us, true, false, false, 25 * us, 25 * us},
		{10 * us, true, false, false, 5 * us, 5 * us},
		{100 * us, false, true, false, 50 * ms, 50 * ms},
		{ms, false, true, false, ms, ms},
		{100 * us, true, true, false, 25 * us, 25 * us}, // a limiter is never later, in whatever process it is
	} {
		if tight, loose := bounds(x.t, x.limiters, x.processes, x.apart); tight != x.tight || loose != x.loose {
			t.Errorf("T %v, limiters %v, processes %v, apart %v: %v to %v, want %v to %v", x.t, x.limiters, x.processes, x.apart, tight, loose, x.tight, x.loose)
		}
	}
}
