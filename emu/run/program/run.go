package program

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Run are the programs with the algorithms of the flows of a run. The first question about a flow
// starts its program. Where a program breaks the protocol, the run ends. A nil *Run has no
// programs.
type Run struct {
	fabric *fabric.Fabric
	ctx    context.Context
	cancel context.CancelCauseFunc
	shared map[rp.ExecParams]*Talk // of the programs with one process for all flows
	all    []*Program
}

// Open returns the programs of a run, and the context in which the run is driven: its cause is the
// *Failed of the first program that fails. It starts none.
func Open(ctx context.Context, f *fabric.Fabric) (*Run, context.Context) {
	if !f.Scenario.Executes() {
		return nil, ctx
	}
	r := &Run{fabric: f, shared: map[rp.ExecParams]*Talk{}}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r, r.ctx
}

// Failed is the error of a run that the program of a flow has ended.
type Failed struct {
	Flow    string // empty: the process was that of all flows
	Program string // its path
	Err     error  // a *Fault, or why it does not start
}

func (f *Failed) Error() string {
	of := "the flows"
	if f.Flow != "" {
		of = "flow " + f.Flow
	}
	return fmt.Sprintf("algorithm %s of %s: %v (docs/guide/limiters.md has the protocol)", filepath.Base(f.Program), of, f.Err)
}

// Unwrap returns the cause.
func (f *Failed) Unwrap() error { return f.Err }

// Err returns the *Failed of the first program that has failed, nil if there is none.
func (r *Run) Err() error {
	if r == nil {
		return nil
	}
	if failed, ok := context.Cause(r.ctx).(*Failed); ok {
		return failed
	}
	return nil
}

// Cost returns what the questions have cost.
func (r *Run) Cost() (c Cost) {
	if r == nil {
		return c
	}
	for _, p := range r.all {
		of := p.Cost()
		c.Questions, c.Waited = c.Questions+of.Questions, c.Waited+of.Waited
	}
	return c
}

// Close ends the programs, and returns the same as Err.
func (r *Run) Close() error {
	if r == nil {
		return nil
	}
	for _, p := range r.all { // they end at the same time
		for _, t := range p.talks {
			t.out.Close()
		}
	}
	for _, p := range r.all {
		_ = p.End() // a fault has come to fail
	}
	r.all = nil
	err := r.Err()
	r.cancel(nil)
	return err
}

// Reaction returns the reaction point of a flow with a highest rate; the zero value if its
// algorithm is none of a program.
func (r *Run) Reaction(f *fabric.Flow, line unit.Rate) rp.Reaction {
	params, ok := f.Control.Params.(rp.ExecParams)
	if r == nil || !ok {
		return rp.Reaction{}
	}
	frame := r.fabric.Frame(f)
	l := &lazy{run: r, params: params, flow: f.Name, qp: f.QP, line: line, packet: r.fabric.Framing().Length(&frame)}
	out := rp.Reaction{Controller: l, Ended: l.ended}
	if params.Measured() {
		out.Acknowledged, out.Trimmed, out.Expired = l, l.trimmed, l.expired
	}
	return out
}

// lazy is the reaction point of a flow whose program is started by the first question.
type lazy struct {
	run    *Run
	params rp.ExecParams
	flow   string
	qp     uint32
	line   unit.Rate
	packet unit.Size
	point  *Controller // nil: it has not begun
}

// begun returns the reaction point, or nil if there is none any more.
func (l *lazy) begun() *Controller {
	if l.point == nil && l.run.ctx.Err() == nil {
		var err error
		if l.point, err = l.begin(); err != nil {
			l.run.fail(l.flow, l.params, err)
		}
	}
	return l.point
}

// begin begins the flow in a process of its own, or in the one of all flows.
func (l *lazy) begin() (*Controller, error) {
	if l.params.Process == rp.ProcessPerFlow {
		t, err := l.run.program(l.flow, l.params).Begin(l.run.ctx, l.line, l.packet)
		if err == nil {
			err = t.Reacts()
		}
		if err != nil {
			return nil, err
		}
		return t.Controller(), nil
	}
	t := l.run.shared[l.params]
	if t == nil {
		var err error
		if t, err = l.run.program(l.flow, l.params).Open(l.run.ctx); err != nil {
			return nil, err
		}
		l.run.shared[l.params] = t
	}
	return t.Flow(l.qp, l.line, l.packet)
}

// program returns a program that fails the run with its first fault.
func (r *Run) program(flow string, params rp.ExecParams) *Program {
	p := &Program{
		Command: append([]string{string(params.Program)}, strings.Fields(string(params.Arguments))...),
		Windows: params.Measured(),
		Fail:    func(f *Fault) { r.fail(flow, params, f) },
	}
	r.all = append(r.all, p)
	return p
}

// fail ends the run, if it is the first failure.
func (r *Run) fail(flow string, params rp.ExecParams, err error) {
	if params.Process == rp.ProcessShared {
		flow = ""
	}
	r.cancel(&Failed{Flow: flow, Program: string(params.Program), Err: err})
}

func (l *lazy) Sent(now unit.Time, n unit.Size) {
	switch c := l.begun(); {
	case c == nil:
	case l.params.Starts:
		c.Sent(now, n)
	default:
		c.talk.calls = 0
	}
}

func (l *lazy) Feedback(now unit.Time, f wire.Frame) {
	if c := l.begun(); c != nil {
		c.Feedback(now, f)
	}
}

func (l *lazy) Acked(now unit.Time, a rp.Ack) {
	if c := l.begun(); c != nil {
		c.Acked(now, a)
	}
}

func (l *lazy) Lost(now unit.Time) {
	if c := l.begun(); c != nil {
		c.Lost(now)
	}
}

func (l *lazy) trimmed(now unit.Time, t rp.Trim) {
	if c := l.begun(); c != nil {
		c.Trimmed(now, t)
	}
}

func (l *lazy) expired(now unit.Time, n unit.Size) {
	if c := l.begun(); c != nil {
		c.Expired(now, n)
	}
}

func (l *lazy) Window() unit.Size {
	if c := l.begun(); c != nil {
		return c.Window()
	}
	return 0
}

func (l *lazy) Advance(now unit.Time) {
	if c := l.begun(); c != nil {
		c.Advance(now)
	}
}

func (l *lazy) Rate() unit.Rate {
	if c := l.begun(); c != nil {
		return c.Rate()
	}
	return 0
}

func (l *lazy) Deadline() unit.Time {
	if c := l.begun(); c != nil {
		return c.Deadline()
	}
	return unit.Never
}

// ended tells a program with several flows that one has ended.
func (l *lazy) ended(now unit.Time) {
	if l.point != nil && l.params.Process == rp.ProcessShared {
		l.point.End(now)
	}
}
