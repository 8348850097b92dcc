package proc

import (
	"bufio"
	"context"
	"net"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/hosts"
	"fabemu/wire/link"
)

// What the simulation of runs in processes needs, which is in a package of its own: it
// judges them, and package report is above this one.

type Process = process

// Simulate has a conductor keep to a clock, and start processes by a function.
func (c *Conductor) Simulate(clock func() int64, spawn func(File) (net.Conn, Process)) {
	c.clock = clock
	c.spawn = func(_ *conduct, s *seat) (net.Conn, process, error) {
		conn, p := spawn(*s.File)
		return conn, p, nil
	}
}

// RunPart runs a part to its end, or until the conductor has gone.
func RunPart(ctx context.Context, file *File, conn net.Conn, f *fabric.Fabric, d drive.Part, stays bool) error {
	p := newPart(file, conn, bufio.NewReader(conn), &drive.Progress{})
	p.stays = stays
	defer p.Close()
	return p.run(ctx, f, d)
}

// SendAway has a seat be on another host.
func (s *Seat) SendAway(conn net.Conn) { s.Away = &hosts.Peer{Conn: conn, In: bufio.NewReader(conn)} }

// RestartsOf is restarts.
func (p *Plan) RestartsOf(f *drive.Fabric, c *Conductor) []Restart { return p.restarts(f, c) }

// BellOf returns the bell of a part's mailbox for promises, if that is what is to be waited for.
func BellOf(f link.File) <-chan struct{} {
	if m, ok := f.(*mailbox); ok {
		return m.bell.(chanBell)
	}
	return nil
}
