package proc

import (
	"bufio"
	"context"
	"net"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/hosts"
	"fabemu/emu/timing"
	"fabemu/wire/link"
	"fabemu/wire/trace"
)

// What the simulation of runs in processes needs, which is in a package of its own: it
// judges them, and package report is above this one.

type Process = process

// Simulate has a conductor keep to a clock, and start processes by a function.
func (r *conductor) Simulate(clock func() int64, spawn func(File) (net.Conn, Process)) {
	r.clock = clock
	r.spawn = func(s *seat) (net.Conn, process, error) {
		conn, p := spawn(*s.File)
		return conn, p, nil
	}
}

// RunPart runs a part to its end, or until the conductor has gone.
func RunPart(ctx context.Context, file *File, conn net.Conn, f *fabric.Fabric, d drive.Part, stays bool) error {
	p := newPart(file, conn, bufio.NewReader(conn), &timing.Progress{})
	p.stays = stays
	defer p.Close()
	return p.run(ctx, f, d)
}

// Conductor returns the conductor of a run whose parts somebody else starts.
func (p *Plan) Conductor() (*conductor, error) { return p.write(nil) }

// Seats are those of the parts, and Run is run.
func (r *conductor) Seats() []*seat { return r.seats }
func (r *conductor) Run(f *drive.Fabric, sink trace.Sink) (Outcome, error) {
	return r.run(context.Background(), f, sink)
}

// SendAway has a seat be on another host.
func (r *conductor) SendAway(s *seat, conn net.Conn) {
	s.away = &hosts.Peer{Conn: conn, In: bufio.NewReader(conn)}
	r.between = nil
	for w := range r.wires() {
		r.between = append(r.between, w)
	}
}

// BellOf returns the bell of a part's mailbox for promises, if that is what is to be waited for.
func BellOf(f link.File) <-chan struct{} {
	if m, ok := f.(*mailbox); ok {
		return m.bell.(chanBell)
	}
	return nil
}
