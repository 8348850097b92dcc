package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Window is the number of operations of a rank that may be open at once where Config gives none.
const Window = 1 << 16

// edgesPerOp times the window is the number of dependencies that may be open at once.
const edgesPerOp = 8

// Config describes a Rank.
type Config struct {
	Rank   int // its number, for errors
	Window int // how many operations may be open at once; 0: the constant Window
	// Untagged: messages come without their tags. The messages of a peer match receives in their
	// order.
	Untagged bool
	// Ended, if set, is called when an operation has ended. A send or a receive began when its
	// dependencies allowed it, and a calc when its processor was free too.
	Ended func(op Op, start, end unit.Time)
}

// Message is a message to send.
type Message struct {
	To          int // rank
	Tag         uint32
	Size        unit.Size // payload, at least 1 byte
	ID          uint32    // for Sent; no other message of the rank in flight has it
	Step, Round int       // of a collective operation, from 1; 0: of none
}

// Error is a fault of a program by which its rank cannot continue.
type Error struct {
	Rank   int
	Line   int          // of the file; 0: there is none
	Reason trace.Reason // RequiresItself, TooManyOpen or BadProgram
	err    error
}

func (e *Error) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.err) }

// Unwrap returns the error of a file that could not be read.
func (e *Error) Unwrap() error { return errors.Unwrap(e.err) }

// Rank executes a Program. Make one with NewRank. After an error (Err) it does nothing more.
//
// An operation is open from the moment when it is read until it ends. On the way it is in one
// list after the other:
//
//	held     until all its dependencies are read
//	(none)   while it waits for one of them
//	ready    in the order of the program
//	calls, outbox, a processor's calcs: it has begun, or waits for its processor
type Rank struct {
	config  Config
	program Program
	reach   Reach

	ops      []open // 1 to Window; 0 stands for none
	freeOp   int32
	edges    []edge // the same
	freeEdge int32
	names    map[uint64]int32 // the open operations by their names

	held, ready, outbox list
	calls               map[call]claim // receives without a message, and messages without a receive
	early               int            // messages without a receive
	processors          []processor    // by number

	read  int  // operations read
	whole bool // the program is read to its end
	front int  // the last operation in the program that has begun; -1: none has
	open  int  // operations read that have not ended
	begun int  // open operations that have begun
	err   *Error
}

// open is an operation that has not ended.
type open struct {
	Op
	index          int       // its place in the program, from 0
	start          unit.Time // if begun
	waits          int32     // conditions that it waits for before it begins
	begun          bool      // it has
	out            bool      // Send: Message has handed it out
	next           int32     // in its list
	atStart, atEnd list      // edges to operations that wait for its start and for its end
}

// edge leads to an operation that waits.
type edge struct{ to, next int32 }

// list is a queue of operations or edges, linked by next.
type list struct{ head, tail int32 }

// call is the key by which a message finds its receive.
type call struct {
	peer int
	tag  uint32
}

// claim holds the begun receives of a call, or counts the messages that came before them.
type claim struct {
	receives list
	early    int
	first    unit.Time // when the first of the messages came since there was none
}

// processor runs one calc at a time.
type processor struct {
	running int32 // 0: none
	end     unit.Time
	waiting list
}

// NewRank returns a Rank at the beginning of a program. The first Advance starts it.
func NewRank(p Program, c Config) *Rank {
	if c.Window <= 0 {
		c.Window = Window
	}
	return &Rank{
		config: c, program: p, reach: p.Reach(), front: -1,
		ops: make([]open, 1), edges: make([]edge, 1),
		names: map[uint64]int32{}, calls: map[call]claim{},
	}
}

// Advance ends the calcs that are over at now and begins the operations that are due.
func (r *Rank) Advance(now unit.Time) {
	r.run(now) // the first call begins the program
	for r.err == nil {
		p, due := r.soonest()
		if p == nil || due > now {
			break
		}
		s := p.running
		p.running = 0
		r.end(s, due)
		if next := r.pop(&p.waiting); next != 0 {
			r.compute(p, next, due)
		}
		r.run(due)
	}
}

// Deadline returns the end of the next calc. Nothing else of a rank has its own time.
func (r *Rank) Deadline() unit.Time {
	if r.err != nil {
		return unit.Never
	}
	_, due := r.soonest()
	return due
}

// Message returns the next message to send.
func (r *Rank) Message() (Message, bool) {
	if r.err != nil {
		return Message{}, false
	}
	s := r.pop(&r.outbox)
	if s == 0 {
		return Message{}, false
	}
	o := &r.ops[s]
	o.out = true
	return Message{To: o.Peer, Tag: o.Tag, Size: o.Size, ID: uint32(s), Step: o.Step, Round: o.Round}, true
}

// Sent ends the send of a message that Message returned: where the transport acknowledges, it is
// acknowledged; elsewhere its last packet has begun to leave. It panics if there is no such
// message.
func (r *Rank) Sent(now unit.Time, id uint32) {
	if r.err != nil {
		return
	}
	if int64(id) >= int64(len(r.ops)) || !r.ops[id].out {
		panic(fmt.Sprintf("schedule: rank %d has no message %d in flight", r.config.Rank, id))
	}
	r.Advance(now) // calcs that were over before
	r.end(int32(id), now)
	r.Advance(now)
}

// Received takes a message that has arrived completely, which may be before its receive begins.
func (r *Rank) Received(now unit.Time, from int, tag uint32) {
	if r.read > 0 { // the program has begun
		r.Advance(now)
	}
	if r.err != nil {
		return
	}
	k := r.call(from, tag)
	c := r.calls[k]
	s := r.pop(&c.receives)
	if s == 0 {
		if c.early == 0 {
			c.first = now
		}
		c.early++
		if r.early++; r.early > r.config.Window {
			r.fail(trace.TooManyOpen, 0, "%d messages arrived without a receive, the last one with tag %d from rank %d: "+
				"the window holds no more", r.early, tag, from)
		}
	}
	r.settle(k, c)
	if s != 0 {
		r.end(s, now)
		r.Advance(now)
	}
}

// Done reports whether the program has ended.
func (r *Rank) Done() bool { return r.err == nil && r.whole && r.open == 0 }

// Err returns the *Error that stopped the rank, or nil.
func (r *Rank) Err() error {
	if r.err == nil {
		return nil // and not a nil *Error
	}
	return r.err
}

// Wait is an operation that has begun and not ended.
type Wait struct {
	Op
	Since unit.Time
}

// Waiting returns the operations that have begun and not ended, in the order of the program.
// It is for reports: a job that does not end waits for the receives among them.
func (r *Rank) Waiting() (ops []Wait) {
	var at []int
	for i := range r.ops {
		if r.ops[i].begun {
			at = append(at, i)
		}
	}
	slices.SortFunc(at, func(a, b int) int { return cmp.Compare(r.ops[a].index, r.ops[b].index) })
	for _, i := range at {
		ops = append(ops, Wait{r.ops[i].Op, r.ops[i].start})
	}
	return ops
}

// Unclaimed returns the messages that have arrived and that no receive has taken, by peer and tag:
// as the receives that the program lacks, each with the arrival of its first message. Untagged ones
// have the tag 0. It is for reports.
func (r *Rank) Unclaimed() (lacking []Wait) {
	for k, c := range r.calls {
		for range c.early {
			lacking = append(lacking, Wait{Op{Kind: Receive, Peer: k.peer, Tag: k.tag}, c.first})
		}
	}
	slices.SortFunc(lacking, func(a, b Wait) int { return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Tag, b.Tag)) })
	return lacking
}

// run reads as far as it must, and begins whatever is ready.
func (r *Rank) run(now unit.Time) {
	for r.err == nil {
		r.readAhead()
		s := r.pop(&r.ready)
		if s == 0 {
			break
		}
		if o := &r.ops[s]; o.Kind == Calc {
			for len(r.processors) <= int(o.CPU) {
				r.processors = append(r.processors, processor{})
			}
			p := &r.processors[o.CPU]
			if p.running != 0 {
				r.push(&p.waiting, s)
			} else {
				r.compute(p, s, now)
			}
			continue
		}
		r.begin(s, now)
	}
	if r.err == nil && r.open > 0 && r.begun == 0 {
		first := slices.MinFunc(r.ops[1:], func(a, b open) int {
			return cmp.Or(cmp.Compare(b.waits, 0)-cmp.Compare(a.waits, 0), cmp.Compare(a.index, b.index))
		})
		r.fail(trace.RequiresItself, first.Line, "the %v requires itself, through other operations", first.Op)
	}
}

// readAhead reads the program as far as its reach demands.
func (r *Rank) readAhead() {
	for !r.whole && r.err == nil && r.read <= r.front+r.reach.Ahead+r.reach.Hold+1 {
		o, ok, err := r.program.Next()
		switch {
		case err != nil:
			r.fail(trace.BadProgram, 0, "%w", err)
		case !ok:
			r.whole = true
			r.release(r.read)
		case o.Kind < Requires:
			r.admit(o)
		default:
			r.depend(o)
		}
	}
}

// admit opens an operation.
func (r *Rank) admit(o Op) {
	if r.open == r.config.Window {
		r.fail(trace.TooManyOpen, o.Line, "%d operations are open when the %v is read: the program needs a larger window", r.open, o)
		return
	}
	s := r.freeOp
	if s == 0 {
		s = int32(len(r.ops))
		r.ops = append(r.ops, open{})
	} else {
		r.freeOp = r.ops[s].next
	}
	r.ops[s] = open{Op: o, index: r.read, waits: 1}
	if o.Name != 0 {
		r.names[o.Name] = s
	}
	r.open++
	r.release(r.read - r.reach.Hold)
	r.read++
	r.push(&r.held, s)
}

// release lets the held operations go that are before place n of the program: all that they
// require is read.
func (r *Rank) release(n int) {
	for r.held.head != 0 && r.ops[r.held.head].index < n {
		r.satisfy(r.pop(&r.held))
	}
}

// satisfy takes one of the conditions away that an operation waits for. Operations that are
// ready at once begin in the order of the program, wherever their dependencies are.
func (r *Rank) satisfy(s int32) {
	o := &r.ops[s]
	if o.waits--; o.waits > 0 {
		return
	}
	l := &r.ready
	if l.head == 0 || r.ops[l.tail].index < o.index {
		r.push(l, s)
		return
	}
	at := &l.head
	for r.ops[*at].index < o.index {
		at = &r.ops[*at].next
	}
	o.next, *at = *at, s
}

// depend adds a dependency. The operation that is waited for has ended if it is not open.
func (r *Rank) depend(o Op) {
	to, on := r.names[o.Name], r.names[o.On]
	switch {
	case to == 0 || r.ops[to].waits == 0:
		r.fail(trace.BadProgram, o.Line, "the %v follows its operation, which may have started", o)
		return
	case on == 0 || o.Kind == StartRequires && r.ops[on].begun:
		return
	case len(r.edges) > edgesPerOp*r.config.Window && r.freeEdge == 0:
		r.fail(trace.TooManyOpen, o.Line, "%d dependencies are open when the %v gets one more: the program needs a larger window",
			len(r.edges)-1, r.ops[to].Op)
		return
	}
	e := r.freeEdge
	if e == 0 {
		e = int32(len(r.edges))
		r.edges = append(r.edges, edge{})
	} else {
		r.freeEdge = r.edges[e].next
	}
	r.edges[e] = edge{to: to}
	r.ops[to].waits++
	l := &r.ops[on].atEnd
	if o.Kind == StartRequires {
		l = &r.ops[on].atStart
	}
	if l.head == 0 {
		l.head = e
	} else {
		r.edges[l.tail].next = e
	}
	l.tail = e
}

// begin begins an operation. A receive whose message is there ends at once.
func (r *Rank) begin(s int32, now unit.Time) {
	o := &r.ops[s]
	o.begun, o.start = true, now
	r.begun++
	r.front = max(r.front, o.index)
	r.follow(o.atStart)
	o.atStart = list{}
	switch o.Kind {
	case Send:
		r.push(&r.outbox, s)
	case Receive:
		k := r.call(o.Peer, o.Tag)
		c := r.calls[k]
		if c.early == 0 {
			r.push(&c.receives, s)
			r.calls[k] = c
			return
		}
		c.early--
		r.early--
		r.settle(k, c)
		r.end(s, now)
	}
}

// compute begins a calc on a processor that is free.
func (r *Rank) compute(p *processor, s int32, now unit.Time) {
	p.running, p.end = s, now.Add(r.ops[s].Time)
	r.begin(s, now)
}

// end ends an operation and closes it.
func (r *Rank) end(s int32, now unit.Time) {
	o := &r.ops[s]
	r.follow(o.atEnd)
	if o.Name != 0 {
		delete(r.names, o.Name)
	}
	r.open--
	r.begun--
	if r.config.Ended != nil {
		r.config.Ended(o.Op, o.start, now)
	}
	*o = open{next: r.freeOp}
	r.freeOp = s
}

// follow satisfies the operations to which edges lead, and frees the edges.
func (r *Rank) follow(l list) {
	for e := l.head; e != 0; {
		at := &r.edges[e]
		next := at.next
		r.satisfy(at.to)
		at.next, r.freeEdge = r.freeEdge, e
		e = next
	}
}

// call returns the key by which messages of a peer find their receives.
func (r *Rank) call(peer int, tag uint32) call {
	if r.config.Untagged {
		tag = 0
	}
	return call{peer, tag}
}

// settle stores a claim, or forgets it where nothing is left of it.
func (r *Rank) settle(k call, c claim) {
	if c.receives.head == 0 && c.early == 0 {
		delete(r.calls, k)
	} else {
		r.calls[k] = c
	}
}

// soonest returns the processor whose calc ends first, and when. A rank has few.
func (r *Rank) soonest() (first *processor, due unit.Time) {
	due = unit.Never
	for i := range r.processors {
		if p := &r.processors[i]; p.running != 0 && p.end < due {
			first, due = p, p.end
		}
	}
	return first, due
}

func (r *Rank) push(l *list, s int32) {
	r.ops[s].next = 0
	if l.head == 0 {
		l.head = s
	} else {
		r.ops[l.tail].next = s
	}
	l.tail = s
}

func (r *Rank) pop(l *list) int32 {
	s := l.head
	if s != 0 {
		l.head = r.ops[s].next
	}
	return s
}

func (r *Rank) fail(why trace.Reason, line int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{r.config.Rank, line, why, fmt.Errorf(format, args...)}
	}
}
