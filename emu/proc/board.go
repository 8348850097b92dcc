package proc

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"fabemu/emu/council"
	"fabemu/emu/drive"
)

// memory is a file without a name, mapped by all parts of a run on one computer: their board. It is gone with the last of
// them.
type memory struct {
	file  *os.File
	words []uint64
}

// councilOf returns what promises rest on.
func councilOf(f *drive.Fabric) council.Fabric {
	return council.Fabric{Wires: f.Wires, Least: f.Least, Passing: f.Passing}
}

// share makes the memory for the board of a run in exact order, of so many parts. Without it they talk to the
// conductor.
func (c *conductor) share(parts int) {
	var err error
	f := c.plan.Fabric
	if c.memory, err = newMemory(council.BoardWords(len(f.Machines), len(f.Wires), parts)); err != nil {
		c.boardless(err)
	}
}

// boardless notes why there is no board.
func (c *conductor) boardless(why error) {
	c.warnings = append(c.warnings, fmt.Sprintf("the processes of this run share no memory, and exchange their promises by sockets: %v", why))
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
		council.Lay(councilOf(r.fabric), r.partOf(), rank, r.plan.ID, r.memory.words)
		r.board, err = council.NewBoard(councilOf(r.fabric), rank, r.plan.ID, -1, r.memory.words)
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

// ring wakes a part.
func (r *conductor) ring(part int) { r.bell(r.board).Ring(part) }

// attach has a part use the board of its run. The error says why it cannot.
func (p *Part) attach(f *drive.Fabric, exact *drive.Exact) error {
	words, err := p.memory()
	if err != nil {
		return err
	}
	rank, err := f.Ranks()
	if err != nil {
		return err
	}
	here := slices.IndexFunc(f.Machines, func(m drive.Machine) bool { return m != nil })
	b, err := council.NewBoard(councilOf(f), rank, p.file.Run, here, words)
	if err != nil {
		return err
	}
	exact.Board, exact.Bell = b, p.bell(b)
	return nil
}

// blame names the part whose record on the board cannot be.
func blame(err error, b *council.Board, name func(machine int) string) error {
	var bad *council.BadRecord
	if errors.As(err, &bad) {
		return fmt.Errorf("the statement of %s on the board is wrong: %w", name(b.First(bad.Part)), err)
	}
	return err
}
