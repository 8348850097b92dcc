package emu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/guests"
	"fabemu/emu/report"
	"fabemu/node"
)

// openGuests makes the real hosts of the scenario, which flows between them have their
// packets from; those between others keep what the caller has for them.
func (r *run) openGuests(ctx context.Context) (err error) {
	if r.guests, err = guests.Open(ctx, r.fabric, r.newID(uint64(time.Now().UnixNano())^uint64(os.Getpid())<<32)); err != nil {
		return err
	}
	schemes := &r.options.Schemes
	source, sink := schemes.BodySource, schemes.BodySink
	schemes.BodySource = func(f *fabric.Flow) node.BodySource {
		if own := r.guests.Source(f); own != nil || source == nil {
			return own
		}
		return source(f)
	}
	schemes.BodySink = func(f *fabric.Flow) node.BodySink {
		if own := r.guests.Sink(f); own != nil || sink == nil {
			return own
		}
		return sink(f)
	}
	dir := r.options.Directory
	if dir == "" {
		if r.scratch, err = os.MkdirTemp("", "fabemu-"); err != nil {
			return errors.Join(err, r.guests.Close())
		}
		dir = r.scratch
	}
	if r.programs, err = r.guests.OpenPrograms(dir); err != nil {
		r.closeGuests()
	}
	return err
}

// beginPrograms starts the programs of the scenario at their times, from now on.
func (r *run) beginPrograms() {
	if r.programs != nil {
		r.programs.Begin()
	}
}

// closeGuests takes them away, at the end of a run or where it has failed.
func (r *run) closeGuests() {
	if r.programs != nil {
		r.programs.Stop()
	}
	if r.scratch != "" {
		_ = os.RemoveAll(r.scratch) // made here, for this run
	}
	_ = r.guests.Close() // after tellGuests there is nothing left to do
}

// tellGuests says in a result what became of the guests, and that there is nothing to compare
// the run with.
func (r *run) tellGuests(out *report.Result) {
	r.programs.Stop()
	out.Programs = r.programs.Report()
	out.JudgePrograms(r.scenario, r.programs.Value)
	all, warnings := r.guests.Report()
	out.Guests = all
	out.Warnings = append(out.Warnings, warnings...)
	if err := r.guests.Close(); err != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("not all of the guests' namespaces could be removed: %v", err))
	}
}
