package host

import (
	"math"
	"testing"
)

func TestLoad(t *testing.T) {
	stat := func(s string) processors {
		t.Helper()
		got, err := parseStat(s)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := stat("cpu  1000 10 500 80000 70 5 15 20 400 3\ncpu0 1 2 3\n")
	after := stat("cpu  1130 12 540 80200 71 6 20 22 480 3\ncpu0 1 2 3\n")
	if before != (processors{busy: 15.30, stolen: 0.20}) {
		t.Errorf("%+v", before)
	}
	// 178 ticks of 10 ms in a second, of which 0.98 s were our own.
	others, stolen := before.until(after, 0.98, 1)
	if math.Abs(others-0.8) > 1e-9 || math.Abs(stolen-0.02) > 1e-9 {
		t.Errorf("%v and %v, want 0.8 and 0.02", others, stolen)
	}
	if others, stolen := before.until(before, 1, 1); others != 0 || stolen != 0 {
		t.Errorf("ticks that are not counted yet: %v, %v", others, stolen)
	}
	if others, stolen := before.until(after, 0, 0); others != 0 || stolen != 0 {
		t.Errorf("no time: %v, %v", others, stolen)
	}
	unknown := processors{math.NaN(), math.NaN()}
	if others, stolen := unknown.until(unknown, 0, 1); !math.IsNaN(others) || !math.IsNaN(stolen) {
		t.Errorf("a system that does not tell: %v, %v", others, stolen)
	}
	for _, bad := range []string{"", "cpu", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
