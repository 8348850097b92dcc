package record

import (
	"context"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/machines"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/wire/trace"
)

// Resolved returns the scenario in YAML with the events that have come to it, or what it was
// before if none have.
func (r *Recording) Resolved(before []byte) ([]byte, error) {
	if with := r.Collector.Scenario(); with != r.fabric.Scenario {
		return with.Resolved()
	}
	return before, nil
}

// Verify runs the fabric again on the virtual clock, and writes into out whether it comes to
// the same: by the digest of the event log with sameLog, by sums over flows otherwise. When ctx
// is done before, out says nothing of it.
func (r *Recording) Verify(ctx context.Context, s machines.Schemes, sameLog bool, out *report.Result) error {
	laid := r.fabric
	if with := r.Collector.Scenario(); with != laid.Scenario { // events have come to it
		var err error
		if laid, err = fabric.Build(with); err != nil {
			return err
		}
	}
	digest := report.NewDigest(len(laid.Machines))
	collector, err := metrics.New(laid, laid.Scenario)
	if err != nil {
		return err
	}
	sink := trace.Sink(collector)
	if sameLog {
		sink = digest
	}
	events := trace.NewBatch(Batch, sink)
	s.Listen = nil // it has heard the run
	f, err := machines.New(laid, s, events)
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
