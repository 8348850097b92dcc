package carrier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host/netns"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// Options choose how links are opened.
type Options struct {
	Carrier mode.Carrier
	Packing mode.Packing
	Run     uint32    // distinguishes the links of this run
	Buffer  unit.Size // receive buffer to ask for; 0 means the scenario's
	// Wrap, if not nil, is put around each end of a link.
	Wrap func(link.Link) link.Link
}

// Links are the real links of a wall run.
type Links struct {
	Ends     [][2]link.Link // by wire; an end that is elsewhere is nil; none with a trunk
	Trunk    *[2]link.Batch // UDP or Unix with trains: the frames of all wires enter the first and leave the second
	Warnings []string       // for the user of the run
	closer   []io.Closer    // sockets
	below    io.Closer      // the namespaces below them; closed after them
}

// opener opens the links of a fabric.
type opener struct {
	*Links
	fabric  *fabric.Fabric
	options Options
}

// pipeRoom is how many datagrams a direction of an in-memory link holds. More than
// a few are in flight only if the receiving node lags behind.
const pipeRoom = 1024

// Open opens a link for each wire of the fabric. If that fails, nothing remains
// open.
func Open(ctx context.Context, f *fabric.Fabric, o Options) (l *Links, err error) {
	if o.Buffer == 0 {
		o.Buffer = f.Scenario.Wall.Buffer
	}
	w := opener{Links: &Links{}, fabric: f, options: o}
	opened := false
	defer func() {
		if !opened { // after a panic, too
			err = errors.Join(err, w.Close())
			l = nil
		}
	}()
	switch {
	case o.Carrier == mode.Pipe:
		for range f.Wires {
			w.add(link.Pipe(pipeRoom))
		}
	case o.Carrier == mode.Veth:
		err = w.connectVeth(ctx)
	case o.Packing == mode.Trains:
		err = w.connectTrains()
	case o.Carrier == mode.Unix:
		err = w.connectUnix()
	default:
		err = w.connectUDP()
	}
	opened = err == nil
	return w.Links, err
}

// together calls do for n sockets, several at a time, because closing a packet socket makes
// the kernel wait some milliseconds until no processor uses it.
func together(n int, do func(i int)) {
	const most = 32
	var wait sync.WaitGroup
	for first := range min(most, n) {
		wait.Go(func() {
			for i := first; i < n; i += most {
				do(i)
			}
		})
	}
	wait.Wait()
}

// Close closes everything.
func (l *Links) Close() error {
	wrong := make([]error, len(l.closer), len(l.closer)+1)
	together(len(l.closer), func(i int) { wrong[i] = l.closer[i].Close() })
	if l.below != nil {
		wrong = append(wrong, l.below.Close())
	}
	return errors.Join(wrong...)
}

// connectUDP opens two sockets on the loopback interface for each wire.
func (w *opener) connectUDP() error {
	port := w.fabric.Scenario.Wall.UDPPort
	o := link.UDPOptions{Buffer: w.options.Buffer, Largest: int(w.fabric.Largest().Datagram)}
	for i := range w.fabric.Wires {
		o.Port = port
		a, b, err := link.UDPPair(o)
		if err != nil {
			return w.refused(fmt.Errorf("link %s: %w", w.fabric.Wires[i].Name, err))
		}
		w.add(a, b)
		if port != 0 {
			port += 2
		}
		if i == 0 {
			w.Granted(o.Buffer, min(a.Granted(), b.Granted()))
		}
	}
	return nil
}

// connectUnix opens a pair of Unix sockets for each wire.
func (w *opener) connectUnix() error {
	w.noPorts("Unix sockets")
	for i := range w.fabric.Wires {
		a, b, err := link.UnixPair(w.options.Buffer, int(w.fabric.Largest().Datagram))
		if err != nil {
			return w.refused(fmt.Errorf("link %s: %w", w.fabric.Wires[i].Name, err))
		}
		w.add(a, b)
	}
	return nil
}

// noPorts warns that links of a kind have no UDP ports.
func (w *opener) noPorts(kind string) {
	if w.fabric.Scenario.Wall.UDPPort != 0 {
		w.Warnings = append(w.Warnings, "wall.udp-port has no effect: there is no UDP on "+kind)
	}
}

// connectTrains opens two UDP sockets on the loopback interface, or two Unix sockets. The frames of
// all nodes go from the first to the second, so that frames that leave at the same instant leave
// together, whatever their link.
func (w *opener) connectTrains() error {
	o := link.UDPOptions{
		Port: w.fabric.Scenario.Wall.UDPPort, Buffer: w.options.Buffer, Largest: int(w.fabric.Largest().Datagram),
	}
	if w.options.Carrier == mode.Unix {
		w.noPorts("Unix sockets")
		a, b, err := link.UnixTrainPair(o.Buffer, o.Largest)
		if err != nil {
			return w.refused(fmt.Errorf("links of trains: %w", err))
		}
		w.trunk(a, b)
		return nil
	}
	a, b, err := link.TrainPair(o)
	if err != nil {
		return w.refused(fmt.Errorf("links of trains: %w", err))
	}
	w.trunk(a, b)
	w.Granted(o.Buffer, b.Granted())
	if full := link.MaxDatagram; a.Room() < full {
		w.Warnings = append(w.Warnings, fmt.Sprintf("trains over the loopback interface have at most %d bytes instead of %d, because of its MTU: raise it (ip link set lo mtu 65536)",
			a.Room(), full))
	}
	return nil
}

// trunk makes the frames of all wires go from a to b.
func (w *opener) trunk(a, b link.Batch) {
	w.closer = append(w.closer, a, b)
	w.Trunk = &[2]link.Batch{a, b}
	if wrap := w.options.Wrap; wrap != nil {
		w.Trunk = &[2]link.Batch{link.Batched(wrap(a), 2*drive.MaxDatagram), link.Batched(wrap(b), 2*drive.MaxDatagram)}
	}
}

// refused adds advice to the error of a UDP socket that was refused.
func (w *opener) refused(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return errs.Errorf("%w; choose another wall.udp-port, or leave it out and the kernel chooses", err)
	case errors.Is(err, link.ErrTooLong):
		return &errs.Mistake{Err: err}
	}
	return err
}

// connectVeth builds a network namespace for each node, and opens both ends of a
// veth pair for each wire.
func (w *opener) connectVeth(ctx context.Context) error {
	w.noPorts("veth pairs")
	netns.RemoveDead(ctx)
	topology, err := netns.Build(ctx, w.plan())
	switch {
	case errors.Is(err, netns.ErrPrivilege):
		return errs.Errorf("--link veth: %w; --link udp needs none", err)
	case err != nil:
		return err
	}
	w.below = topology
	ends, wrong := make([]*link.Veth, 2*len(topology.Ends)), make([]error, 2*len(topology.Ends))
	together(len(ends), func(i int) {
		o := VethOptions(&w.fabric.Wires[i/2])
		o.Buffer = w.options.Buffer
		if w.options.Packing == mode.Trains {
			o.Train = link.MaxVethTrain
		}
		if ctx.Err() == nil {
			ends[i], wrong[i] = topology.Ends[i/2][i%2].Open(o)
		}
	})
	failed := slices.IndexFunc(wrong, func(err error) bool { return err != nil })
	if ctx.Err() != nil || failed >= 0 {
		for _, v := range ends {
			if v != nil {
				w.closer = append(w.closer, v)
			}
		}
		if failed < 0 {
			return ctx.Err()
		}
		return fmt.Errorf("link %s: %w", w.fabric.Wires[failed/2].Name, wrong[failed])
	}
	for i := 0; i < len(ends); i += 2 {
		if w.options.Packing == mode.Trains {
			w.add(link.VethTrain(ends[i]), link.VethTrain(ends[i+1]))
		} else {
			w.add(ends[i], ends[i+1])
		}
	}
	if len(ends) > 0 {
		w.Granted(w.options.Buffer, min(ends[0].Granted(), ends[1].Granted()))
	}
	return nil
}

// plan names the namespaces and veth pairs of a fabric.
func (w *opener) plan() netns.Plan {
	plan := netns.Plan{Run: w.options.Run, Largest: drive.MaxDatagram, MTU: link.VethMTU}
	for _, m := range w.fabric.Nodes {
		plan.Nodes = append(plan.Nodes, m.Name)
	}
	for _, wire := range w.fabric.Wires {
		n := netns.Link{Name: wire.Name}
		for i, e := range wire.Ends {
			n.Ends[i] = netns.End{Node: e.Node, Port: int(e.Port)}
		}
		plan.Links = append(plan.Links, n)
	}
	return plan
}

// VethOptions describes the frames of a wire on a veth pair: plain Ethernet frames.
func VethOptions(w *fabric.Wire) link.VethOptions {
	if w.Link.Family() == wire.InfiniBand {
		return link.VethOptions{Largest: drive.MaxDatagram}
	}
	return link.VethOptions{Largest: drive.MaxDatagram, Native: true, Tail: wire.TrailerMagic}
}

// add adds the two ends of a wire.
func (w *opener) add(a, b link.Link) {
	w.closer = append(w.closer, a, b)
	if w.options.Wrap != nil {
		a, b = w.options.Wrap(a), w.options.Wrap(b)
	}
	w.Ends = append(w.Ends, [2]link.Link{a, b})
}

// Granted warns, once, of receive buffers that are smaller than requested.
func (l *Links) Granted(asked, got unit.Size) {
	w := fmt.Sprintf("the kernel granted socket buffers of %v where wall.socket-buffer asks for %v: raise net.core.rmem_max, or expect lost datagrams",
		got, asked)
	if got < asked && !slices.Contains(l.Warnings, w) {
		l.Warnings = append(l.Warnings, w)
	}
}

// Some returns the links of a process that has some of the ends of wires. They are empty;
// Put adds ends.
func Some(f *fabric.Fabric) *Links { return &Links{Ends: make([][2]link.Link, len(f.Wires))} }

// Put adds an end of a wire, which Close closes.
func (l *Links) Put(wire, end int, x link.Link) {
	l.closer = append(l.closer, x)
	l.Ends[wire][end] = x
}
