package process

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"fabemu/emu/run/drive"
	"fabemu/emu/run/lookahead"
)

// memory is a file without a name, mapped by all parts of a run on one computer: their board. The kernel removes it
// with the last of them.
type memory struct {
	file  *os.File
	words []uint64
}

// lookaheadOf returns the ground on which promises rest.
func lookaheadOf(f *drive.Setup) lookahead.Fabric {
	return lookahead.Fabric{Wires: f.Wires, Least: f.Least, Passing: f.Passing}
}

// share makes the memory for the board of a run, of so many parts. Without it they talk to the conductor, or where their
// order may be late each sleeps by itself. So it does if the system is to choose the processors, or has only one: parts
// that take turns share one, and leave the rest to the others.
func (c *conductor) share(parts int) {
	if c.plan.Sync != Exact && (c.plan.Pin == PinOff || len(processors()) < 2) {
		return
	}
	err := c.plan.Hooks.Memory
	f := c.plan.Fabric
	if err == nil {
		c.memory, err = newMemory(lookahead.BoardWords(len(f.Machines), len(f.Wires), parts))
	}
	if err != nil {
		c.boardless(err)
	}
}

// boardless notes why there is no board.
func (c *conductor) boardless(why error) {
	instead := "exchange their promises by sockets"
	if c.plan.Sync != Exact {
		instead = "cannot take turns on a processor"
	}
	c.warnings = append(c.warnings, fmt.Sprintf("the processes of this run share no memory, and %s: %v", instead, why))
}

// boardOf returns where a part finds the memory: handed over as a file descriptor, or in this process.
func (c *conductor) boardOf(s *seat) string {
	switch {
	case c.memory == nil:
		return ""
	case s.byHand:
		return c.memory.path()
	}
	return fmt.Sprintf("/proc/self/fd/%d", firstSocket+len(s.sockets))
}

// layBoard writes the head of the board.
func (r *conductor) layBoard() error {
	if r.memory == nil {
		return nil
	}
	rank, err := r.fabric.Ranks()
	if err == nil {
		lookahead.Lay(lookaheadOf(r.fabric), r.partOf(), rank, r.plan.ID, r.memory.words)
		r.board, err = lookahead.NewBoard(lookaheadOf(r.fabric), rank, r.plan.ID, -1, r.memory.words)
	}
	if err == nil && r.plan.Sync != Exact {
		r.board.LayTurns(func(part int) int { return r.seats[part].CPUs[0] })
	}
	return err
}

// agree ends the board of a run of which a part cannot have it.
func (r *conductor) agree() {
	for _, s := range r.seats {
		if r.board != nil && s.boardless != "" {
			r.boardless(fmt.Errorf("%s: %s", s.Part, s.boardless))
			r.board = nil
		}
	}
}

// partOf returns the part of each machine.
func (r *conductor) partOf() []int {
	of := make([]int, len(r.ports))
	for k, s := range r.seats {
		for _, m := range s.machines {
			of[m] = k
		}
	}
	return of
}

// attach returns the board of the run. The error gives the reason why the part cannot have it.
func (p *Part) attach(f *drive.Setup) (*lookahead.Board, error) {
	words, err := p.memory()
	if err != nil {
		return nil, err
	}
	rank, err := f.Ranks()
	if err != nil {
		return nil, err
	}
	here := slices.IndexFunc(f.Machines, func(m drive.Machine) bool { return m != nil })
	return lookahead.NewBoard(lookaheadOf(f), rank, p.file.Run, here, words)
}

// order has the part keep to the order of the run: with a board, by statements on it or by turns; without one, by
// promises of the conductor, or not at all.
func (p *Part) order(d *drive.Part, f *drive.Setup, b *lookahead.Board) (err error) {
	switch {
	case b == nil && p.file.Sync == Exact:
		d.Exact, err = p.delegate(f)
	case b == nil:
	case p.file.Sync == Exact:
		d.Exact = &drive.Exact{Participant: b, Bell: p.bell(b, p.file.Spread || p.file.CPUs == nil)}
	default:
		x := &turns{Turns: lookahead.NewTurns(b), bell: p.bell(b, false), clock: p.clock, epoch: d.Epoch, dilation: d.Dilation}
		if d.Poller == nil { // the clock of a simulation does not advance while a part spins
			x.spin = spinMost
		}
		d.Turns = x
	}
	return err
}

// delegate returns the exact order of a part that exchanges its promises by socket.
func (p *Part) delegate(f *drive.Setup) (*drive.Exact, error) {
	here := func(m int) bool { return f.Machines[m] != nil }
	d, err := lookahead.NewDelegate(lookaheadOf(f), here, p.State, p.promises.Recv)
	return &drive.Exact{Participant: d, Promises: p.promises}, err
}

// blame names the part whose record on the board cannot be.
func blame(err error, b *lookahead.Board, name func(machine int) string) error {
	if bad, ok := errors.AsType[*lookahead.BadRecord](err); ok {
		return fmt.Errorf("the statement of %s on the board is wrong: %w", name(b.First(bad.Part)), err)
	}
	return err
}
