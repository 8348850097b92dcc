package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"fabemu/emu/run/lookahead"
	"fabemu/wire/unit"
)

// promising is the conductor's side of a run without a board: the coordinator of the parts, and the ways to them. The
// goroutines that receive messages of the parts use it, not the loop of the conductor: a report is answered at
// once.
type promising struct {
	// held is full while a goroutine uses this, and may wait for a part. It is no sync.Mutex, because on the
	// clock of testing/synctest no time passes while a goroutine waits for one.
	held chan struct{}
	*lookahead.Coordinator
	send []func(promise []byte) // by part
}

// connect brings the parts together, all of which are ready.
func (r *conductor) connect() error {
	x := &promising{held: make(chan struct{}, 1)}
	for _, s := range r.participants {
		x.send = append(x.send, r.promises(s))
	}
	c, err := lookahead.New(lookaheadOf(r.fabric), r.partOf())
	x.Coordinator = c
	r.ahead.Store(x)
	return err
}

// promises returns a function that sends promises to a part.
func (r *conductor) promises(s *participant) func(b []byte) {
	if s.away == nil {
		conn := s.conn
		return func(b []byte) { write(conn, promise, b) }
	}
	return r.sender(s, promise)
}

// sender returns a function that sends messages of a kind to a part, of which only the last counts. The function does
// not wait for the part. No two goroutines may call it at a time.
func (r *conductor) sender(s *participant, k kind) func(b []byte) {
	conn := s.conn
	last := make(chan []byte, 1) // in place of one that has not left
	go func() {
		for {
			select {
			case b := <-last:
				write(conn, k, b)
			case <-r.quit:
				return
			}
		}
	}()
	return func(b []byte) {
		select {
		case <-last:
		default:
		}
		last <- slices.Clone(b) // there is room
	}
}

// state takes in a report of a part, and sends the promises that follow from it.
func (r *conductor) state(s *participant, b []byte) error {
	x := r.ahead.Load()
	if x == nil {
		return fmt.Errorf("%s: it states how far it is, in a run whose parts share memory", s.Part)
	}
	x.held <- struct{}{}
	defer func() { <-x.held }()
	if err := x.Receive(s.index, b); err != nil {
		return fmt.Errorf("%s: %w", s.Part, err)
	}
	x.Promise(x.promise)
	return nil
}

// promise sends a promise to a part. Where the part is gone, the end of its connection is news for the conductor.
func (x *promising) promise(k int, b []byte) { x.send[k](b) }

const (
	// missingAfter is how long it is waited for a datagram that stops a run, until it is called lost.
	missingAfter = time.Second
	// mostMissing is how often datagrams are given up until the run ends: it is void, and each wait makes it longer.
	mostMissing = 5
	// owingAfter is how long it is waited for a part that states nothing that others could go on by,
	// once it should have.
	owingAfter = 30 * time.Second
)

// watchProgress looks whether the parts get on with one another. A datagram that the others wait for is
// given up after a while, which makes the run void; a part that does not speak is an error that names
// it, unless somebody has started it by hand, who may have stopped it.
func (r *conductor) watchProgress() error {
	there := func(k int) bool { return r.participants[k].quiet < missingAfter/2 }
	switch x := r.ahead.Load(); {
	case r.board != nil:
		if _, err := r.board.Look(); err != nil {
			return blame(err, r.board, func(m int) string { return r.plan.Fabric.Nodes[m].Name })
		}
		ring := r.bell(r.board).Ring
		return r.wait(r.board, func() (some bool) {
			r.board.GiveUp(there, func(k int) { some = true; ring(k) })
			return some
		})
	case x != nil:
		x.held <- struct{}{}
		defer func() { <-x.held }()
		return r.wait(x, func() (some bool) {
			x.GiveUp(there, func(k int, b []byte) { some = true; x.promise(k, b) })
			return some
		})
	}
	return nil
}

// wait looks for how long the parts have not got on. giveUp ends the wait for datagrams, and reports whether there
// were any.
func (r *conductor) wait(c interface {
	Steps() int64
	Owing() (part int, at unit.Time, ok bool)
}, giveUp func() bool) error {
	now := r.clock()
	if n := c.Steps(); n != r.steps || r.still == 0 {
		r.steps, r.still = n, now
		return nil
	}
	still := time.Duration(now - r.still)
	if still >= missingAfter && giveUp() {
		if r.givenUp++; r.givenUp > mostMissing {
			return fmt.Errorf("datagrams got lost %d times, and the run waits %v each time: look for a firewall or an interface that drops them",
				r.givenUp, missingAfter)
		}
	}
	k, at, ok := c.Owing()
	if !ok || r.participants[k].byHand || still < owingAfter {
		return nil
	}
	if now-r.wall(at) < owingAfter.Nanoseconds() {
		return nil // its next event is still to come
	}
	return fmt.Errorf("the others wait for %s, which has promised nothing for %v: by %v of model time something could come from it", r.participants[k].Part, owingAfter, at)
}

// mailbox holds the last promise that a part has had, until its loop comes for it.
type mailbox struct {
	mu     sync.Mutex
	full   bool
	letter []byte
	pipe   [2]*os.File   // holds a byte while there is a letter, for a loop that waits for datagrams
	rung   chan struct{} // the same in a simulation
}

// newMailbox returns an empty mailbox.
func newMailbox() (m *mailbox, err error) {
	m = &mailbox{rung: make(chan struct{}, 1)}
	m.pipe[0], m.pipe[1], err = os.Pipe()
	return m, err
}

// put leaves a promise, in place of one that nobody has come for: each holds all that is promised.
func (m *mailbox) put(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.full {
		m.pipe[1].Write([]byte{0}) // there is room
		select {
		case m.rung <- struct{}{}:
		default:
		}
	}
	m.letter, m.full = append(m.letter[:0], b...), true
}

// Recv takes the promise out.
func (m *mailbox) Recv(b []byte) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.full {
		return 0, nil
	}
	m.full = false
	_, err = m.pipe[0].Read([]byte{0})
	return copy(b, m.letter), err
}

func (m *mailbox) Send([]byte) error { panic("proc: a mailbox sends nothing; this is a bug") }
func (m *mailbox) FD() int           { return int(m.pipe[0].Fd()) }
func (m *mailbox) Close() error      { return errors.Join(m.pipe[0].Close(), m.pipe[1].Close()) }
