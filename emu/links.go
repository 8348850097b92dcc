package emu

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"fabemu/wire/link"
)

// links are the real links of a wall run.
type links struct {
	ends   [][2]link.Link
	closer []io.Closer
}

func (l *links) close() {
	for _, c := range l.closer {
		c.Close()
	}
}

// pipeRoom is how many datagrams a direction of an in-memory link holds. More than
// a few are under way only if the receiver's machine lags behind.
const pipeRoom = 1024

// connect opens a link for each wire of the fabric. If that fails, nothing stays
// open.
func (r *run) connect() (*links, error) {
	l := &links{}
	port, buffer := r.scenario.Wall.UDPPort, r.scenario.Wall.Buffer
	if r.options.test.buffer > 0 {
		buffer = r.options.test.buffer
	}
	for i := range r.fabric.Wires {
		if r.options.Link == Pipe {
			a, b := link.Pipe(pipeRoom)
			l.add(a, b, r.options.test.wrap)
			continue
		}
		a, b, err := link.UDPPair(link.UDPOptions{Port: port, Buffer: buffer, Stamp: r.options.test.stamped != nil})
		if err != nil {
			l.close()
			err = fmt.Errorf("link %s: %w", r.fabric.Wires[i].Name, err)
			switch {
			case errors.Is(err, syscall.EADDRINUSE):
				return nil, mistakef("%w; choose another wall.udp-port, or leave it out and the kernel chooses", err)
			case errors.Is(err, syscall.EMFILE):
				return nil, mistakef("%w; this fabric has %d links and needs %d open files: raise the limit (ulimit -n)", err, len(r.fabric.Wires), 2*len(r.fabric.Wires)+16)
			}
			return nil, err
		}
		l.add(a, b, r.options.test.wrap)
		if port != 0 {
			port += 2
		}
		if got := min(a.Granted(), b.Granted()); got < buffer && i == 0 {
			r.warnings = append(r.warnings, fmt.Sprintf("the kernel granted socket buffers of %v where wall.socket-buffer asks for %v: raise net.core.rmem_max, or expect lost datagrams", got, buffer))
		}
	}
	return l, nil
}

func (l *links) add(a, b link.Link, wrap func(link.Link) link.Link) {
	l.closer = append(l.closer, a, b)
	if wrap != nil {
		a, b = wrap(a), wrap(b)
	}
	l.ends = append(l.ends, [2]link.Link{a, b})
}
