package emu

import (
	"context"

	"fabemu/emu/drive"
	"fabemu/emu/report"
	"fabemu/wire/trace"
)

// shortHops is how many frame-hops the virtual clock does within a few seconds.
const shortHops = 5_000_000

// verify runs a wall run's scenario again on the virtual clock and compares the
// logs.
func (r *run) verify(ctx context.Context, result *report.Result) error {
	v := r.options.Verify
	if r.options.Clock == VirtualClock || r.options.Timing == ActualTiming || v == VerifyOff || result.Partial || v == VerifyShort && result.Verdict.Order.Frames > shortHops {
		return nil
	}
	digest := report.NewDigest(len(r.fabric.Machines))
	events := trace.NewBatch(batchSize, digest)
	machines, err := build(r.scenario, r.fabric, r.options.Schemes, events)
	if err != nil {
		return err
	}
	if _, err := (drive.Virtual{SkipCodec: true}).Run(ctx, machines); err != nil {
		if ctx.Err() != nil {
			return nil // the run itself is whole; it was not verified
		}
		return err
	}
	events.Flush()
	result.Verdict.Verify = "equal"
	if digest.Sum() != result.Digest {
		result.Verdict.Verify = "differs"
	}
	return nil
}
