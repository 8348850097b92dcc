package emu_test

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
)

// full is a disk on which this many bytes find room.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	if f.room -= n; n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// A log or a capture that finds no room ends, and the run does not: its figures are those of
// a run without them, and it says what is missing.
func TestAFullDiskDoesNotEndTheRun(t *testing.T) {
	t.Attr("depends-on", "privileges")
	open := func(o emu.Options) *emu.Result {
		t.Helper()
		s := runtest.Load(t, runtest.Text(t, "qcn/og-hotspot"), runtest.Sets(t, "model.duration=5ms")...)
		o.Clock, o.Digest = emu.VirtualClock, true
		r, err := emu.Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := open(emu.Options{})
	for name, x := range map[string]struct {
		options emu.Options
		want    string
	}{
		"event log": {emu.Options{Events: &full{10_000}}, "the event log is not whole: no space left on device"},
		"capture":   {emu.Options{Capture: &emu.Capture{To: &full{10_000}}}, "the capture is not whole: no space left on device"},
	} {
		r := open(x.options)
		if r.Digest != whole.Digest || r.Partial || r.DurationPs != whole.DurationPs {
			t.Errorf("%s: digest %s after %d ps, partial %v; want %s after %d", name, r.Digest, r.DurationPs, r.Partial, whole.Digest, whole.DurationPs)
		}
		if len(r.Unwritten) != 1 || r.Unwritten[0] != x.want {
			t.Errorf("%s: unwritten %q, want %q", name, r.Unwritten, x.want)
		}
		if len(r.Warnings) != len(whole.Warnings) {
			t.Errorf("%s: warnings %q", name, r.Warnings)
		}
		var text, json bytes.Buffer
		if err := summary.WriteText(&text, r.Result, terminal.Look{}); err != nil {
			t.Fatal(err)
		}
		if err := report.WriteJSON(&json, r.Result); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "Not written\n  "+x.want) || !strings.Contains(json.String(), x.want) {
			t.Errorf("%s: the text or the JSON does not say so", name)
		}
	}
}
