package process

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"fabemu/emu/run/drive"
	"fabemu/emu/run/lookahead"
)

// memory is an unnamed file that all parts of a run on one machine map: their board. The kernel
// removes it when the last part ends.
type memory struct {
	file  *os.File
	words []uint64
}

// lookaheadOf returns the ground on which promises rest.
func lookaheadOf(f *drive.Setup) lookahead.Fabric {
	return lookahead.Fabric{Wires: f.Wires, Least: f.Least, Passing: f.Passing}
}

// share makes the memory for the board of a run with this many parts. Without a board they talk to
// the conductor.
func (c *conductor) share(parts int) {
	err := c.plan.Hooks.Memory
	f := c.plan.Fabric
	if err == nil {
		c.memory, err = newMemory(lookahead.BoardWords(len(f.Nodes), len(f.Wires), parts))
	}
	if err != nil {
		c.boardless(err)
	}
}

// boardless records why there is no board.
func (c *conductor) boardless(why error) {
	c.warnings = append(c.warnings, fmt.Sprintf("the processes of this run share no memory, and exchange their promises over sockets: %v", why))
}

// boardOf returns where a part finds the memory: handed over as a file descriptor, or in this
// process.
func (c *conductor) boardOf(s *participant) string {
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
	return err
}

// agree removes the board of a run if one of its parts cannot use it.
func (r *conductor) agree() {
	for _, s := range r.participants {
		if r.board != nil && s.boardless != "" {
			r.boardless(fmt.Errorf("%s: %s", s.Part, s.boardless))
			r.board = nil
		}
	}
}

// partOf returns the part of each node.
func (r *conductor) partOf() []int {
	of := make([]int, len(r.ports))
	for k, s := range r.participants {
		for _, m := range s.nodes {
			of[m] = k
		}
	}
	return of
}

// attach returns the board of the run. The error says why the part cannot use it.
func (p *Part) attach(f *drive.Setup) (*lookahead.Board, error) {
	words, err := p.memory()
	if err != nil {
		return nil, err
	}
	rank, err := f.Ranks()
	if err != nil {
		return nil, err
	}
	here := slices.IndexFunc(f.Nodes, func(m drive.Node) bool { return m != nil })
	return lookahead.NewBoard(lookaheadOf(f), rank, p.file.Run, here, words)
}

// order makes the part keep to the order of the run: by the promises on the board, or without a
// board by the promises of the conductor.
func (p *Part) order(d *drive.Part, f *drive.Setup, b *lookahead.Board) (err error) {
	if b != nil {
		b.Ahead = p.file.Spread || p.file.CPUs == nil
		d.Participant, d.Bell = b, p.bell(b)
		return nil
	}
	here := func(m int) bool { return f.Nodes[m] != nil }
	d.Participant, err = lookahead.NewDelegate(lookaheadOf(f), here, p.State, p.promises.Recv)
	d.Promises = p.promises
	return err
}

// blame names the part whose record on the board is invalid.
func blame(err error, b *lookahead.Board, name func(node int) string) error {
	if bad, ok := errors.AsType[*lookahead.BadRecord](err); ok {
		return fmt.Errorf("the report of %s on the board is wrong: %w", name(b.First(bad.Part)), err)
	}
	return err
}
