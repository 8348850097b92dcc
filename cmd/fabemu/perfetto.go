package main

import (
	"fmt"
	"strings"

	"fabemu/emu"
	"fabemu/wire/unit"
)

// traceFlags select the part of a run that is traced for Perfetto.
type traceFlags struct {
	// Write fabric.pftrace for https://ui.perfetto.dev.
	On bool `flag:"perfetto" group:"Perfetto trace"`
	// Trace this part of the run, in model time, such as 20ms..21ms (default: all, about 100 bytes
	// for a frame on a link).
	Window string `flag:"perfetto-window" arg:"FROM..TO" needs:"perfetto"`
	emu.Trace
}

// request returns the request for the trace; nil without one.
func (f *traceFlags) request() (*emu.Trace, error) {
	if !f.On {
		return nil, nil
	}
	q := f.Trace
	if f.Window == "" {
		return &q, nil
	}
	from, until, ok := strings.Cut(f.Window, "..")
	for _, end := range []struct {
		text string
		at   *unit.Time
	}{{from, &q.From}, {until, &q.Until}} {
		if end.text == "" {
			continue
		}
		d, err := unit.ParseDuration(end.text)
		if err != nil {
			return nil, fmt.Errorf("--perfetto-window %s: %w", f.Window, err)
		}
		*end.at = unit.Time(d)
	}
	if !ok || f.Window == ".." {
		return nil, fmt.Errorf("--perfetto-window %s: give a start and an end, such as 20ms..21ms", f.Window)
	}
	return &q, nil
}
