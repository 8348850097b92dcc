package emu_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// A scenario that a program builds is checked by the rules of files, before it runs and before it
// is written for processes.
func TestRulesOfBuiltScenarios(t *testing.T) {
	s := scenario.New("built", unit.Millisecond)
	s.Switches = []scenario.Switch{scenario.NewSwitch("S")}
	s.Endpoints = scenario.NewEndpoints("a", "b")
	s.Links = []scenario.Link{scenario.NewLink("a", "S", 1e9), scenario.NewLink("S", "b", 1e9)}
	s.Links[1].Buffer = unit.Room{Bytes: 128}
	s.Flows = []scenario.Flow{scenario.NewFlow("f", "a", "b")}
	const want = "the buffer of link S - b cannot hold a packet of flow f"
	_, run := emu.Run(context.Background(), s, emu.Options{})
	_, laid := emu.Prepare(s)
	dry := emu.Dry(s, emu.Options{Settings: emu.Settings{Placement: emu.InProcesses}, Directory: t.TempDir()})
	for what, err := range map[string]error{"run": run, "laid out": laid, "dry": dry} {
		if mistake := (*emu.Mistake)(nil); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %T %v, want %s", what, err, err, want)
		}
	}
}
