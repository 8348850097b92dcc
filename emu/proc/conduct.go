package proc

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"fabemu/emu/drive"
	"fabemu/emu/hosts"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Seat is one part of a run, as the conductor starts it.
type Seat struct {
	File     *File
	Machines []int       // of the part, in the fabric
	Path     string      // where File is written
	Command  []string    // program and arguments that begin it; Path and the flag of the socket are added
	Sockets  []*os.File  // handed over, as file descriptors from FirstSocket on
	ByHand   bool        // a user starts it, the conductor waits for it
	Away     *hosts.Peer // it is on another host, and this is the connection to it
}

// FirstSocket is the file descriptor of the first of Seat.Sockets in its process: 3 is
// its end of the talk with the conductor, 4 its status socket.
const FirstSocket = 5

// Conductor runs a fabric whose machines are in processes of their own.
type Conductor struct {
	Seats    []Seat
	Ports    []int                      // of each machine of the fabric, how many
	Wires    int                        // of the fabric
	Dilation int64                      // wall time per model time; for Restarts
	Restarts []Restart                  // in the order of their instants
	Control  string                     // path of the socket for parts that are started by hand
	Sink     trace.Sink                 // is told what all machines report, merged by time
	Between  []int                      // wires between hosts
	Sync     Sync                       // how the order of events is kept; default: Late
	Hold     bool                       // Sink is told at the end, so that no event comes late
	Progress *drive.Progress            // is told how far the run is
	Fabric   *drive.Fabric              // of which all parts are, whose Watch looks for deadlock, and whose Tap is told of frames; may be nil
	Missed   func(frames int64)         // is told of frames of which the parts could not tell; may be nil
	Epoch    func(began time.Time)      // is told when model time 0 is; may be nil
	Visitor  drive.Visitor              // looks in on what was reported; may be nil
	Waiting  func(parts []*File)        // is told which parts are to be started by hand; may be nil
	Started  func(part string, pid int) // is told of each process that was started; may be nil

	// Tests of simulated processes put these in place of drive.Monotonic and spawnChild.
	clock func() int64
	spawn func(*conduct, *seat) (net.Conn, process, error)
}

// Restart kills the process of a part at an instant of model time and starts another
// one for it, which begins at that instant.
type Restart struct {
	Seat int
	At   unit.Time
}

// Outcome is what came of a run.
type Outcome struct {
	Began  time.Time     // when model time 0 was; zero if the run has not come so far
	Timing *drive.Timing // of all parts; nil if no part has measured anything
	Now    unit.Time     // in processes: the model time up to which all have reported

	Clocks  []Clock // of the parts on other hosts
	Between []int   // which wires lead from one host to another

	ForeignCPUs float64 // processors that others used, as a mean; NaN: not known
	CPUSeconds  float64 // in this process: its processor time
	GCCycles    int64   // in this process: of the garbage collector
	Warnings    []string
}

// Died is the error of a run of which a part has ended by itself.
type Died struct {
	Part  string
	State string // how it ended: "exit status 2", "signal: killed"
	Log   string // the end of what it wrote
}

func (d *Died) Error() string {
	s := fmt.Sprintf("the process of %s has ended: %s", d.Part, d.State)
	if d.Log != "" {
		s += "; it wrote last:\n" + d.Log
	}
	return s
}

const (
	// startTimeout is how long parts that the conductor has started may take until
	// they are ready, and endTimeout how long until they have ended when told to.
	startTimeout = 30 * time.Second
	endTimeout   = 3 * time.Second
	// lead is how far ahead the epoch is: all parts have heard of it by then.
	lead = 50 * time.Millisecond
)

// news is something that a part has said, or that has become of it.
type news struct {
	seat    int
	fate    fate
	kind    kind          // said: of the message
	payload []byte        // said, joined: its content
	err     error         // gone, exited, refused: why
	talk    int           // which process of the seat it is about
	at      int64         // said: when it came, by the clock
	conn    net.Conn      // joined: the connection
	in      *bufio.Reader // and what reads it
}

// fate is what becomes of a part.
type fate uint8

const (
	said    fate = iota // it has sent a message
	joined              // it was started by hand and is here
	gone                // its talk is over
	exited              // its process is
	refused             // what it has stated cannot be
)

// conduct is one run.
type conduct struct {
	*Conductor
	seats []*seat
	news  chan news
	epoch int64                     // model time 0, by the clock; 0: not yet
	began time.Time                 // the same as a time of day
	next  int                       // of Restarts
	exact atomic.Pointer[promising] // nil: not yet, or the order is not exact
	quit  chan struct{}

	attended int64          // when it last looked which parts are silent
	silent   []drive.Silent // which were
	until    unit.Time      // what merge last returned

	lookout *drive.Lookout // nil: nobody looks for deadlock, or nothing else can happen
	over    unit.Time      // since then; 0: it can

	secret wire.Secret
	cradle Cradle
}

// Run starts the parts, conducts them to the end of the run and puts together what
// they report. When ctx is done, or a part dies, the others are told to end, and
// what was reported until then stands. No process that it has started is left.
func (c *Conductor) Run(ctx context.Context) (Outcome, error) {
	if c.spawn == nil {
		c.clock, c.spawn = drive.Monotonic(), spawnChild
	}
	r := &conduct{Conductor: c, news: make(chan news, 64), quit: make(chan struct{}), cradle: NewCradle(), secret: newSecret()}
	defer r.cradle.Close()
	defer close(r.quit)
	defer r.closeStatus()
	for i := range c.Seats {
		r.seats = append(r.seats, &seat{Seat: &c.Seats[i], index: i, told: make(map[int32]uint32), base: make(map[int32]uint32)})
	}
	if c.Fabric != nil && c.Fabric.Watch != nil {
		r.lookout = drive.NewLookout(c.Fabric)
	}
	err := r.begin(ctx)
	if err == nil {
		err = r.play(ctx)
	}
	compared := err == nil && r.readClocks(ctx) == nil // without, the drift is not known
	err = errors.Join(err, r.dismiss())
	out := Outcome{Began: r.began, Now: r.merge(true), Clocks: r.clocks(compared), Between: r.Between}
	for _, s := range r.seats {
		if s.report != nil {
			for _, w := range s.report.Warnings {
				out.Warnings = append(out.Warnings, s.File.Part+": "+w)
			}
		}
		if s.report == nil || s.report.Timing == nil {
			continue
		}
		if out.Timing == nil {
			out.Timing = s.report.Timing
		} else {
			out.Timing.Merge(s.report.Timing)
		}
	}
	if out.Timing != nil && err == nil {
		out.Timing.Lost = max(out.Timing.Lost, r.missing())
	}
	for _, s := range r.seats {
		if s.report != nil && s.report.Missed > 0 && r.Missed != nil {
			r.Missed(s.report.Missed)
		}
	}
	if out.Timing != nil {
		out.Timing.Silent = r.silences()
	}
	return out, err
}

// begin starts the parts and waits until all are ready.
func (r *conduct) begin(ctx context.Context) error {
	byHand := []*File{}
	for _, s := range r.seats {
		if s.ByHand {
			byHand = append(byHand, s.File)
		}
	}
	if len(byHand) > 0 {
		l, err := listenAt(r.Control)
		if err != nil {
			return fmt.Errorf("the conductor's socket: %w%s", err, inTheWay(err))
		}
		defer l.Close()
		go r.admit(l)
	}
	for _, s := range r.seats {
		if s.Away != nil {
			r.listen(s, s.Away, s.Away.In)
		} else if !s.ByHand {
			if err := r.start(s); err != nil {
				return err
			}
		}
	}
	if len(byHand) > 0 && r.Waiting != nil {
		r.Waiting(byHand)
	}
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	for {
		var missing []string
		for _, s := range r.seats {
			if !s.ready {
				missing = append(missing, s.File.Part)
			}
		}
		if len(missing) == 0 {
			break
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
			if err := r.hear(n); err != nil {
				return err
			}
		}
	}
	if r.Sync == Exact {
		if err := r.convene(); err != nil {
			return err
		}
	}
	if err := r.readClocks(ctx); err != nil {
		return err
	}
	r.noteClocks()
	ahead := lead
	for _, s := range r.seats {
		if s.known != nil {
			ahead = max(ahead, lead+4*s.known.RoundTrip)
		}
	}
	r.began, r.epoch = time.Now().Add(ahead), r.clock()+ahead.Nanoseconds()
	if r.Epoch != nil {
		r.Epoch(r.began)
	}
	for _, s := range r.seats {
		if err := r.tellEpoch(s); err != nil {
			return r.death(s, err)
		}
	}
	return nil
}

// tellEpoch lets a part begin.
func (r *conduct) tellEpoch(s *seat) error {
	epoch := r.epoch
	if s.known != nil {
		epoch += s.known.Offset.Nanoseconds()
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(epoch))
	b = binary.BigEndian.AppendUint64(b, r.secret[0])
	return write(s.conn, begin, binary.BigEndian.AppendUint64(b, r.secret[1]))
}

// restart kills the process of a part, and starts another one.
func (r *conduct) restart(x Restart) error {
	s := r.seats[x.Seat]
	if s.ByHand {
		return fmt.Errorf("%s is to be restarted, but was started by hand: the run cannot kill it", s.File.Part)
	}
	old := s.command
	if old == nil {
		return nil // it has died; who hears of it says so
	}
	s.talk++ // what the one before still says is not heard any more
	s.restarted, s.ready, s.waits = true, false, nil
	if err := old.Kill(); err != nil {
		return fmt.Errorf("restart the process of %s: %w", s.File.Part, err)
	}
	s.conn.Close()
	for m, n := range s.told {
		s.base[m] = n
	}
	s.File.FromPs, s.File.Incarnation = int64(x.At), s.File.Incarnation+1
	if err := s.File.Write(s.Path); err != nil {
		return err
	}
	return r.start(s)
}

// untilRestart returns how long it is until the next restart.
func (r *conduct) untilRestart() time.Duration {
	if r.next == len(r.Restarts) {
		return 1<<62 - 1
	}
	t := int64(r.Restarts[r.next].At)
	return time.Duration(r.epoch + t/1000*r.Dilation + t%1000*r.Dilation/1000 - r.clock())
}

// tell passes news on, unless the run is over.
func (r *conduct) tell(n news) {
	select {
	case r.news <- n:
	case <-r.quit:
	}
}

// play hears the parts until all have measured what they can.
func (r *conduct) play(ctx context.Context) error {
	counting := false
	attend := time.NewTicker(attendEvery)
	defer attend.Stop()
	r.attended = r.clock()
	for {
		all, reported := true, true
		for _, s := range r.seats {
			all = all && s.ended
			reported = reported && s.report != nil
		}
		if reported {
			return nil
		}
		if all && !counting {
			counting = true
			for _, s := range r.seats {
				if err := write(s.conn, count, nil); err != nil {
					return r.death(s, err)
				}
			}
		}
		restart := time.NewTimer(r.untilRestart())
		select {
		case <-ctx.Done():
			restart.Stop()
			return ctx.Err()
		case <-restart.C:
			r.next++
			if err := r.restart(r.Restarts[r.next-1]); err != nil {
				return err
			}
		case n := <-r.news:
			restart.Stop()
			if err := r.hear(n); err != nil {
				return err
			}
			if err := r.watch(); err != nil {
				return err
			}
			r.until = r.merge(false)
		case <-attend.C:
			restart.Stop()
			r.attend()
			if err := r.oversee(); err != nil {
				return err
			}
		}
		if r.Visitor != nil && r.until != unit.Never && r.Visitor.Wanted() {
			r.Visitor.Visit(&drive.Visit{Now: r.until, Wall: r.clock() - r.epoch, Silent: r.silent, Watch: r.watched()})
		}
	}
}

// hear takes news in. The error ends the run.
func (r *conduct) hear(n news) error {
	s := r.seats[n.seat]
	if n.talk != s.talk {
		return nil // of a process that was killed on purpose
	}
	switch n.fate {
	case gone:
		s.gone = true
		if s.report == nil {
			return r.death(s, n.err)
		}
		return nil
	case exited: // what it has said may not be heard yet: the end of its talk decides
		s.command, s.state = nil, stateOf(n.err)
		return nil
	case refused:
		return n.err
	case joined:
		r.listen(s, n.conn, n.in)
	}
	if n.kind == answer && s.Away != nil {
		if err := s.answered(n.payload, n.at); err != nil {
			return fmt.Errorf("%s: %w", s.File.Part, err)
		}
		return nil
	}
	if err := r.heed(s, n.kind, n.payload); err != nil {
		return fmt.Errorf("%s: %w", s.File.Part, err)
	}
	if n.kind == hello && r.epoch != 0 { // one that was started anew
		if err := r.tellEpoch(s); err != nil {
			return r.death(s, err)
		}
	}
	return nil
}

// heed takes in a message of a part. Its process may be of another build, or have gone
// wrong: what does not fit is an error.
func (r *conduct) heed(s *seat, k kind, payload []byte) error {
	switch k {
	case hello:
		var hi greeting
		if err := json.Unmarshal(payload, &hi); err != nil || hi.Part != s.File.Part || hi.Run != s.File.Run || hi.Fabemu != s.File.Fabemu {
			return fmt.Errorf("the process that has joined is of part %q, run %08x, version %s; wanted run %08x, version %s", hi.Part, hi.Run, hi.Fabemu, s.File.Run, s.File.Fabemu)
		}
		s.ready = true
	case events:
		now, late, list, err := parseEvents(payload, r.Ports, r.Wires)
		if err != nil {
			return err
		}
		s.hear(now, late, list)
	case waits:
		w, err := parseWaits(payload, r.Ports)
		if err != nil {
			return err
		}
		if n := len(s.waits); n > 0 && s.waits[n-1].At >= w.At {
			return fmt.Errorf("it tells of %v what waits, after %v", w.At, s.waits[n-1].At)
		}
		s.waits = append(s.waits, w)
	case ended:
		s.ended, s.now = true, unit.Never
	case done:
		report, err := parseReport(payload, r.Wires)
		if err != nil {
			return fmt.Errorf("its report: %w", err)
		}
		s.report = report
		if report.Err != "" {
			return errors.New(report.Err)
		}
		if report.Told {
			return &Died{Part: s.File.Part, State: "it was told to end there"}
		}
		s.ended = true
	default:
		return fmt.Errorf("a message of unknown kind %q: is it a process of another version?", byte(k))
	}
	return nil
}

// death returns the error of a part that has ended before it should. Its process,
// if it is ours, has a moment to do so.
func (r *conduct) death(s *seat, cause error) error {
	for limit := time.After(endTimeout); s.command != nil; {
		select {
		case n := <-r.news:
			if n.fate == exited && n.talk == r.seats[n.seat].talk {
				r.seats[n.seat].command, r.seats[n.seat].state = nil, stateOf(n.err)
			}
			continue
		case <-limit:
		}
		break
	}
	d := &Died{Part: s.File.Part, State: s.state}
	if d.State == "" {
		d.State = fmt.Sprintf("its connection is lost (%v)", cause)
	}
	d.Log = tail(s.log)
	return d
}

// dismiss tells the parts that still run to end, and sees to it that they do.
func (r *conduct) dismiss() error {
	for _, s := range r.seats {
		if s.conn != nil && s.report == nil {
			s.conn.SetWriteDeadline(time.Now().Add(endTimeout))
			write(s.conn, quit, nil) // one that is gone has ended already
		}
	}
	running := func() (n int) {
		for _, s := range r.seats {
			if s.command != nil || s.Away != nil && s.conn != nil && s.report == nil && !s.gone {
				n++
			}
		}
		return n
	}
	killed := false
	for limit := time.After(endTimeout); running() > 0; {
		select {
		case n := <-r.news:
			s := r.seats[n.seat]
			if n.talk != s.talk {
				continue
			}
			switch {
			case n.fate == exited:
				s.command, s.state = nil, stateOf(n.err)
			case n.fate == gone:
				s.gone = true
			case n.fate == said && (n.kind == events || n.kind == done):
				_ = r.heed(s, n.kind, n.payload) // the run is over: what is wrong is left out
			}
		case <-limit:
			if killed {
				return fmt.Errorf("%d processes do not end although they were killed", running())
			}
			killed = true
			for _, s := range r.seats {
				if s.command != nil {
					s.command.Kill()
				}
				s.gone = s.gone || s.Away != nil // it is out of reach, and ends by itself
			}
			limit = time.After(endTimeout)
		}
	}
	for _, s := range r.seats {
		if s.conn != nil {
			s.conn.Close()
		}
	}
	return nil
}
