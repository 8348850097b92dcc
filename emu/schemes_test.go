package emu

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/watch/subnet"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// halfRate is a limiter that keeps half of the rate that it is given.
type halfRate struct{ *node.InterPacketDelay }

func (l halfRate) SetRate(now unit.Time, r unit.Rate) { l.InterPacketDelay.SetRate(now, r/2) }

// Limiters and reaction points of the calling program are those of the flows for which
// it has some: on both clocks alike, and the result says so.
func TestSchemes(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=20")
	made := 0
	fixed := func(part int64) func(*fabric.Flow, unit.Rate) rp.Reaction {
		return func(f *fabric.Flow, line unit.Rate) rp.Reaction {
			if f.Group != "local" {
				return rp.Reaction{}
			}
			made++
			return rp.Reaction{Controller: rp.NewFixed(line / unit.Rate(part))}
		}
	}
	local := func(o Options) float64 {
		t.Helper()
		r, err := Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		if own := o.Schemes.Warning(); own != "" && !slices.Contains(r.Warnings, own) {
			t.Errorf("the warnings are %q, without %q", r.Warnings, own)
		}
		if r.Verdict.Verify == "differs" {
			t.Error("the result differs on the virtual clock")
		}
		var bytes int64
		for _, f := range r.Flows {
			if f.Group == "local" {
				bytes += f.Bytes
			}
		}
		return float64(bytes)
	}
	whole := local(Options{Settings: Settings{Clock: VirtualClock}})
	if part := local(Options{Settings: Settings{Clock: VirtualClock}, Schemes: Schemes{Reaction: fixed(40)}}); part > whole/2 || made != 10 {
		t.Errorf("local flows at a fortieth of the rate bring %.0f bytes, and %.0f without; %d reaction points were made", part, whole, made)
	}
	halved := Schemes{
		Reaction: fixed(20),
		Limiter: func(f *fabric.Flow, line unit.Rate) node.RateLimiter {
			return halfRate{node.NewInterPacketDelay(line / 2)}
		},
	}
	virtual := local(Options{Settings: Settings{Clock: VirtualClock}, Schemes: halved})
	if wall := local(Options{Settings: Settings{Clock: WallClock, Link: Pipe}, Schemes: halved, Verify: VerifyOn}); wall != virtual || virtual > whole/2 {
		t.Errorf("half of a twentieth of the rate brings %.0f bytes on the wall clock, %.0f on the virtual clock, and %.0f without", wall, virtual, whole)
	}
	var mistake *Mistake
	if err := (Options{Settings: Settings{Placement: InProcesses}, Schemes: halved}).Check(); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "schemes of the calling program") {
		t.Errorf("in processes: %v", err)
	}
	for _, o := range []Options{{Settings: Settings{Clock: VirtualClock}}, {Settings: Settings{Placement: InProcesses}}} {
		o.Schemes.Management = new(subnet.InBand)
		if err := o.Check(); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "management packets") {
			t.Errorf("management in-band: %v", err)
		}
	}
}

// opaque is a limiter that does not tell its rate.
type opaque struct{ node.RateLimiter }

// A flow's rate-limit is the rate of its limiter, with an algorithm too the highest; a limiter of
// the calling program keeps the rate that it was made with, unless the scenario says one or
// a reaction point does. The limit in results is what the limiter lets through.
func TestRateLimits(t *testing.T) {
	const text = `
name: limits
model: {duration: 10ms}
defaults: {link: {rate: 10Gb/s, buffer: 64 packets}, flow: {window: 32}}
endpoints: [A, B]
links: [A - B]
flows: [{name: f, from: A, to: B}]
expect: [{id: C, claim: the limit, metric: f.limit, during: [0ms, 10ms], low: 0, high: 1e9}]
`
	const gigabit = 125e6 // bytes per second
	own := func(l func() node.RateLimiter) Schemes {
		return Schemes{Limiter: func(*fabric.Flow, unit.Rate) node.RateLimiter { return l() }}
	}
	bucket := own(func() node.RateLimiter { return node.NewTokenBucket(1e9, 4500) })
	for _, tc := range []struct {
		name    string
		sets    []string
		schemes Schemes
		rate    float64
		limit   float64 // 0: not known
	}{
		{"the line's", nil, Schemes{}, 10 * gigabit, 10 * gigabit},
		{"ipd", []string{"flows.f.rate-limit=1Gb/s"}, Schemes{}, gigabit, gigabit},
		{"token bucket", []string{"flows.f.limiter.kind=token-bucket", "flows.f.limiter.rate=1Gb/s", "flows.f.limiter.depth=4500B"}, Schemes{}, gigabit, gigabit},
		{"under an algorithm", []string{"flows.f.rate-limit=1Gb/s", "flows.f.control.algorithm=lipd"}, Schemes{}, gigabit, gigabit},
		{"above the line's", []string{"flows.f.rate-limit=20Gb/s"}, Schemes{}, 10 * gigabit, 10 * gigabit},
		{"the caller's", nil, bucket, gigabit, gigabit},
		{"the caller's, which does not tell", nil, own(func() node.RateLimiter { return opaque{node.NewTokenBucket(1e9, 4500)} }), gigabit, 0},
		{"the caller's, and a rate in the scenario", []string{"flows.f.rate-limit=2Gb/s"}, bucket, 2 * gigabit, 2 * gigabit},
		{"the caller's, and an algorithm", []string{"flows.f.control.algorithm=lipd"}, bucket, 10 * gigabit, 10 * gigabit},
	} {
		s := runtest.Load(t, text, runtest.Sets(t, tc.sets...)...)
		r, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}, Schemes: tc.schemes})
		if err != nil {
			t.Fatal(err)
		}
		f := r.Flows[0]
		if math.Abs(float64(f.Rate)/tc.rate-1) > 0.01 {
			t.Errorf("%s: %.0f bytes a second, want %.0f", tc.name, f.Rate, tc.rate)
		}
		for what, got := range map[string]float64{"limit": float64(f.Limit), "metric limit": float64(r.Checks[0].Value)} {
			if known := !math.IsNaN(got); known != (tc.limit > 0) || known && math.Abs(got-tc.limit) > 1 {
				t.Errorf("%s: %s %v, want %v", tc.name, what, got, tc.limit)
			}
		}
	}
}
