package process

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fabemu/emu/host"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const (
	// startTimeout is how long parts that the conductor has started may take to
	// be ready, and endTimeout how long they may take to end.
	startTimeout = 30 * time.Second
	endTimeout   = 3 * time.Second
	// lead is how far ahead the epoch is: all parts have received it by then.
	lead = 50 * time.Millisecond
)

// partEvent is a message of a part, or a change of its state.
type partEvent struct {
	participant int
	fate        cause
	kind        kind          // sent: the kind of the message
	payload     []byte        // sent, joined: its content
	err         error         // gone, exited, refused: why
	at          int64         // sent: when it arrived, by the clock
	conn        net.Conn      // joined: the connection
	in          *bufio.Reader // and its reader
}

// cause is the kind of an event of a part.
type cause uint8

const (
	sent    cause = iota // it has sent a message
	joined               // it was started by hand and has connected
	gone                 // its connection has ended
	exited               // its process has ended
	refused              // its report is wrong
)

// conductor conducts the parts of one run.
type conductor struct {
	plan         *Plan
	ports        []int // how many each node of the fabric has
	participants []*participant
	control      string           // path of the socket for parts that are started by hand
	between      []int            // wires between hosts
	fabric       *drive.Setup     // that the parts make up
	sink         trace.Sink       // receives the events of all nodes, merged by time
	watch        *deadlock.Merged // nil: no search for deadlock, or nothing else can happen

	news  chan partEvent
	epoch int64                     // model time 0, by the clock; 0: not yet
	began time.Time                 // the same as a time of day
	cpu   float64                   // processor time of this process until then, in seconds
	ahead atomic.Pointer[promising] // nil: not yet, or no part sends reports through a socket
	quit  chan struct{}
	board *lookahead.Board // nil: there is none
	holding
	passing chan struct{} // full while a goroutine reports that the clock is held

	attended int64         // when it last checked which parts are silent
	silent   []pace.Silent // the parts that were silent
	until    unit.Time     // the last result of merge
	over     unit.Time     // since then nothing else can happen; 0: it can

	secret   wire.Secret
	children host.ChildGuard

	memory   *memory // of the board; nil: there is none
	warnings []string
	steps    int64 // on the board, at the last check
	still    int64 // since when they have not changed, by the conductor's clock
	givenUp  int   // how many times datagrams were given up

	// Tests of simulated processes replace these.
	clock func() int64
	spawn func(*participant) (net.Conn, process, error)
	bell  func(b *lookahead.Board) lookahead.Waker
}

// run starts the parts, conducts them to the end of the run and combines their reports. When ctx is
// done, or a part dies, it ends the others and keeps the reports so far. It leaves no process that
// it has started, except those that the kernel does not end.
func (r *conductor) run(ctx context.Context, f *drive.Setup, sink trace.Sink) (Outcome, error) {
	r.fabric, r.sink, r.secret, r.children = f, sink, newSecret(), host.NewChildGuard()
	r.news, r.quit, r.passing = make(chan partEvent, 64), make(chan struct{}), make(chan struct{}, 1)
	if r.spawn == nil {
		r.clock, r.spawn, r.bell = pace.Monotonic(), r.spawnChild, newFutexBell
	}
	if f.Watch != nil {
		r.watch = deadlock.NewMerged(f.Watch, f.Wires, f.End, f.LastChange())
	}
	defer r.children.Close()
	defer close(r.quit)
	err := r.layBoard()
	if err == nil {
		err = r.begin(ctx)
	}
	if err == nil {
		err = r.play(ctx)
	}
	compared := err == nil && r.readClocks(ctx) == nil // otherwise the drift is unknown
	warnings := r.stopParts()
	out := r.outcome(compared, err == nil)
	out.Warnings = append(append(out.Warnings, r.warnings...), warnings...)
	return out, err
}

// missed reports that a capture lacks frames.
func (r *conductor) missed(frames int64) {
	if frames > 0 && r.plan.Missed != nil {
		r.plan.Missed(frames)
	}
}

// wires returns the number of wires of the fabric.
func (r *conductor) wires() int { return len(r.plan.Fabric.Wires) }

// wall returns the time on the clock for a model time.
func (r *conductor) wall(t unit.Time) int64 {
	return r.epoch + r.clockHold().Held() + drive.Dilate(t, r.plan.Fabric.Scenario.Wall.Dilation)
}

// gather starts the parts and waits until all are ready.
func (r *conductor) gather(ctx context.Context) error {
	byHand := []*File{}
	for _, s := range r.participants {
		if s.byHand {
			byHand = append(byHand, s.File)
		}
	}
	if len(byHand) > 0 {
		l, err := ListenAt(r.control)
		if err != nil {
			return fmt.Errorf("the conductor's socket: %w%s", err, inTheWay(err))
		}
		defer l.Close()
		go r.admit(l)
	}
	for _, s := range r.participants {
		if s.away != nil {
			r.listen(s, s.away, s.away.In)
		} else if !s.byHand {
			if err := r.start(s); err != nil {
				return err
			}
		}
	}
	if len(byHand) > 0 && r.plan.Waiting != nil {
		r.plan.Waiting(byHand)
	}
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	for {
		var missing []string
		for _, s := range r.participants {
			if !s.ready {
				missing = append(missing, s.Part)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			if len(byHand) > 0 {
				timeout.Reset(JoinTimeout)
				continue
			}
			return fmt.Errorf("after %v these processes are not ready: %s", startTimeout, strings.Join(missing, ", "))
		case n := <-r.news:
			if err := r.receive(n); err != nil {
				return err
			}
		}
	}
}

// begin sends the epoch to all parts.
func (r *conductor) begin(ctx context.Context) error {
	if err := r.gather(ctx); err != nil {
		return err
	}
	r.agree()
	if r.board == nil {
		if err := r.connect(); err != nil {
			return err
		}
	}
	if err := r.readClocks(ctx); err != nil {
		return err
	}
	r.noteClocks()
	ahead := lead
	for _, s := range r.participants {
		if s.known != nil {
			ahead = max(ahead, lead+4*s.known.RoundTrip)
		}
	}
	r.cpu = host.OwnCPU()
	r.began, r.epoch = time.Now().Add(ahead), r.clock()+ahead.Nanoseconds()
	if r.plan.Epoch != nil {
		r.plan.Epoch(r.began)
	}
	for _, s := range r.participants {
		if err := r.sendEpoch(s); err != nil {
			return r.death(s, err)
		}
	}
	return nil
}

// sendEpoch sends a part its epoch, at which it begins.
func (r *conductor) sendEpoch(s *participant) error {
	if r.board == nil {
		r.passing <- struct{}{}
		s.hold = r.sender(s, hold)
		<-r.passing
	}
	epoch := r.epoch
	if s.known != nil {
		epoch += s.known.Offset.Nanoseconds()
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(epoch))
	b = binary.BigEndian.AppendUint64(b, r.secret[0])
	b = binary.BigEndian.AppendUint64(b, r.secret[1])
	b = append(b, flag(r.board != nil))
	return write(s.conn, begin, append(b, holdBytes(r.clockHold().Held())...))
}

// pass passes an event on, unless the run is over.
func (r *conductor) pass(n partEvent) {
	select {
	case r.news <- n:
	case <-r.quit:
	}
}

// play receives messages of the parts until all have sent their reports.
func (r *conductor) play(ctx context.Context) error {
	counting := false
	attend := time.NewTicker(attendEvery)
	defer attend.Stop()
	r.attended = r.clock()
	for {
		all, reported := true, true
		for _, s := range r.participants {
			all = all && s.ended
			reported = reported && s.report != nil
		}
		if reported {
			return nil
		}
		if all && !counting {
			counting = true
			for _, s := range r.participants {
				if err := write(s.conn, count, nil); err != nil {
					return r.death(s, err)
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-r.news:
			if err := r.receive(n); err != nil {
				return err
			}
			if err := r.lookOut(); err != nil {
				return err
			}
			r.until = r.merge(false, false)
		case <-attend.C:
			r.attend()
			if err := r.watchProgress(); err != nil {
				return err
			}
		}
		if v := r.fabric.Visitor; v != nil && r.until != unit.Never && v.Wanted() {
			v.Visit(&drive.Visit{Now: r.until, Wall: r.clock() - r.epoch, Silent: r.silent, Watch: r.fabric.Watch})
		}
	}
}

// note records that the process of a part, or its connection, has ended, and returns the part.
func (r *conductor) note(n partEvent) *participant {
	s := r.participants[n.participant]
	switch n.fate {
	case exited:
		s.command, s.state = nil, "exit status 0"
		if n.err != nil {
			s.state = n.err.Error()
		}
	case gone:
		s.gone = true
	}
	return s
}

// receive handles an event. An error ends the run.
func (r *conductor) receive(n partEvent) error {
	s := r.note(n)
	switch n.fate {
	case gone:
		if s.report == nil {
			return r.death(s, n.err)
		}
		return nil
	case exited: // its last messages may still arrive, so the end of its connection decides
		return nil
	case refused:
		return n.err
	case joined:
		r.listen(s, n.conn, n.in)
	}
	if n.kind == answer && s.away != nil {
		if err := s.answered(n.payload, n.at); err != nil {
			return fmt.Errorf("%s: %w", s.Part, err)
		}
		return nil
	}
	if err := r.take(s, n.kind, n.payload); err != nil {
		return fmt.Errorf("%s: %w", s.Part, err)
	}
	return nil
}

// take handles a message of a part. Its process may be of another build, or faulty, so an
// unexpected message is an error.
func (r *conductor) take(s *participant, k kind, payload []byte) error {
	switch k {
	case hello:
		var hi greeting
		if err := json.Unmarshal(payload, &hi); err != nil || hi.Part != s.Part || hi.Run != s.Run || hi.Fabemu != s.Fabemu {
			return fmt.Errorf("the process that joined is part %q of run %08x, version %s: expected run %08x, version %s", hi.Part, hi.Run, hi.Fabemu, s.Run, s.Fabemu)
		}
		s.ready, s.boardless = true, hi.Boardless
	case events:
		now, counts, list, err := parseEvents(s.queue, payload, r.ports, r.wires())
		if err != nil {
			return err
		}
		s.enqueue(now, counts, list)
		select {
		case s.spare <- payload:
		default:
		}
	case waits:
		w, err := parseWaits(payload, r.ports)
		if err != nil {
			return err
		}
		if n := len(s.waits); n > 0 && s.waits[n-1].At >= w.At {
			return fmt.Errorf("it reports the frames that wait at %v after those at %v", w.At, s.waits[n-1].At)
		}
		s.waits = append(s.waits, w)
	case ended:
		s.ended, s.now = true, unit.Never
	case done:
		report, err := parseReport(payload, r.wires())
		if err != nil {
			return fmt.Errorf("its report: %w", err)
		}
		s.report = report
		if report.Err != "" {
			return errors.New(report.Err)
		}
		if report.Signalled {
			return &Died{Part: s.Part, State: "a signal has ended it there"}
		}
		s.ended = true
	default:
		return fmt.Errorf("a message of unknown kind %q: is it a process of another version?", byte(k))
	}
	return nil
}

// death returns the error of a part that has ended too early. It waits a moment for the part's
// process to exit, if the conductor started it.
func (r *conductor) death(s *participant, cause error) error {
	r.await(func() bool { return s.command == nil }, func(*participant, partEvent) {})
	d := &Died{Part: s.Part, State: s.state}
	if d.State == "" {
		d.State = fmt.Sprintf("its connection is lost (%v)", cause)
	}
	d.Log = tail(s.log)
	return d
}

// await hands events to take until over reports true, for at most endTimeout. Time in which the
// conductor does not run does not count, because on a busy machine its parts end long before the
// conductor runs and notices.
func (r *conductor) await(over func() bool, take func(*participant, partEvent)) {
	tick := time.NewTicker(attendEvery)
	defer tick.Stop()
	for left := endTimeout; left > 0 && !over(); {
		select {
		case n := <-r.news:
			take(r.note(n), n)
		case <-tick.C:
			left -= attendEvery
		}
	}
}

// stopParts ends the parts that still run, and kills those that do not end. It keeps the reports
// that arrive meanwhile, and returns a warning for each killed process that the kernel has not
// ended.
func (r *conductor) stopParts() (warnings []string) {
	for _, s := range r.participants {
		if s.conn != nil && s.report == nil {
			s.conn.SetWriteDeadline(time.Now().Add(endTimeout))
			write(s.conn, quit, nil) // it fails if the part has ended already
		}
	}
	over := func() bool {
		return !slices.ContainsFunc(r.participants, func(s *participant) bool {
			return s.command != nil || s.away != nil && s.conn != nil && s.report == nil && !s.gone
		})
	}
	take := func(s *participant, n partEvent) {
		if n.fate == sent && (n.kind == events || n.kind == done) {
			_ = r.take(s, n.kind, n.payload) // the run is over, so a wrong message is ignored
		}
	}
	r.await(over, take)
	for _, s := range r.participants {
		if s.command != nil {
			s.command.Kill()
		}
		s.gone = s.gone || s.away != nil // it cannot be killed from here, and ends by itself
	}
	r.await(over, take)
	for _, s := range r.participants {
		if s.command != nil {
			warnings = append(warnings, fmt.Sprintf("the process of %s was killed, and the kernel has not ended it yet", s.Part))
		}
		if s.conn != nil {
			s.conn.Close()
		}
	}
	return warnings
}
