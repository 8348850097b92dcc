package emu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/host/netns"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// links are the real links of a wall run.
type links struct {
	ends   [][2]link.Link
	closer []io.Closer // sockets
	below  io.Closer   // what they stand on; closed after them
}

// closing is how many sockets are closed at a time.
const closing = 32

// close closes everything. When a packet socket is closed the kernel waits until no
// processor looks at it any more, some milliseconds: many wait together.
func (l *links) close() error {
	wrong := make([]error, len(l.closer), len(l.closer)+1)
	var wait sync.WaitGroup
	for first := range min(closing, len(l.closer)) {
		wait.Go(func() {
			for i := first; i < len(l.closer); i += closing {
				wrong[i] = l.closer[i].Close()
			}
		})
	}
	wait.Wait()
	if l.below != nil {
		wrong = append(wrong, l.below.Close())
	}
	return errors.Join(wrong...)
}

// pipeRoom is how many datagrams a direction of an in-memory link holds. More than
// a few are under way only if the receiver's machine lags behind.
const pipeRoom = 1024

// connect opens a link for each wire of the fabric. If that fails, nothing stays
// open.
func (r *run) connect(ctx context.Context) (l *links, err error) {
	l = &links{}
	opened := false
	defer func() {
		if !opened { // after a panic, too
			err = errors.Join(err, l.close())
			l = nil
		}
	}()
	switch r.options.Link {
	case Pipe:
		for range r.fabric.Wires {
			a, b := link.Pipe(pipeRoom)
			l.add(a, b, r.options.test.wrap)
		}
	case Veth:
		err = r.connectVeth(ctx, l)
	default:
		err = r.connectUDP(l)
	}
	opened = err == nil
	return l, err
}

// disconnect closes links; what does not go is a warning of the result.
func (r *run) disconnect(l *links) {
	if err := l.close(); err != nil {
		r.warnings = append(r.warnings, fmt.Sprintf("not all of the links could be removed: %v", err))
	}
}

// buffer returns the receive buffer to ask for.
func (r *run) buffer() unit.Size {
	if r.options.test.buffer > 0 {
		return r.options.test.buffer
	}
	return r.scenario.Wall.Buffer
}

// datagram returns the size of the longest datagram of the run, in bytes.
func (r *run) datagram() int {
	b := builder{scenario: r.scenario, fabric: r.fabric}
	b.measure()
	return int(b.datagram)
}

// connectUDP opens two sockets on the loopback interface for each wire.
func (r *run) connectUDP(l *links) error {
	port := r.scenario.Wall.UDPPort
	for i := range r.fabric.Wires {
		a, b, err := link.UDPPair(link.UDPOptions{Port: port, Buffer: r.buffer(), Stamp: r.options.test.stamped != nil, Largest: r.datagram()})
		if err != nil {
			err = fmt.Errorf("link %s: %w", r.fabric.Wires[i].Name, err)
			switch {
			case errors.Is(err, syscall.EADDRINUSE):
				return mistakef("%w; choose another wall.udp-port, or leave it out and the kernel chooses", err)
			case errors.Is(err, link.ErrTooLong):
				return &Mistake{err}
			}
			return r.files(err)
		}
		l.add(a, b, r.options.test.wrap)
		if port != 0 {
			port += 2
		}
		if i == 0 {
			r.granted(a.Granted(), b.Granted())
		}
	}
	return nil
}

// connectVeth builds a network namespace for each machine, and opens both ends of a
// veth pair for each wire.
func (r *run) connectVeth(ctx context.Context, l *links) error {
	if r.scenario.Wall.UDPPort != 0 {
		r.warnings = append(r.warnings, "wall.udp-port has no effect: there is no UDP on veth pairs")
	}
	removeDead()
	plan := netns.Plan{Run: r.runID, Largest: drive.MaxDatagram}
	for _, m := range r.fabric.Machines {
		plan.Machines = append(plan.Machines, m.Name)
	}
	for _, w := range r.fabric.Wires {
		n := netns.Link{Name: w.Name}
		for i, e := range w.Ends {
			n.Ends[i] = netns.End{Machine: e.Machine, Port: int(e.Port)}
		}
		plan.Links = append(plan.Links, n)
	}
	topology, err := netns.Build(ctx, plan)
	switch {
	case errors.Is(err, netns.ErrPrivilege):
		return mistakef("--link veth: %w; --link udp needs none", err)
	case err != nil:
		return r.files(err)
	}
	l.below = topology
	for i, ports := range topology.Ends {
		var ends [2]*link.Veth
		for k, p := range ports {
			o := vethOptions(&r.fabric.Wires[i])
			o.Buffer = r.buffer()
			if ends[k], err = p.Open(o); err != nil {
				if ends[0] != nil {
					l.closer = append(l.closer, ends[0])
				}
				return r.files(fmt.Errorf("link %s: %w", plan.Links[i].Name, err))
			}
		}
		l.add(ends[0], ends[1], r.options.test.wrap)
		if i == 0 {
			r.granted(ends[0].Granted(), ends[1].Granted())
		}
	}
	return nil
}

// vethOptions says how the frames of a wire stand on a veth pair: those of Ethernet
// as they are.
func vethOptions(w *fabric.Wire) link.VethOptions {
	if w.Link.FlowControl == "credit" {
		return link.VethOptions{Largest: drive.MaxDatagram}
	}
	return link.VethOptions{Largest: drive.MaxDatagram, Native: true, Tail: wire.TrailerMagic}
}

// files says how many files a run needs to have open, where that is what is wrong.
func (r *run) files(err error) error {
	if errors.Is(err, syscall.EMFILE) {
		need := 2*len(r.fabric.Wires) + 16
		if r.options.Link == Veth {
			need += 2 * len(r.fabric.Machines)
		}
		return mistakef("%w; this fabric has %d links and needs %d open files: raise the limit (ulimit -n)", err, len(r.fabric.Wires), need)
	}
	return err
}

// granted warns of receive buffers that are smaller than was asked for.
func (r *run) granted(a, b unit.Size) {
	if got := min(a, b); got < r.buffer() {
		r.warnings = append(r.warnings, fmt.Sprintf("the kernel granted socket buffers of %v where wall.socket-buffer asks for %v: raise net.core.rmem_max, or expect lost datagrams", got, r.buffer()))
	}
}

// removeDead removes what dead runs have left. What cannot be removed is no reason
// not to run: fabemu cleanup says what it is.
func removeDead() {
	runs, err := netns.Find()
	if err != nil {
		return
	}
	for _, run := range runs {
		if !run.Lives {
			_ = run.Remove()
		}
	}
}

func (l *links) add(a, b link.Link, wrap func(link.Link) link.Link) {
	l.closer = append(l.closer, a, b)
	if wrap != nil {
		a, b = wrap(a), wrap(b)
	}
	l.ends = append(l.ends, [2]link.Link{a, b})
}
