package metrics

import (
	"math"
	"testing"

	"fabemu/wire/unit"
)

func TestPeriod(t *testing.T) {
	draw := unit.NewRandom(1, 1)
	noise := func() float64 { return float64(draw.Below(1<<20))/(1<<19) - 1 }
	course := func(n int, of func(i float64) float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = of(float64(i))
		}
		return values
	}
	sine := func(period, i float64) float64 { return math.Sin(2 * math.Pi * i / period) }
	for _, c := range []struct {
		name   string
		values []float64
		want   float64 // 0: none
	}{
		{"a sine", course(1000, func(i float64) float64 { return 80 + 50*sine(37.3, i) }), 37.3},
		{"a sine and noise of the same size", course(2000, func(i float64) float64 { return sine(90, i) + 1.2*noise() }), 90},
		{"a queue that is empty most of the time", course(1000, func(i float64) float64 { return max(sine(120, i)-0.7, 0) }), 120},
		{"a saw", course(800, func(i float64) float64 { return math.Mod(i, 50) }), 50},
		{"noise", course(2000, func(float64) float64 { return noise() }), 0},
		{"what is constant", course(100, func(float64) float64 { return 7 }), 0},
		{"what rises", course(100, func(i float64) float64 { return i }), 0},
		{"one time and a half", course(150, func(i float64) float64 { return sine(100, i) }), 0},
		{"nothing", nil, 0},
	} {
		got := Period(c.values)
		if c.want == 0 && !math.IsNaN(got) || c.want > 0 && !(math.Abs(got/c.want-1) < 0.01) {
			t.Errorf("%s: the period is %v, want %v", c.name, got, c.want)
		}
	}
}

// The period of a queue is in seconds, whatever the window.
func TestPeriodOfAQueue(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s) // bins of 100 µs
	for at := unit.Time(0); at < 100*ms; at += 50 * us {
		length := int64(0)
		if at%(4*ms) < ms {
			length = 10000
		}
		p.queued(at, "trunk", 0, length)
	}
	p.c.Close(100 * ms)
	if got := over(t, p.c, "trunk.A-B.queue.period", 10*ms, 90*ms); math.Abs(got-0.004) > 4e-5 {
		t.Errorf("the period is %v s, want 0.004", got)
	}
	if got := over(t, p.c, "trunk.B-A.queue.period", 10*ms, 90*ms); !math.IsNaN(got) {
		t.Errorf("the period of nothing is %v s", got)
	}
}
