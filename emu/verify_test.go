package emu

import (
	"context"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
)

// A run has its own sums. Where half of a fabric's senders say nothing, those that other
// senders have a part in are others, and the furthest off is named.
func TestSums(t *testing.T) {
	run := func(sets ...string) *Result {
		r, err := Run(context.Background(), runtest.Short(t, "hpl2002/fig2", "8ms", sets...), Options{Clock: VirtualClock})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole, half := run(), run("flows.remote.start=7999us")
	if apart, of := report.Sums(whole.Metrics, whole.Metrics); apart != 0 || of == "" {
		t.Errorf("a run is %v off itself at %q", apart, of)
	}
	// With ten local flows and a buffer of 4 the remote ones have 4/14 of the root link (fig2.yaml).
	if apart, of := report.Sums(half.Metrics, whole.Metrics); apart < 0.2 || of != "trunk.A-B" && of != "remote" && of != "local" {
		t.Errorf("without the remote flows a run is %v off at %q", apart, of)
	}
}
