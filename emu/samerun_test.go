package emu

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// played is the result of a run on the virtual clock.
type played struct {
	hops           int64
	result, series string
	digest, log    string // empty: not asked for
}

// What a run has in addition to its figures.
const (
	counted = iota // nothing: ports count
	condensed
	logged
	packed // logged, in the binary form
)

// play runs the first part of a scenario with so many domains and loops.
func play(t *testing.T, f *fabric.Fabric, domains, loops int, time unit.Duration, form int) played {
	t.Helper()
	var log bytes.Buffer
	o := &Options{Settings: Settings{Clock: VirtualClock}, Digest: form != counted, Domains: domains}
	if form >= logged {
		o.Events = &log
	}
	if form == packed {
		o.EventForm = report.BinaryLog
	}
	r, err := newRecording(f, o)
	if err != nil {
		t.Fatal(err)
	}
	driven, n, why, err := r.nodes(loops, Schemes{})
	if err != nil {
		t.Fatal(err)
	}
	if n != min(loops, domains, len(f.Nodes)) && why == "" {
		t.Errorf("%d loops were asked for, %d run, and nothing says why", loops, n)
	}
	driven.End = min(driven.End, unit.Time(time))
	driven.Watch.Every = 100 * unit.Microsecond
	hops, err := drive.Virtual{SkipCodec: true}.Run(context.Background(), driven)
	if err != nil {
		t.Fatal(err)
	}
	out := r.end(driven.End, 0, nil, driven.Watch)
	out.Deadlocks = report.Deadlocks(f, driven.Watch)
	digest := out.Digest
	out.Digest = ""
	var text, series bytes.Buffer
	if err := report.WriteJSON(&text, out); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteSeries(&series, out, r.collector.Series()); err != nil {
		t.Fatal(err)
	}
	if form == packed {
		lines, err := report.NewEventReader(&log)
		var text []byte
		if err == nil {
			text, err = io.ReadAll(lines)
		}
		if err != nil {
			t.Fatal(err)
		}
		log = *bytes.NewBuffer(text)
	}
	return played{hops, text.String(), series.String(), digest, log.String()}
}

// "Domains that keep the total order": with any number of domains and loops a run of any built-in
// scenario has the figures and the digest that it has with one, to the last digit, and with a log,
// in either form, the same bytes of it; ports that count have the figures of the log; also on one
// processor.
func TestModelLoopsGiveTheSameRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, entry := range builtin.List() {
		t.Run(entry.Name, func(t *testing.T) { compareLoops(t, entry.Name, 400*unit.Microsecond) })
	}
}

// The same in short, for the race detector: with credit, PFC, rates that change, a deadlock.
func TestLoopsShareNothing(t *testing.T) {
	for _, name := range []string{"hpl2002/fig3b", "ethernet/ring-deadlock", "ethernet/leaf-spine", "qcn/two-points"} {
		t.Run(name, func(t *testing.T) { compareLoops(t, name, 200*unit.Microsecond) })
	}
}

// compareLoops runs the first part of a scenario with one domain and with several.
func compareLoops(t *testing.T, name string, time unit.Duration) {
	src, err := builtin.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load(name, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	if guests, _ := s.Guests(); guests > 0 {
		return // they have one loop
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	all := play(t, f, 1, 1, time, logged)
	for _, c := range []struct{ domains, loops, form, cores int }{
		{1, 1, counted, 1}, {2, 2, counted, runtime.NumCPU()}, {2, 2, condensed, runtime.NumCPU()},
		{5, 2, logged, runtime.NumCPU()}, {3, 3, condensed, 1}, {7, 1, packed, 1}, {100, 1, counted, 1},
	} {
		before := runtime.GOMAXPROCS(c.cores)
		got, want := play(t, f, c.domains, c.loops, time, c.form), all
		runtime.GOMAXPROCS(before)
		if c.form < logged {
			want.log = ""
		}
		if c.form < condensed {
			want.digest = ""
		}
		if got != want {
			t.Errorf("%d domains, %d loops, form %d, on %d processors: %s", c.domains, c.loops, c.form, c.cores, first(want, got))
		}
	}
}

// first returns the first difference of two runs.
func first(want, got played) string {
	for _, x := range [][2]string{{want.result, got.result}, {want.series, got.series}, {want.digest, got.digest}, {want.log, got.log}, {fmt.Sprint(want.hops), fmt.Sprint(got.hops)}} {
		if x[0] != x[1] {
			d := cmp.Diff(x[0], x[1])
			return d[:min(len(d), 1500)]
		}
	}
	return ""
}
