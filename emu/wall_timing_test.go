//go:build timing

package emu

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/wire/link"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The kernel's time stamps on the receiving socket of a busy link say that frames
// leave when the model says: at epoch + D x model time. It is real timing, not a
// replay.
func TestWallDeparturesFollowTheModel(t *testing.T) {
	atSomePace(t, quick, func(t *testing.T, p atPace) (complaints []string) {
		s := p.scenario(t)
		dilation := float64(s.Wall.Dilation)
		fabric, err := fabric.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		root := -1
		for i, w := range fabric.Wires {
			if w.Name == "root" {
				root = 2 * i // from B, the first end, to BC
			}
		}
		var stamps []stamp
		var epoch time.Time
		o := Options{test: process.Hooks{
			Epoch: func() { epoch = time.Now() },
			Wrap: func(l link.Link) link.Link {
				return runtest.Stamped(l, func(datagram []byte, at int64) {
					if t, ok := runtest.Frame(datagram, root); ok {
						stamps = append(stamps, stamp{t.Head, at})
					}
				})
			},
		}}
		r, err := Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		// The stamps are of the real-time clock, the loop keeps to the monotonic one: the
		// one may be slewed against the other.
		now := time.Now()
		slew := float64(now.UnixNano()-epoch.UnixNano()) / float64(now.Sub(epoch))

		packet := dilation * 2068 // ns of wall time
		errs := make([]float64, len(stamps))
		for i, st := range stamps {
			errs[i] = float64(st.at-epoch.UnixNano()) - slew*dilation*float64(st.start)/1000
		}
		third := len(errs) / 3
		median := func(v []float64) float64 { v = slices.Clone(v); slices.Sort(v); return v[len(v)/2] }
		all, drift := median(errs), median(errs[2*third:])-median(errs[:third])

		first, last := stamps[0], stamps[len(stamps)-1]
		model := float64(last.start-first.start) * dilation / 1000
		rate := model / (float64(last.at-first.at) / slew) // in wall time, over that in model time

		t.Logf("%d frames: median %.1f us after their time (%.2f %% of a packet time), first to last third %+.1f us, rate in wall time %.4f of that in model time",
			len(stamps), all/1e3, 100*all/packet, drift/1e3, rate)
		if want := float64(s.Model.Duration) / 2068e3 * 0.8; float64(len(stamps)) < want {
			complaints = append(complaints, "too few frames to tell")
		}
		if math.Abs(all) > 0.05*packet {
			complaints = append(complaints, "the median departure is not within 5 % of a packet time")
		}
		if math.Abs(drift) > 0.02*packet {
			complaints = append(complaints, "departures drift")
		}
		if math.Abs(rate-1) > 0.01 {
			complaints = append(complaints, "the rates differ by more than 1 %")
		}
		if r.Verdict.Pace.Early != 0 {
			complaints = append(complaints, "frames left before their time")
		}
		return complaints
	})
}

// Once a run has reached its steady state it does not allocate: twenty times as
// many frames take no more memory.
func TestAllocsPerFrame(t *testing.T) {
	mallocs := func(t *testing.T, s *scenario.Scenario, wall bool) (hops, allocated int64) {
		fabric, err := fabric.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		collector, err := metrics.New(fabric, s)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := assemble.New(fabric, Schemes{}, trace.NewBatch(1, collector, report.NewDigest(len(fabric.Nodes))))
		if err != nil {
			t.Fatal(err)
		}
		w := drive.Wall{Dilation: 1, Longest: fabric.Longest()}
		if wall {
			l, err := carrier.Open(context.Background(), fabric, carrier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			w.Links = l.Ends
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if wall {
			timing, err := w.Run(context.Background(), nodes)
			if err != nil {
				t.Fatal(err)
			}
			hops = timing.Hops
		} else if hops, err = (drive.Virtual{}).Run(context.Background(), nodes); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return hops, int64(after.Mallocs - before.Mallocs)
	}
	for _, wall := range []bool{false, true} {
		name := map[bool]string{false: "virtual", true: "wall"}[wall]
		t.Run(name, func(t *testing.T) {
			few, base := mallocs(t, runtest.Short(t, "hpl2002/fig3b", "4ms"), wall)
			many, grown := mallocs(t, runtest.Short(t, "hpl2002/fig3b", "80ms"), wall)
			t.Logf("%d frame-hops: %d allocations; %d frame-hops: %d", few, base, many, grown)
			if more := grown - base; more > 100 {
				t.Errorf("%d more frame-hops took %d more allocations, want none per frame", many-few, more)
			}
		})
	}
}

// With actual timing packets start a little late, but lateness does not add up: at a dilation at
// which it is small compared with a packet time, rates are those of the virtual clock. Where they
// do not, because the machine was busy with something else, the verdict says so. The virtual clock
// with the measured instants repeated has the same log, whatever the machine did.
func TestWallActualTimingKeepsTheRates(t *testing.T) {
	atSomePace(t, []atPace{{"1000", "4ms"}, {"1000", "4ms"}, {"1500", "4ms"}}, func(t *testing.T, p atPace) (complaints []string) {
		s := runtest.Short(t, "hpl2002/fig2", p.duration, "wall.dilation="+p.dilation)
		share := func(o Options) (*Result, float64, float64) {
			r, err := Run(context.Background(), s, o)
			if err != nil {
				t.Fatal(err)
			}
			over := func(expression string) float64 {
				m, err := metrics.Compile(expression, r.Metrics.Fabric())
				if err != nil {
					t.Fatal(err)
				}
				return m.Over(r.Metrics, unit.Time(3*unit.Millisecond), unit.Time(4*unit.Millisecond))
			}
			return r, over("root.B-BC.utilisation"), over("remote.utilisation")
		}
		_, wantRoot, wantRemote := share(Options{Settings: Settings{Clock: VirtualClock}})
		r, root, remote := share(Options{Settings: Settings{Timing: ActualTiming}, Verify: VerifyOn})
		t.Logf("root %.3f, remote %.3f; on the virtual clock %.3f, %.3f; %s: %s", root, remote, wantRoot, wantRemote, r.Verdict.Level, r.Verdict.Reason)
		if (math.Abs(root-wantRoot) > 0.02 || math.Abs(remote-wantRemote) > 0.03) && r.Verdict.Level.Strict() {
			complaints = append(complaints, "rates are not those of the virtual clock, and the verdict does not say so")
		}
		if v := &r.Verdict; r.Timing != "actual" || v.Starts == nil || v.Verify != report.VerifiedEqual || v.Pace.Early != 0 || v.Violations != 0 {
			t.Errorf("timing %s, %+v, verified %q, %d early, %d violations", r.Timing, v.Starts, v.Verify, v.Pace.Early, v.Violations)
		}
		return complaints
	})
}
