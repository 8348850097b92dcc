package limiters

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/golden"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters/bench"
	"fabemu/wire/unit"
)

// What was measured in real time is in the text and on the page.
func TestRealIsWritten(t *testing.T) {
	starts := func(gap float64, late time.Duration) bench.Starts {
		return bench.Starts{Packets: 833, Gap: gap, Shortest: gap / 2, Longest: 2 * gap, Late: late / 2, LateP99: late, Calls: 100, CallsP99: 200}
	}
	apart := starts(1.001, 9000)
	outcome := func(name string, o Outcome) Outcome {
		o.Case, o.Clock, o.Judged, o.trace = name, mode.WallClock, true, draw(&bench.Case{Duration: unit.Millisecond, Rates: []bench.Step{{Rate: 1e9 * unit.BitPerSecond}}})
		return o
	}
	one := &Result{Limiter: "one", Cases: []Outcome{
		outcome("real/100Mbps", Outcome{Real: &Real{true, bench.Real{Limiter: starts(1, 7000), Ideal: starts(1, 6000), Sleep: starts(0.9, 80000)}}}),
		outcome("real/1Gbps", Outcome{Real: &Real{false, bench.Real{Limiter: starts(1.2, 70000), Ideal: starts(1.2, 60000), Sleep: starts(0.5, 90000)}}}),
	}}
	far := &Result{Limiter: "far", Cases: []Outcome{
		outcome("real/100Mbps", Outcome{Real: &Real{true, bench.Real{Limiter: starts(3, 40e6), Ideal: starts(1, 6000), Sleep: starts(0.9, 80000), Apart: &apart}}}),
	}}
	var text bytes.Buffer
	if err := errors.Join(one.WriteText(&text, terminal.Look{Wide: 200}), far.WriteText(&text, terminal.Look{Wide: 200})); err != nil {
		t.Fatal(err)
	}
	golden.File(t, filepath.Join("testdata", "real.txt"), text.Bytes())
	if one.Timed() || !far.Timed() {
		t.Errorf("timed: %v, want false; %v, want true", one.Timed(), far.Timed())
	}
	if rows := one.realTable().Rows; len(rows) != 6 || !strings.Contains(text.String(), "pass; not timed") {
		t.Errorf("%d rows", len(rows))
	}
}

// A program at a pipe is measured in real time with its protocol and without. How long that takes
// on this machine is not judged here.
func TestRealProgram(t *testing.T) {
	script := `read x; echo limiter - mine; last=0; while read w t n; do case $w in next) if [ $t -lt $last ]; then echo $last; else echo $t; fi;; sent) last=$((t + 133333334)); echo ok;; *) echo ok;; esac; done`
	r, err := Run(context.Background(), InProgram(&program.Program{Command: []string{"sh", "-c", script}}), Options{Cases: []string{"real/90Mbps"}})
	if err != nil {
		t.Fatal(err)
	}
	real := r.Cases[0].Real
	if real == nil || real.Apart == nil {
		t.Fatalf("%+v", r.Cases[0])
	}
	// Of its calls each is a way to another process and back; of one in this process none is.
	if a := real.Apart; a.Packets < 100 || a.Calls < 5*real.Ideal.Calls {
		t.Errorf("with its protocol %+v, without %+v, an ideal one %+v", real.Limiter, a, real.Ideal)
	}
}

// A case in real time is repeated until the machine had the time for it, or for as long as the user
// allows. The last measurement counts.
func TestUntilTimed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := Ours()[0]
	for name, x := range map[string]struct {
		limit     time.Duration
		timedAt   int // the measurement for which the machine has the time; 0: none
		cancelAt  int // the measurement after which the user ends it
		atLeast   int
		atMost    int
		cases     int // with an outcome
		isPartial bool
	}{
		"at once":           {limit: time.Hour, timedAt: 1, atLeast: 1, atMost: 1, cases: 1},
		"the second time":   {limit: time.Hour, timedAt: 2, atLeast: 2, atMost: 2, cases: 1},
		"without the flag":  {limit: 0, timedAt: 3, atLeast: 1, atMost: 1, cases: 1},
		"never":             {limit: 100 * time.Millisecond, atLeast: 1, atMost: 1000, cases: 1},
		"ended by the user": {limit: time.Hour, cancelAt: 2, atLeast: 2, atMost: 2, cases: 0, isPartial: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a measurement takes four seconds
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var seen []*bench.Real
			began := time.Now()
			r, err := Run(ctx, s, Options{Cases: []string{"real/90Mbps"}, Clock: mode.WallClock, UntilTimed: x.limit, judge: func(r *bench.Real) bool {
				if seen = append(seen, r); len(seen) == x.cancelAt {
					cancel()
				}
				return len(seen) == x.timedAt
			}})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(seen); n < x.atLeast || n > x.atMost || len(r.Cases) != x.cases || r.Partial != x.isPartial {
				t.Errorf("%d measurements and %d outcomes, partly: %v; want %d to %d and %d, %v", n, len(r.Cases), r.Partial, x.atLeast, x.atMost, x.cases, x.isPartial)
			}
			if x.timedAt == 0 && x.cancelAt == 0 && time.Since(began) < x.limit {
				t.Errorf("it ended before the limit of %v", x.limit)
			}
			if last := seen[len(seen)-1]; x.cases > 0 && r.Cases[0].Real.Limiter != last.Limiter {
				t.Errorf("the outcome has %+v, the last measurement %+v", r.Cases[0].Real.Limiter, last.Limiter)
			}
		})
	}
}
