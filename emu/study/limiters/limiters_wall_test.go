//go:build !race

package limiters_test

import (
	"bytes"
	"context"
	"testing"

	"fabemu/emu/foreign"
	"fabemu/emu/report"
	"fabemu/emu/study/limiters"
	"fabemu/emu/terminal"
)

// The limiter of another program paces a real source over sockets, as well as an ideal one
// in this program does.
func TestWallProgram(t *testing.T) {
	p := &foreign.Program{Command: []string{built(t)}}
	r, err := limiters.Run(context.Background(), limiters.InProgram(context.Background(), p), limiters.Options{Clock: report.WallClock, Cases: []string{"wall/steps"}})
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Cases[0].Wall; !r.Good() || w == nil || w.CallsNs == 0 {
		var text bytes.Buffer
		r.WriteText(&text, terminal.Look{})
		t.Errorf("%s", text.String())
	}
}
