package observe

import (
	"testing"
	"testing/synctest"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A run that has waited for an observer in vain blames that observer, and none that has seen the
// end.
func TestWhoIsStillBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runtest.Short(t, "ethernet/pfc-hol", "3ms")
		f, err := fabric.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		c, err := metrics.New(f, s)
		if err != nil {
			t.Fatal(err)
		}
		never := make(chan struct{})
		defer close(never)
		requests := []Request{{Name: "one that stays", Observer: Func(func(*Snapshot) { <-never }), Every: time.Hour}}
		for range 20 {
			requests = append(requests, Request{Name: "one that has seen it", Observer: Func(func(*Snapshot) {}), Every: time.Hour})
		}
		h := NewHub(Run{Fabric: f, Collector: c, Settings: mode.Settings{Clock: mode.VirtualClock}, Requests: requests})
		batch := trace.NewBatch(1, c, h)
		made, err := assemble.New(f, assemble.Schemes{}, batch)
		if err != nil {
			t.Fatal(err)
		}
		h.Start(made, batch, nil)
		if _, err := (drive.Virtual{SkipCodec: true}).Run(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		c.Close(unit.Time(s.Model.Duration))
		warnings, _ := h.Stop(made.End, 0, nil, made.Watch)
		if want := "one that stays was still busy 2s after the end of the run and was not stopped"; len(warnings) != 1 || warnings[0] != want {
			t.Errorf("warnings %q, want %q", warnings, want)
		}
	})
}
