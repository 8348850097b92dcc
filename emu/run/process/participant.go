package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/files"
	"fabemu/emu/host"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/pace"
	"fabemu/wire/unit"
)

// participant is the conductor's side of one part of a run.
type participant struct {
	*File
	index   int
	nodes   []int       // of the part, by their index in the fabric
	path    string      // where the file is written
	daemon  string      // the command of this program that runs it
	sockets []*os.File  // handed over, as file descriptors from firstSocket on
	byHand  bool        // a user starts it, the conductor waits for it
	away    *fleet.Peer // it is on another host, and this is the connection to it

	conn    net.Conn
	command process // nil: no process runs
	log     string

	ready, ended, gone bool
	boardless          string // why it cannot use the board
	report             *Report
	state              string    // how its process ended
	now                unit.Time // no earlier event will be reported
	counts             pace.Counts
	queue              []entry
	spare              chan []byte      // memory of messages that were taken in
	waits              []deadlock.Waits // by instant

	hold func(b []byte)   // sends how long the clock is held; nil: not yet
	next map[int32]uint32 // number of the next event of each node
	base map[int32]uint32 // added to the numbers from its process, because events were inserted here

	attention

	asked   bool            // for its clock, and it has not answered
	reading reading         // the best since
	known   *pace.HostClock // of a part on another host, once the run has begun
}

// firstSocket is the file descriptor of the first socket of a link in the process of a part: 3 is
// its end of the connection to the conductor.
const firstSocket = 4

// add adds a participant for a part.
func (r *conductor) add(s *participant) {
	s.index, s.next, s.base = len(r.participants), make(map[int32]uint32), make(map[int32]uint32)
	s.spare = make(chan []byte, 4)
	r.participants = append(r.participants, s)
}

// process is a process that the conductor has started.
type process interface {
	Kill() error
	Wait() error
}

// child is a process of this host.
type child struct{ *exec.Cmd }

// Kill kills the process, whatever it is doing.
func (c child) Kill() error { return c.Process.Kill() }

// start starts a part.
func (r *conductor) start(s *participant) error {
	conn, p, err := r.spawn(s)
	if err != nil {
		return err
	}
	s.command = p
	for _, f := range s.sockets { // while an os.File is open, the poller of Go wakes up for each datagram
		f.Close()
	}
	r.listen(s, conn, bufio.NewReader(conn))
	go func() {
		err := p.Wait()
		r.pass(partEvent{participant: s.index, fate: exited, err: err})
	}()
	return nil
}

// spawnChild starts the process of a part on this host, and returns the connection to it.
func (r *conductor) spawnChild(s *participant) (net.Conn, process, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("a socket pair for %s: %w", s.Part, err)
	}
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, nil, err
	}
	s.log = strings.TrimSuffix(s.path, filepath.Ext(s.path)) + ".log"
	log, err := files.Create(s.log)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	defer log.Close()
	c := exec.Command("/proc/self/exe", s.daemon, s.path, "--control-fd", "3")
	c.Args[0] = os.Args[0] // for lists of processes
	c.Stdout, c.Stderr = log, log
	c.ExtraFiles = append([]*os.File{theirs}, s.sockets...)
	if r.memory != nil {
		c.ExtraFiles = append(c.ExtraFiles, r.memory.file)
	}
	host.OwnGroup(c)
	if err := r.children.Start(c); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("start the process of %s: %w", s.Part, err)
	}
	if r.plan.Hooks.Started != nil {
		r.plan.Hooks.Started(s.Part, c.Process.Pid)
	}
	return conn, child{c}, nil
}

// admit accepts the parts that are started by hand.
func (r *conductor) admit(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer errs.Catch(func(error) { conn.Close() }) // and the part is missed
			in := bufio.NewReader(conn)
			conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			k, b, err := read(in, nil)
			conn.SetReadDeadline(time.Time{})
			var hi greeting
			if err != nil || k != hello || json.Unmarshal(b, &hi) != nil {
				conn.Close()
				return
			}
			for _, s := range r.participants {
				if s.byHand && s.Part == hi.Part {
					r.pass(partEvent{participant: s.index, fate: joined, kind: hello, payload: b, conn: conn, in: in})
					return
				}
			}
			conn.Close()
		}()
	}
}

// listen receives the messages of a part.
func (r *conductor) listen(s *participant, conn net.Conn, in *bufio.Reader) {
	s.conn = conn
	go func() {
		defer errs.Catch(func(err error) { r.pass(partEvent{participant: s.index, fate: refused, err: err}) })
		for {
			var spare []byte
			select {
			case spare = <-s.spare:
			default:
			}
			k, b, err := read(in, spare)
			if err != nil {
				r.pass(partEvent{participant: s.index, fate: gone, err: err})
				return
			}
			at := r.clock()
			s.telling.Store(true)
			s.heard.Add(1)
			switch {
			case k == state:
				if err := r.state(s, b); err != nil {
					r.pass(partEvent{participant: s.index, fate: refused, err: err})
				}
			case k == hold:
				if err := r.hold(s, b); err != nil {
					r.pass(partEvent{participant: s.index, fate: refused, err: fmt.Errorf("%s: %w", s.Part, err)})
				}
			case k != alive:
				r.pass(partEvent{participant: s.index, kind: k, payload: b, at: at})
			}
			s.telling.Store(false)
		}
	}()
}

// enqueue makes list the queue of a part, to which events were appended. The numbers of a node's
// events continue after those that were inserted here.
func (s *participant) enqueue(now unit.Time, c pace.Counts, list []entry) {
	for i := len(s.queue); i < len(list); i++ {
		e := &list[i]
		if e.frame != nil {
			continue
		}
		e.Seq += s.base[e.Node]
		s.next[e.Node] = e.Seq + 1
	}
	s.queue = list
	s.now, s.counts = max(s.now, now), c
}

// tail returns the last lines of a file, or nothing.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || path == "" {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	const most = 12
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// A process that is stopped (SIGSTOP, a debugger) or gets no processor sends nothing, not even an
// alive message. A part that only waits for another part does send it.
const (
	// aliveEvery is how often a part that sends nothing else sends an alive message.
	aliveEvery = 200 * time.Millisecond
	// attendEvery is how often the conductor checks which parts have sent a message. A part that
	// has sent none for silentAfter is silent.
	attendEvery = 100 * time.Millisecond
	silentAfter = time.Second
)

// attention is the conductor's record of when a part has sent a message.
type attention struct {
	heard   atomic.Int64 // messages received
	telling atomic.Bool  // a message waits for the conductor

	before int64         // the same when the conductor last looked
	quiet  time.Duration // since the last message
	silent time.Duration // sum of the times longer than silentAfter
}

// attend checks which parts are silent. Time in which the conductor itself did not run
// does not count.
func (r *conductor) attend() {
	now := r.clock()
	passed := min(time.Duration(now-r.attended), 2*attendEvery)
	r.attended, r.silent = now, nil
	for _, s := range r.participants {
		n := s.heard.Load()
		if n != s.before || s.telling.Load() || !s.ready || s.report != nil {
			s.before, s.quiet = n, 0
			continue
		}
		s.quiet += passed
		if s.quiet < silentAfter {
			continue
		}
		if s.quiet-passed < silentAfter {
			s.silent += s.quiet - passed
		}
		s.silent += passed
		r.silent = append(r.silent, pace.Silent{Part: s.Part, For: s.quiet})
	}
	r.fabric.Progress.Miss(r.silent)
}

// silences returns the silent parts, and how long each was silent.
func (r *conductor) silences() (list []pace.Silent) {
	for _, s := range r.participants {
		if s.silent > 0 {
			list = append(list, pace.Silent{Part: s.Part, For: s.silent})
		}
	}
	return list
}
