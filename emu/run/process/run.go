package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Run runs the nodes of the plan's fabric, which report to sink.
func (p *Plan) Run(ctx context.Context, f *drive.Setup, sink trace.Sink) (out Outcome, err error) {
	f.Run = p.ID
	if err := p.room(); err != nil {
		return out, err
	}
	suspended := p.Hooks.Suspended
	if suspended == nil {
		suspended = pace.Suspended
	}
	before := suspended()
	if p.Placement == mode.InGoroutines {
		out, err = p.here(ctx, f)
	} else {
		out, err = p.elsewhere(ctx, f, sink)
	}
	if away := suspended() - before; away >= time.Second {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the machine was suspended for %v: the run waited, and continued where it was", away.Round(time.Second)))
	}
	return out, p.files(err)
}

// leastRoom is how much of its address space a process must still have free when its run starts. If
// Go runs out of it, the process dies as if it were killed.
const leastRoom = unit.GiB

// room refuses a run for which there is too little memory.
func (p *Plan) room() error {
	if free, limited := host.AddressRoom(); limited && free < leastRoom {
		return errs.Errorf("the address space of this process is limited: %d MiB are left, and a run on the wall clock needs %d; raise the limit (ulimit -v)",
			free/unit.MiB, leastRoom/unit.MiB)
	}
	return nil
}

// files adds the number of open files that a run needs to an error about too many.
func (p *Plan) files(err error) error {
	if !errors.Is(err, syscall.EMFILE) {
		return err
	}
	wires, nodes := len(p.Fabric.Wires), len(p.Fabric.Nodes)
	need := 2*wires + 16
	if p.Link == mode.Veth {
		need += 2 * nodes
	}
	if p.Placement != mode.InGoroutines { // a copy of each end for its process, and the connection to it
		need += 2*wires + nodes + 16
	}
	return errs.Errorf("%w; this fabric has %d links and needs about %d open files: raise the limit (ulimit -n)", err, wires, need)
}

// here runs nodes in this process.
func (p *Plan) here(ctx context.Context, f *drive.Setup) (out Outcome, err error) {
	l, err := p.connect(ctx, &out)
	if err != nil {
		return out, err
	}
	defer disconnect(l, &out)
	f.Secret = newSecret()
	_, real := p.Fabric.Scenario.Guests()
	w := drive.Wall{
		Dilation: p.Fabric.Scenario.Wall.Dilation, Links: l.Ends, Trunk: l.Trunk, Longest: p.Fabric.Longest(),
		Measured: p.Measured, Fixed: fixed(p.Hold, real > 0), Clock: p.Hooks.Clock,
		Epoch: func() {
			out.Began = time.Now()
			if p.Epoch != nil {
				p.Epoch(out.Began)
			}
			if p.Hooks.Epoch != nil {
				p.Hooks.Epoch()
			}
		},
	}
	if !p.Hooks.Collect {
		defer host.HoldGC()()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := host.StartCPUMeter()
	out.Timing, err = w.Run(ctx, f)
	out.ForeignCPUs, out.CPUSeconds = cpu.Foreign(), cpu.Used()
	runtime.ReadMemStats(&after)
	out.GCCycles = int64(after.NumGC - before.NumGC)
	return out, err
}

// elsewhere runs nodes in separate processes.
func (p *Plan) elsewhere(ctx context.Context, f *drive.Setup, sink trace.Sink) (out Outcome, err error) {
	if p.Directory == "" {
		if p.Directory, err = os.MkdirTemp("", "fabemu-"); err != nil {
			return out, err
		}
		defer os.RemoveAll(p.Directory) // created here, for this run
	}
	var opened Outcome // the warnings of links
	c, closeLinks, err := p.prepare(ctx, &opened)
	if err != nil {
		return opened, err
	}
	defer func() {
		closeLinks()
		out.Warnings = append(out.Warnings, opened.Warnings...)
	}()
	defer c.close()
	cpu := host.StartCPUMeter()
	out, err = c.run(ctx, f, sink)
	out.ForeignCPUs = cpu.Foreign()
	Tidy(filepath.Dir(c.control)) // of parts that were started by hand, and killed
	return out, err
}

// close closes the sockets for parts, and the memory of the board.
func (c *conductor) close() {
	for _, s := range c.participants {
		for _, file := range s.sockets {
			file.Close()
		}
	}
	if c.memory != nil {
		c.memory.close()
	}
}

// prepare opens the links of processes and returns their conductor.
func (p *Plan) prepare(ctx context.Context, out *Outcome) (c *conductor, closeLinks func(), err error) {
	if p.Placement == mode.InHosts {
		m, err := p.meet(ctx)
		if err != nil {
			return nil, nil, err
		}
		return m.conductor, func() {
			out.Warnings = append(out.Warnings, m.links.Warnings...)
			m.leave()
			disconnect(m.links, out)
		}, nil
	}
	if len(p.ByHand) > 0 {
		c, err = p.write(nil, true)
		return c, func() {}, err
	}
	l, err := p.connect(ctx, out)
	if err != nil {
		return nil, nil, err
	}
	closeLinks = func() { disconnect(l, out) }
	defer func() {
		if c == nil { // after a panic, too
			closeLinks()
		}
	}()
	c, err = p.write(l, true)
	return c, closeLinks, err
}

// connect opens a link for each wire of the fabric.
func (p *Plan) connect(ctx context.Context, out *Outcome) (*carrier.Links, error) {
	l, err := carrier.Open(ctx, p.Fabric, carrier.Options{
		Carrier: p.Link, Packing: p.Packing, Run: p.ID, Buffer: p.Hooks.Buffer, Wrap: p.Hooks.Wrap,
	})
	if err == nil {
		out.Warnings = append(out.Warnings, l.Warnings...)
	}
	return l, err
}

// disconnect closes links; a failure is a warning.
func disconnect(l *carrier.Links, out *Outcome) {
	if err := l.Close(); err != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("not all of the links could be removed: %v", err))
	}
}
