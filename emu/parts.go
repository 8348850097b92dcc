package emu

import (
	"context"

	"fabemu/emu/mistake"
	"fabemu/emu/proc"
	"fabemu/emu/scenario"
)

// Dry writes the files of the parts of a run into a directory, for parts that are
// to be started by hand, and runs nothing.
func Dry(s *scenario.Scenario, o Options) error {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return err
	}
	if o.Placement == InGoroutines {
		return mistake.Errorf("a dry run writes the files of processes: placement %s or %s is wanted", InProcesses, InDomains)
	}
	if o.Link != UDP {
		return mistake.Errorf("a dry run writes files of parts with links of kind udp, not %s", o.Link)
	}
	if o.Directory == "" {
		return mistake.Errorf("a dry run writes the files of processes: a directory for them is wanted")
	}
	r, err := prepare(s, o)
	if err != nil {
		return err
	}
	r.runID = r.id(0)
	p := r.plan()
	_, err = p.Write(nil)
	return err
}

// Serve runs one part of a run to its end: what fabemu node and fabemu switchd do.
// path is its file; control the file descriptor of the conductor's socket, or 0 to
// wait for a conductor.
func Serve(ctx context.Context, path string, control int, version string) error {
	file, err := proc.Read(path)
	if err != nil {
		return &Mistake{Err: err}
	}
	if file.Fabemu != version {
		return mistake.Errorf("%s was written by version %s of this program; this is %s", path, file.Fabemu, version)
	}
	s, err := Open(file.Scenario)
	if err != nil {
		return err
	}
	return proc.Serve(ctx, file, s, control)
}
