//go:build timing

package observe

import (
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/wire/trace"
)

// The loop of a run only copies: a sample takes no memory.
func TestAllocsOfASample(t *testing.T) {
	s := runtest.Short(t, "ethernet/pfc-hol", "10ms")
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := metrics.New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHub(Run{Fabric: f, Collector: c, Settings: mode.Settings{Clock: mode.VirtualClock}, Requests: []Request{{Observer: Func(func(*Snapshot) {}), Every: time.Hour, Events: []trace.Kind{trace.Arrive}}}})
	batch := trace.NewBatch(1, c, h)
	made, err := assemble.New(f, assemble.Schemes{}, batch)
	if err != nil {
		t.Fatal(err)
	}
	h.nodes, h.batch = made.Nodes, batch
	counter := &counting{Hub: h}
	made.Visitor = counter
	if _, err := (drive.Virtual{SkipCodec: true}).Run(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if counter.samples < 5 {
		t.Fatalf("%d samples", counter.samples)
	}
	t.Logf("%d samples, %v each, with %d waiting frames at most", counter.samples, counter.took/time.Duration(counter.samples), counter.holds)
	if counter.allocs > 0 {
		t.Errorf("%d allocations in %d samples", counter.allocs, counter.samples)
	}
	if counter.holds == 0 {
		t.Error("nothing waited: the test shows nothing")
	}
}

// counting is a hub of which a sample is wanted at every chance.
type counting struct {
	*Hub
	samples, holds int
	allocs         int
	took           time.Duration
}

func (c *counting) Wanted() bool { return true }

func (c *counting) Visit(v *drive.Visit) {
	const times = 5 // what the runtime itself allocates now and then is less than one a sample
	begin := time.Now()
	n := testing.AllocsPerRun(times, func() {
		c.Hub.wanted.Store(true)
		c.Hub.Visit(v)
		<-c.Hub.filled
	})
	c.took += time.Since(begin) / (times + 1)
	c.allocs += int(n)
	c.samples++
	c.holds = max(c.holds, len(c.Hub.sample.holds))
}
