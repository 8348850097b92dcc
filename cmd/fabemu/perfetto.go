package main

import (
	"fmt"
	"strings"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// traceFlags select the part of a run that is traced for Perfetto.
type traceFlags struct {
	emu.Trace
	on     bool
	window string
}

func (f *traceFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&f.on, "perfetto", false, "write a trace for https://ui.perfetto.dev too: "+report.TraceFile)
	flags.StringVar(&f.window, "perfetto-window", "",
		"trace this part of the run, in model time, such as 20ms..21ms (default: all of it, some 100 bytes for a frame on a link)")
	flags.BoolVar(&f.Counters, "perfetto-counters", false, "trace counters alone: queues, buffers, credit, rates")
	flags.StringVar(&f.Follow, "perfetto-follow", "", "draw arrows along the ways of the frames of this flow")
	goWith(c, "perfetto", "", "perfetto-window", "perfetto-counters", "perfetto-follow")
}

// request returns the request for the trace; nil without one.
func (f *traceFlags) request() (*emu.Trace, error) {
	if !f.on {
		return nil, nil
	}
	q := f.Trace
	if f.window == "" {
		return &q, nil
	}
	from, until, ok := strings.Cut(f.window, "..")
	for _, end := range []struct {
		text string
		at   *unit.Time
	}{{from, &q.From}, {until, &q.Until}} {
		if end.text == "" {
			continue
		}
		d, err := unit.ParseDuration(end.text)
		if err != nil {
			return nil, fmt.Errorf("--perfetto-window %s: %w", f.window, err)
		}
		*end.at = unit.Time(d)
	}
	if !ok || f.window == ".." {
		return nil, fmt.Errorf("--perfetto-window %s: a begin and an end are wanted, such as 20ms..21ms", f.window)
	}
	return &q, nil
}
