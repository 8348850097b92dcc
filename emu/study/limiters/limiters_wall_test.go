//go:build timing

package limiters_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"fabemu/emu/base/terminal"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters"
	"fabemu/emu/study/limiters/bench"
)

// The limiter of another program paces a real source over sockets.
func TestWallProgram(t *testing.T) {
	p := &program.Program{Command: []string{built(t)}}
	r, err := limiters.Run(context.Background(), limiters.InProgram(p), limiters.Options{Clock: mode.WallClock, Cases: []string{"real/90Mbps"}})
	if err != nil {
		t.Fatal(err)
	}
	faults := slices.DeleteFunc(r.Cases[0].Faults, func(f limiters.Fault) bool { return f.Criterion == bench.RealTime || f.Criterion == bench.Late }) // that is package bench's matter
	if real := r.Cases[0].Real; r.Verdict != "" || len(faults) > 0 || real == nil || real.Limiter.Calls == 0 {
		var text bytes.Buffer
		r.WriteText(&text, terminal.Look{})
		t.Errorf("%s", text.String())
	}
}
