package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/wire/unit"
)

// Program describes how to reach a program, and holds the talks with it.
type Program struct {
	// Command is the program to start, and its arguments; it runs in the folder of this process.
	Command []string
	// Connect to the program that listens at this Unix socket, once for each limiter.
	Socket string `flag:"socket" group:"Program" arg:"PATH"`
	// How long the program may take to answer, and to end.
	Patience time.Duration `flag:"patience" arg:"TIME" def:"30s"`
	// Windows allows reaction points to give a window.
	Windows bool
	// Stderr takes the standard error of a program that is started; nil: it is discarded.
	Stderr io.Writer
	// Fail, if not nil, is called with the fault of a program: a run with it
	// need not go on. It may be called from another goroutine.
	Fail func(*Fault)

	talks []*Talk
}

// DefaultPatience is how long an answer may take. On a machine that others keep busy an
// interpreter needs some seconds to begin.
const DefaultPatience = 30 * time.Second

// Begin begins a talk: about a limiter at rate r, or a reaction point at a line of rate r,
// for packets of a length on the line. An error that is not a *Fault is the user's to
// correct: there is no such program.
//
// When ctx is done the talk is cut.
func (p *Program) Begin(ctx context.Context, r unit.Rate, packet unit.Size) (*Talk, error) {
	t, err := p.Open(ctx)
	if err == nil {
		err = t.hello(&Controller{talk: t}, r, packet)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Open begins a talk about reaction points, which Talk.Flow begins one by one.
func (p *Program) Open(ctx context.Context) (*Talk, error) {
	if p.Patience <= 0 {
		p.Patience = DefaultPatience
	}
	t := &Talk{patience: p.Patience, windows: p.Windows, failed: p.Fail, line: make([]byte, 0, maxLine)}
	if err := p.connect(t); err != nil {
		return nil, errs.Errorf("%w", err)
	}
	t.release = context.AfterFunc(ctx, t.peer.cut)
	p.talks = append(p.talks, t)
	return t, nil
}

// connect opens the way to the program.
func (p *Program) connect(t *Talk) error {
	if p.Socket != "" {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: p.Socket})
		if err != nil {
			return fmt.Errorf("no program listens at the socket %s: %w", p.Socket, err)
		}
		t.open(conn, socket{conn}, socket{conn})
		return nil
	}
	if len(p.Command) == 0 {
		return errors.New("neither a program nor the path of a socket is given")
	}
	var stderr io.Writer = &t.stderr
	if p.Stderr != nil {
		stderr = io.MultiWriter(p.Stderr, &t.stderr)
	}
	c, in, out, err := start(p.Command, stderr)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Command[0], err)
	}
	t.open(out, in, c)
	return nil
}

// Cost returns what the questions since the last End have cost.
func (p *Program) Cost() (c Cost) {
	for _, t := range p.talks {
		c.Questions, c.Waited = c.Questions+t.cost.Questions, c.Waited+t.cost.Waited
	}
	return c
}

// End ends all talks that continue and returns the first fault of any talk since the last
// End, nil if there is none.
func (p *Program) End() error {
	var first error
	for _, t := range slices.Backward(p.talks) {
		if err := t.Close(); err != nil {
			first = err
		}
	}
	p.talks = nil
	return first
}
