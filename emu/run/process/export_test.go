package process

import (
	"bufio"
	"context"
	"net"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/pace"
	"fabemu/wire/link"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// What the simulation of runs in processes needs. The simulation is in a separate package because
// it uses package report, which is above this one.

type Process = process

// Simulate makes a conductor use a clock, and start processes by a function. Bells wake its parts.
func (r *conductor) Simulate(clock func() int64, spawn func(File) (net.Conn, Process), bells Bells) {
	r.clock = clock
	r.bell = bells.of
	r.spawn = func(s *participant) (net.Conn, process, error) {
		conn, p := spawn(*s.File)
		return conn, p, nil
	}
}

// Memory returns the words of the board, and closes its file; nil: there is no board.
func (r *conductor) Memory() []uint64 {
	if r.memory == nil {
		return nil
	}
	r.memory.file.Close()
	return r.memory.words
}

// Bells are the bells of the parts of a simulation. Wrong, if not nil, is called with the board of
// a part that wakes others because it has just made a report.
type Bells struct {
	Of    []chan struct{}
	Wrong func(b *lookahead.Board)
}

// NewBells returns bells for some parts.
func NewBells(parts int) Bells {
	b := Bells{Of: make([]chan struct{}, parts)}
	for k := range b.Of {
		b.Of[k] = make(chan struct{}, 1)
	}
	return b
}

func (s Bells) of(b *lookahead.Board) lookahead.Waker { return simulatedBell{s, b} }

// simulatedBell is the bell of a part.
type simulatedBell struct {
	Bells
	board *lookahead.Board
}

func (b simulatedBell) Ring(part int) {
	select {
	case b.Of[part] <- struct{}{}:
	default:
	}
}

func (b simulatedBell) Wake(now unit.Time) {
	if b.Wrong != nil {
		b.Wrong(b.board)
	}
	b.board.Wake(now, b.Ring)
}

func (b simulatedBell) Clear() {
	select {
	case <-b.Of[b.board.Me()]:
	default:
	}
}

func (b simulatedBell) Sleep(ns int64) bool {
	if ns <= 0 {
		return false
	}
	select {
	case <-b.Of[b.board.Me()]:
		return true
	case <-time.After(time.Duration(ns)):
		return false
	}
}

// RunPart runs a part to its end, or until the conductor has gone. memory returns the words of its
// board.
func RunPart(ctx context.Context, file *File, conn net.Conn, f *fabric.Fabric, d drive.Part, stays bool, memory func() ([]uint64, error), bells Bells) error {
	p := newPart(file, conn, bufio.NewReader(conn), &pace.Progress{})
	p.stays, p.memory, p.bell = stays, memory, bells.of
	defer p.Close()
	return p.run(ctx, f, d)
}

// Conductor returns the conductor of a run whose parts the caller starts.
func (p *Plan) Conductor() (*conductor, error) { return p.write(nil, true) }

// Participants returns the participants of the parts, and Run is run.
func (r *conductor) Participants() []*participant { return r.participants }
func (r *conductor) Run(f *drive.Setup, sink trace.Sink) (Outcome, error) {
	return r.run(context.Background(), f, sink)
}

// SendAway moves a participant to another host.
func (r *conductor) SendAway(s *participant, conn net.Conn) {
	s.away = &fleet.Peer{Conn: conn, In: bufio.NewReader(conn)}
	r.between = nil
	for w := range r.wires() {
		r.between = append(r.between, w)
	}
}

// BellOf returns the bell of a part's mailbox for promises, if the part waits for that.
func BellOf(f link.File) <-chan struct{} {
	if m, ok := f.(*mailbox); ok {
		return m.rung
	}
	return nil
}
