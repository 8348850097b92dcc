package emu

import (
	"cmp"
	"context"
	"math"

	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/program"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/trace"
)

// resolved returns the scenario in YAML with the events that have come to it, or the text before
// if none have.
func (r *recording) resolved(before []byte) ([]byte, error) {
	if with := r.collector.Scenario(); with != r.fabric.Scenario {
		return resolve.Text(with)
	}
	return before, nil
}

// shortHops is how many frame-hops the virtual clock does within a few seconds.
const shortHops = 5_000_000

// readings returns, for a choice of runs to verify, how many readings of the clock are recorded for
// that under actual timing: of a run that is not too long some for each frame.
func readings(v mode.Verify) int64 {
	switch v {
	case mode.VerifyOff:
		return 0
	case mode.VerifyShort:
		return 2 * shortHops
	}
	return math.MaxInt64
}

// verify runs the fabric of a run with an id again on the virtual clock, if it is to be and can be
// verified, and writes into out whether the result is the same. When ctx is done before, out has no
// answer. Under actual timing the schemes repeat the measured instants.
func (r *recording) verify(ctx context.Context, s assemble.Schemes, id uint32, out *report.Result) error {
	when := r.options.Verify
	_, real := r.fabric.Scenario.Guests()
	if !r.options.Wall() || real > 0 || out.Partial || when == mode.VerifyOff || when == mode.VerifyShort && out.Verdict.Order.Frames > shortHops {
		return nil
	}
	if r.options.Timing == ActualTiming && !s.Measured.Whole() {
		out.Warnings = append(out.Warnings, "the run was not repeated on the virtual clock: not all measured instants were recorded")
		return nil
	}
	if m := s.Management; m != nil {
		if s.Management = m.Repeat(); s.Management == nil {
			out.Warnings = append(out.Warnings, "the run was not repeated on the virtual clock: not all management packets were recorded")
			return nil
		}
	}
	twins, err := guest.Open(ctx, r.fabric, id, "", false, r.options.NewStack)
	if err != nil {
		return err
	}
	defer twins.Close()
	twins.Join(&s)
	laid := r.fabric
	if with := r.collector.Scenario(); with != laid.Scenario { // events have come to it
		if laid, err = fabric.Build(with); err != nil {
			return err
		}
	}
	digest := report.NewDigest(len(laid.Nodes))
	events := trace.NewBatch(trace.MaxBatch, digest)
	s.Listen = nil // it has received the feedback of the run
	programs, driven := program.Open(ctx, laid)
	defer programs.Close()
	programmed(&s, programs)
	f, err := assemble.New(laid, s, events)
	if err != nil {
		return err
	}
	_, err = (drive.Virtual{SkipCodec: true}).Run(driven, f)
	if err = cmp.Or(programs.Close(), err); err != nil {
		if ctx.Err() != nil {
			return nil // the run itself is whole; it was not verified
		}
		return err
	}
	events.Flush()
	switch {
	case digest.Sum() == out.Digest:
		out.Verdict.Verify = report.VerifiedEqual
	default:
		out.Verdict.Verify = report.VerifiedDiffers
		if r.options.Timing == ActualTiming {
			out.Warnings = append(out.Warnings, "repeating the measured instants gave a different run: a rate limiter or reaction point that reads another clock, or draws other random numbers, cannot be verified (--verify off)")
		}
	}
	return nil
}
