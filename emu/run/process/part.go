package process

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Part is the part's side of a run: its connection to the conductor. It is a trace.Sink for the
// events of the nodes.
type Part struct {
	file     *File
	conn     net.Conn
	in       *bufio.Reader
	progress *pace.Progress
	holding  holding
	promises *mailbox
	memory   func() ([]uint64, error)               // of the board
	bell     func(*lookahead.Board) lookahead.Waker // of that
	unable   string                                 // why there is no board
	key      trace.Key                              // of the current event
	frames   wanted                                 // nil: no frames are sent
	missed   int64                                  // frames that were left out since the last one
	clock    func() int64                           // the clock of the run
	alone    bool                                   // in its process, whose memory it keeps small
	stays    bool                                   // until the conductor closes the connection: it may ask for the clock

	batch  []byte
	count  int64       // events in it
	sent   time.Time   // when the last batch was sent
	out    chan []byte // messages to the conductor
	free   chan []byte
	failed atomic.Pointer[error]
	wrote  chan struct{} // closed when all is written
	once   sync.Once     // nothing more is sent

	left   atomic.Pointer[error] // why the conductor is gone
	over   chan struct{}         // closed then
	state  atomic.Pointer[string]
	events atomic.Int64
	status net.Listener
}

// A batch of events is sent when it is full, or when the part is about to sleep and some time has
// passed since the last batch.
const (
	batchSize  = 32 << 10
	batchEvery = 100 * time.Millisecond
	// maxUnsent is how many messages wait until the part waits for the conductor.
	maxUnsent = 64
)

// JoinTimeout is how long a part that is started by hand waits for a conductor.
const JoinTimeout = 60 * time.Second

// Join connects the part to its conductor: through a socket that was passed to it (fd), or, if fd
// is 0, through File.Control, for which it waits. Close closes the connection.
func Join(ctx context.Context, f *File, fd int, progress *pace.Progress) (*Part, error) {
	conn, err := dial(ctx, f, fd)
	if err != nil {
		return nil, err
	}
	p := newPart(f, conn, bufio.NewReader(conn), progress)
	if f.Status != "" {
		if err := p.serveStatus(); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return p, nil
}

// newPart returns the part at the other end of a conductor's connection, which in reads.
func newPart(f *File, conn net.Conn, in *bufio.Reader, progress *pace.Progress) *Part {
	p := &Part{
		file: f, conn: conn, in: in, progress: progress, clock: pace.Monotonic(), over: make(chan struct{}),
		memory: func() ([]uint64, error) { return openMemory(f.Board) }, bell: newFutexBell,
		out: make(chan []byte, maxUnsent), free: make(chan []byte, maxUnsent+1), wrote: make(chan struct{}),
	}
	p.holding.send = func(ns int64) {
		if err := p.say(hold, holdBytes(ns)); err != nil {
			p.failed.CompareAndSwap(nil, &err)
		}
	}
	p.setState("waiting for the others")
	p.fresh()
	go p.write()
	return p
}

func dial(ctx context.Context, f *File, fd int) (net.Conn, error) {
	if fd > 0 {
		file := os.NewFile(uintptr(fd), "control")
		defer file.Close()
		conn, err := net.FileConn(file)
		if err != nil {
			return nil, fmt.Errorf("file descriptor %d is not the socket of a conductor: %w", fd, err)
		}
		return conn, nil
	}
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) { // no signal announces the conductor
		conn, err := DialTo(ctx, f.Control)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if time.Since(begin) > JoinTimeout {
			return nil, fmt.Errorf("no conductor at %s after %v: %w; start it with: fabemu run --placement process --by-hand %s", f.Control, JoinTimeout, err, f.Part)
		}
	}
}

// setState sets the activity of the part, for Status.
func (p *Part) setState(state string) { p.state.Store(&state) }

// Begin reports that the part is ready, and waits for the epoch. From then on stop is called when
// the conductor disappears or ends the part, and over when nothing else can happen; settled is
// closed when all parts have reached the end.
func (p *Part) Begin(stop, over func()) (epoch int64, secret wire.Secret, board bool, settled <-chan struct{}, err error) {
	hi := greeting{Fabemu: p.file.Fabemu, Part: p.file.Part, Run: p.file.Run, PID: os.Getpid(), Boardless: p.unable}
	if err := p.sendJSON(hello, hi); err != nil {
		return 0, secret, false, nil, err
	}
	k, b, err := p.next()
	switch {
	case err != nil:
		return 0, secret, false, nil, err
	case k != begin || len(b) != beginSize:
		return 0, secret, false, nil, fmt.Errorf("the conductor sends %q where it should send the epoch", rune(k))
	}
	p.setState("running")
	all := make(chan struct{})
	go func() {
		defer close(p.over)
		defer stop()
		defer errs.Catch(func(err error) { p.left.Store(&err) })
		for counting := false; ; {
			k, b, err := p.next()
			switch {
			case err == nil && k == promise:
				p.promises.put(b)
			case err == nil && k == hold:
				if _, err = p.holding.learn(b); err == nil {
					continue
				}
				p.left.Store(&err)
				return
			case err != nil:
				p.left.Store(&err)
				return
			case k == finish:
				over()
			case k == count && !counting:
				counting = true
				close(all)
			}
		}
	}()
	p.holding.ns.Store(int64(binary.BigEndian.Uint64(b[25:])))
	secret = wire.Secret{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	return int64(binary.BigEndian.Uint64(b)), secret, b[24] == 1, all, nil
}

// next reads the next message, and answers those about the clock. If the conductor ends
// the run, that is an error.
func (p *Part) next() (kind, []byte, error) {
	for {
		k, b, err := read(p.in, nil)
		switch {
		case err != nil:
			return 0, nil, fmt.Errorf("the conductor has ended: %w", err)
		case k == quit:
			return 0, nil, errors.New("the conductor has ended the run early")
		case k != ask:
			return k, b, nil
		case len(b) != 8:
			return 0, nil, fmt.Errorf("the conductor asks for the clock in %d bytes", len(b))
		}
		if err := p.answer(b, p.clock()); err != nil {
			return 0, nil, err
		}
	}
}

// Record sends an event to the conductor.
func (p *Part) Record(e *trace.Event) {
	p.batch = appendEntry(p.batch, p.key.Place, e)
	p.count++
	p.filled()
}

// filled sends the batch if it is full.
func (p *Part) filled() {
	if len(p.batch) >= batchSize {
		p.flush()
	}
}

// State sends a report of the part's progress. From another host it is sent with all other
// messages, so that the loop does not wait for the network.
func (p *Part) State(b []byte) error { return p.say(state, b) }

// say sends a message from the loop.
func (p *Part) say(k kind, b []byte) error {
	if !p.stays {
		return write(p.conn, k, b)
	}
	p.out <- newMessage(k, b)
	return nil
}

// Idle sends the events so far, if some time has passed since the last batch. now is the model time
// before which nothing more will be reported.
func (p *Part) Idle(now unit.Time) error {
	if time.Since(p.sent) >= batchEvery {
		p.flush()
	}
	return p.failure()
}

// failure returns why nothing could be written to the conductor.
func (p *Part) failure() error {
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Watch sends the frames that wait in the nodes, after the events so far.
func (p *Part) Watch(w deadlock.Waits) error {
	p.flush()
	return p.sendJSON(waits, w)
}

// sendJSON sends a message whose content is JSON.
func (p *Part) sendJSON(k kind, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		p.out <- newMessage(k, b)
	}
	return err
}

// flush hands the batch to the writer.
func (p *Part) flush() {
	appendStamp(p.batch[:headSize], p.progress.Now(), p.progress.Counts())
	p.events.Add(p.count)
	p.count = 0
	p.out <- seal(events, p.batch)
	p.sent = time.Now()
	p.fresh()
}

// fresh begins a new batch.
func (p *Part) fresh() {
	select {
	case b := <-p.free:
		p.batch = b[:headSize+stamp]
	default:
		p.batch = make([]byte, headSize+stamp, batchSize+frameSize+wire.MaxFrameSize)
	}
}

// write sends messages, so that a slow conductor does not hold up the loop
// at once. If there are none, it reports that the part is alive.
func (p *Part) write() {
	defer close(p.wrote)
	quiet := time.NewTicker(aliveEvery)
	defer quiet.Stop()
	for greeted, said := false, false; ; {
		var m []byte
		select {
		case next, more := <-p.out:
			if !more {
				return
			}
			m, greeted, said = next, true, true
		case <-quiet.C:
			if said || !greeted {
				said = false
				continue
			}
			m = newMessage(alive, nil)
		}
		if p.failed.Load() == nil {
			if _, err := p.conn.Write(m); err != nil {
				p.failed.Store(&err)
			}
		}
		if kind(m[0]) == events {
			select {
			case p.free <- m:
			default:
			}
		}
	}
}

// Ended reports that the part has reached the end of the run.
func (p *Part) Ended() error {
	p.setState("waiting for the others to end")
	p.flush()
	p.out <- newMessage(ended, nil)
	return p.failure()
}

// Done sends the report, the last message of a part.
func (p *Part) Done(r Report) error {
	r.Missed = p.missed
	p.flush()
	if err := p.sendJSON(done, r); err != nil {
		return err
	}
	p.end()
	return p.failure()
}

// end waits until everything is written.
func (p *Part) end() {
	p.once.Do(func() { close(p.out) })
	<-p.wrote
}

// Close closes the connection, and removes a status socket that the part has made.
func (p *Part) Close() {
	defer p.end()
	if p.status != nil {
		p.status.Close()
	}
	p.conn.Close()
}

// Status is what a part sends to a client of its status socket.
type Status struct {
	Part   string   `json:"part"`
	Nodes  []string `json:"nodes"`
	PID    int      `json:"pid"`
	State  string   `json:"state"`
	NowPs  int64    `json:"model_time_ps"`
	Late   int64    `json:"late_departures"` // data frames that left later than 5 % of their duration
	Events int64    `json:"events"`          // sent to the conductor
}

// serveStatus answers at the status socket.
func (p *Part) serveStatus() error {
	l, err := ListenAt(p.file.Status)
	if err != nil {
		return fmt.Errorf("status socket: %w%s", err, inTheWay(err))
	}
	p.status = l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s := Status{Part: p.file.Part, Nodes: p.file.Nodes, PID: os.Getpid(), State: *p.state.Load(), NowPs: int64(p.progress.Now()), Late: p.progress.Counts().Late, Events: p.events.Load()}
			c.SetDeadline(time.Now().Add(time.Second))
			json.NewEncoder(c).Encode(s)
			c.Close()
		}
	}()
	return nil
}
