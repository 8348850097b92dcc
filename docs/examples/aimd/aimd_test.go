package main

import (
	"bytes"
	"context"
	"os/exec"
	"testing"

	"fabemu/emu"
	"fabemu/emu/limitertest/reactiontest"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

func TestAIMD(t *testing.T) {
	reactiontest.Run(t, func(site rp.Site) rp.Reaction { return newAIMD(site.Line) }, nil)
}

// The twin in Python gives the same event log, with a process for each flow.
func TestTwinInPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the twin needs python3")
	}
	run := func(own emu.Schemes) (string, int) {
		s, err := emu.Open("../exec.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Schemes: own, Events: &log})
		if err != nil {
			t.Fatal(err)
		}
		marked := 0
		for _, f := range r.Flows {
			marked += int(f.Marked)
		}
		return log.String(), marked
	}
	want, marked := run(emu.Schemes{Reaction: func(_ *emu.Flow, line unit.Rate) rp.Reaction { return newAIMD(line) }})
	if got, _ := run(emu.Schemes{}); got != want || marked == 0 {
		t.Errorf("logs of %d bytes in Go and %d in Python differ, or no packet of %d was marked", len(want), len(got), marked)
	}
}
