package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/measured"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/link"
	"fabemu/wire/trace"
)

// Serve runs one part of a run to its end. fabemu node and fabemu switchd call it. path is its
// file; control is the file descriptor of the conductor's socket, or 0 to wait for a conductor.
func Serve(ctx context.Context, path string, control int, version string) error {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // the scenario is then spread over less memory, more of which is returned
	file, err := Read(path)
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	if file.Fabemu != version {
		return errs.Errorf("%s was written by version %s of this program; this is %s", path, file.Fabemu, version)
	}
	src, err := os.ReadFile(file.Scenario)
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	laidOut, err := file.layOut(src)
	if err != nil {
		return err
	}
	progress := &pace.Progress{}
	p, err := Join(ctx, file, control, progress)
	if err != nil {
		return err
	}
	defer p.Close()
	ends, err := openEnds(file, laidOut)
	if err != nil {
		return err
	}
	defer ends.Close()
	return p.serve(ctx, laidOut, ends)
}

// layOut lays out the scenario of a run.
func (f *File) layOut(src []byte) (*fabric.Fabric, error) {
	s, err := resolve.Load(f.Scenario, src, nil)
	if err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	s.Wall.Dilation = f.Dilation
	laidOut, err := fabric.Build(s)
	if err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	return laidOut, nil
}

// serve runs the part over links, with as few disturbances as the system allows.
func (p *Part) serve(ctx context.Context, f *fabric.Fabric, l *carrier.Links) error {
	p.alone = true
	return p.run(ctx, f, drive.Part{Links: l.Ends}, l.Warnings...)
}

// run runs the nodes of the part, by d, to the end of the run.
func (p *Part) run(ctx context.Context, f *fabric.Fabric, d drive.Part, warnings ...string) error {
	var schemes assemble.Schemes
	if p.file.Timing == mode.ActualTiming {
		d.Measured = &drive.Measured{}
		schemes.Measured = measured.New(d.Measured, p.file.Readings)
	}
	all, err := assemble.Some(f, schemes, trace.NewBatch(1, p), func(node int) bool {
		return slices.Contains(p.file.Nodes, f.Nodes[node].Name)
	})
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	if p.frames, err = readFrames(p.file.Frames, len(f.Wires)); err != nil {
		return &errs.Mistake{Err: err}
	}
	if p.frames != nil {
		all.Tap = p
	}
	all.Run, all.Progress, all.Key = p.file.Run, p.progress, &p.key
	if p.promises, err = newMailbox(); err != nil {
		return err
	}
	defer p.promises.Close()
	board, err := p.attach(all)
	if err != nil {
		p.unable = err.Error()
	}
	if p.alone {
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // the loop then sleeps without Go's scheduler, on one processor too
		debug.FreeOSMemory()                              // reading the scenario and laying out the board leave more than the part needs
		defer host.HoldGC()()
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	if d.Clock != nil {
		p.clock = d.Clock
	}
	heard := context.AfterFunc(outer, func() { p.conn.SetReadDeadline(time.Now()) })
	epoch, secret, agreed, settled, err := p.Begin(cancel, func() { end(drive.ErrOver) })
	if heard(); err != nil {
		if outer.Err() != nil {
			return errors.Join(outer.Err(), p.Done(Report{Signalled: true}))
		}
		return err
	}
	all.Secret = secret
	if !agreed {
		board = nil
	}
	d.Dilation, d.Epoch, d.Longest = p.file.Dilation, epoch, f.Longest()
	switch {
	case p.file.Fixed:
	case board != nil:
		d.Hold = board
	default:
		d.Hold = &p.holding
	}
	if err := p.order(&d, all, board); err != nil {
		return err
	}
	d.Idle, d.Watch = p.Idle, p.Watch
	d.Settle = func() error {
		if err := p.Ended(); err != nil {
			return err
		}
		select {
		case <-settled:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	release := func() {}
	if d.Clock == nil { // simulated parts wait for each other too often for threads
		release = keepThread(p.file.CPUs)
	}
	cpu := host.OwnCPU()
	timing, traffic, err := d.Run(running, all)
	release()
	if board != nil {
		err = blame(err, board, func(m int) string { return f.Nodes[m].Name })
	}
	out := Report{Timing: timing, CPUSeconds: host.OwnCPU() - cpu, Traffic: traffic, Actual: schemes.Measured, Signalled: err != nil && outer.Err() != nil, Warnings: warnings}
	if err != nil && ctx.Err() == nil {
		out.Err = err.Error()
	}
	if why := p.left.Load(); err != nil && why != nil && outer.Err() == nil {
		err = *why
	}
	err = errors.Join(err, p.Done(out))
	if err == nil && p.stays {
		select {
		case <-p.over:
		case <-outer.Done():
		}
	}
	return err
}

// openEnds opens the ends of links of a part.
func openEnds(file *File, f *fabric.Fabric) (*carrier.Links, error) {
	l := carrier.Some(f)
	largest := int(f.Largest().Datagram)
	for _, e := range file.Links {
		if err := e.check(f); err != nil {
			l.Close()
			return nil, err
		}
		end, err := openEnd(e, &f.Wires[e.Wire], f.Scenario, largest)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("link %s: %w", e.Link, err)
		}
		l.Put(e.Wire, e.End, end)
	}
	return l, nil
}

// check rejects an end that the fabric does not have.
func (e *End) check(f *fabric.Fabric) error {
	if e.Wire < 0 || e.Wire >= len(f.Wires) || e.End < 0 || e.End > 1 {
		return errs.Errorf("link %s: there is no end %d of wire %d", e.Link, e.End, e.Wire)
	}
	return nil
}

// openEnd opens one end of a link of a part.
func openEnd(e End, w *fabric.Wire, s *scenario.Scenario, largest int) (link.Link, error) {
	switch {
	case e.Kind == string(mode.UDP) && e.FD > 0:
		return link.AdoptUDP(e.FD)
	case e.Kind == string(mode.UDP):
		return link.UDPEnd(e.Port, e.Peer, link.UDPOptions{Buffer: s.Wall.Buffer, Largest: largest})
	case e.Kind == string(mode.Unix) && e.FD > 0:
		return link.AdoptUnix(e.FD)
	case e.Kind == string(mode.Veth) && e.FD > 0:
		o := carrier.VethOptions(w)
		peer, err := net.ParseMAC(e.PeerAddress)
		if err != nil || len(peer) != len(o.Peer) {
			return nil, errs.Errorf("%q is not a hardware address", e.PeerAddress)
		}
		copy(o.Peer[:], peer)
		return link.AdoptVeth(e.FD, o)
	}
	return nil, errs.Errorf("an end of kind %q cannot be opened here", e.Kind)
}

// Attend runs the share of this host in a run that rank 0 of its fleet conducts, to the end of the
// run. fabemu agent calls it, and so does fabemu run on a host that is not rank 0.
func Attend(ctx context.Context, f *fleet.Fleet) error {
	peer, err := fleet.Join(ctx, f)
	if err != nil {
		return err
	}
	defer peer.Close()
	err = attend(ctx, f, peer)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func attend(ctx context.Context, f *fleet.Fleet, peer *fleet.Peer) (err error) {
	awaken := context.AfterFunc(ctx, func() { peer.SetReadDeadline(time.Now()) })
	defer awaken()
	running := false
	defer func() {
		if err != nil && !running { // report the reason to rank 0
			peer.SetWriteDeadline(time.Now().Add(endTimeout))
			report := Report{Err: err.Error(), Signalled: ctx.Err() != nil}
			if report.Signalled {
				report.Err = ""
			}
			writeJSON(peer, done, report)
		}
	}()
	var w work
	if err := await(peer, share, &w); err != nil {
		return fmt.Errorf("rank 0, %s: %w", peer.Name, err)
	}
	file := w.File
	if file == nil || len(file.Nodes) == 0 || file.Dilation < 1 {
		return errors.New("rank 0 has sent no nodes to run here")
	}
	laidOut, err := file.layOut([]byte(w.Scenario))
	if err != nil {
		return err
	}
	l := carrier.Some(laidOut)
	defer l.Close()
	ends, err := openShare(file, laidOut, l, func(End) netip.Addr { return peer.Here() })
	if err != nil {
		return err
	}
	if err := writeJSON(peer, bound, ends); err != nil {
		return err
	}
	var others []End
	if err := await(peer, peers, &others); err != nil {
		return fmt.Errorf("rank 0, %s: %w", peer.Name, err)
	}
	if err := connectShare(others, laidOut, l); err != nil {
		return err
	}
	if f.Notify != nil {
		f.Notify(fmt.Sprintf("host %d of %d runs %d of %d nodes of %s",
			peer.Rank, peer.Size, len(file.Nodes), len(laidOut.Nodes), laidOut.Scenario.Name))
	}
	p := newPart(file, peer, peer.In, &pace.Progress{})
	p.stays = true
	defer p.Close()
	running = true
	awaken()
	return p.serve(ctx, laidOut, l)
}
