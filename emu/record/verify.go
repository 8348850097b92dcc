package record

import (
	"context"

	"fabemu/emu/drive"
	"fabemu/emu/machines"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/wire/trace"
)

// Verify runs the fabric again on the virtual clock, and writes into out whether it comes to
// the same: by the digest of the event log with sameLog, by sums over flows otherwise. When ctx
// is done before, out says nothing of it.
func (r *Recording) Verify(ctx context.Context, s machines.Schemes, sameLog bool, out *report.Result) error {
	digest := report.NewDigest(len(r.fabric.Machines))
	collector, err := metrics.New(r.fabric, r.fabric.Scenario)
	if err != nil {
		return err
	}
	sink := trace.Sink(collector)
	if sameLog {
		sink = digest
	}
	events := trace.NewBatch(Batch, sink)
	s.Listen = nil // it has heard the run
	f, err := machines.New(r.fabric, s, events)
	if err != nil {
		return err
	}
	if _, err := (drive.Virtual{SkipCodec: true}).Run(ctx, f); err != nil {
		if ctx.Err() != nil {
			return nil // the run itself is whole; it was not verified
		}
		return err
	}
	events.Flush()
	switch {
	case !sameLog:
		collector.Close(f.End)
		out.Verdict.Order.SumsApart, out.Verdict.Order.SumsOf = report.Sums(r.Collector, collector)
	case digest.Sum() == out.Digest:
		out.Verdict.Verify = report.VerifiedEqual
	default:
		out.Verdict.Verify = report.VerifiedDiffers
	}
	return nil
}
