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

// promising is the conductor's side of a run without a board: the coordinator of the parts, and the
// connections to them. The goroutines that receive messages of the parts use it, not the loop of
// the conductor, so that reports are answered at once.
type promising struct {
	// held is full while a goroutine uses this, which may wait for a part. It is not a sync.Mutex,
	// because on the clock of testing/synctest no time passes while a goroutine waits for a mutex.
	held chan struct{}
	*lookahead.Coordinator
	send []func(promise []byte) // by part
}

// connect connects the parts, all of which are ready.
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

// sender returns a function that sends messages of a kind of which only the last counts to a part.
// The function does not wait for the part. Only one goroutine may call it at a time.
func (r *conductor) sender(s *participant, k kind) func(b []byte) {
	conn := s.conn
	last := make(chan []byte, 1) // replaces one that has not left
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

// state handles a report of a part, and sends the promises that follow from it.
func (r *conductor) state(s *participant, b []byte) error {
	x := r.ahead.Load()
	if x == nil {
		return fmt.Errorf("%s: it reports how far it is, in a run whose parts share memory", s.Part)
	}
	x.held <- struct{}{}
	defer func() { <-x.held }()
	if err := x.Receive(s.index, b); err != nil {
		return fmt.Errorf("%s: %w", s.Part, err)
	}
	x.Promise(x.promise)
	return nil
}

// promise sends a promise to a part. If the part is gone, the conductor learns that from the end of
// its connection.
func (x *promising) promise(k int, b []byte) { x.send[k](b) }

const (
	// missingAfter is how long the parts wait for a datagram that stops a run before it counts as
	// lost.
	missingAfter = time.Second
	// mostMissing is how many times datagrams are given up before the run ends: it is void, and
	// each wait prolongs it.
	mostMissing = 5
	// owingAfter is how long the others wait for a part that sends no report with which they
	// could continue although it should.
	owingAfter = 30 * time.Second
)

// watchProgress checks that the parts make progress. A datagram that the others wait for is
// given up after a while, which makes the run void; a part that sends nothing is an error that
// names it, unless a user started it by hand and so may have stopped it.
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

// wait checks how long the parts have made no progress. giveUp ends the wait for datagrams, and
// reports whether there were any.
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
			return fmt.Errorf("datagrams were lost %d times, and the run waits %v each time: look for a firewall or an interface that drops them",
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
	return fmt.Errorf("the others wait for %s, which has promised nothing for %v: it could send something from model time %v on", r.participants[k].Part, owingAfter, at)
}

// mailbox holds the last promise to a part until its loop takes it.
type mailbox struct {
	mu     sync.Mutex
	full   bool
	letter []byte
	pipe   [2]*os.File   // holds a byte while there is a promise, for a loop that waits for datagrams
	rung   chan struct{} // the same in a simulation
}

// newMailbox returns an empty mailbox.
func newMailbox() (m *mailbox, err error) {
	m = &mailbox{rung: make(chan struct{}, 1)}
	m.pipe[0], m.pipe[1], err = os.Pipe()
	return m, err
}

// put stores a promise. It replaces one that was not taken, because each holds all that is
// promised.
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

// Recv takes the promise.
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
