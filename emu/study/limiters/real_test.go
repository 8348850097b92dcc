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
	"fabemu/emu/study/limiters/bench"
	"fabemu/emu/study/limiters/program"
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
