package proc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fabemu/emu/crash"
	"fabemu/emu/deadlock"
	"fabemu/emu/files"
	"fabemu/emu/hosts"
	"fabemu/wire/unit"
)

// seat is one part of a run, as the conductor starts it and knows it.
type seat struct {
	*File
	index    int
	machines []int       // of the part, in the fabric
	path     string      // where the file is written
	daemon   string      // the command of this program that runs it
	sockets  []*os.File  // handed over, as file descriptors from firstSocket on
	byHand   bool        // a user starts it, the conductor waits for it
	away     *hosts.Peer // it is on another host, and this is the connection to it

	conn    net.Conn
	command process // nil: none runs
	log     string
	status  *listener // its status socket

	ready, ended, gone bool
	boardless          string // why it cannot use the board
	report             *Report
	state              string    // how its process has ended
	now                unit.Time // nothing earlier will be reported any more
	late               int64
	queue              []told
	waits              []deadlock.Waits // by their instants

	restarted bool             // at least once: what its processes before had to report is lost
	told      map[int32]uint32 // number of the next event of each machine
	base      map[int32]uint32 // what is added to those of the process that runs now
	talk      int              // tells the connection of this process from those of the ones before

	attention

	asked   bool    // what its clock shows, and it has not answered
	reading reading // the best since
	known   *Clock  // of a part on another host, once the run has begun
}

// firstSocket is the file descriptor of the first of the sockets in the process of a part: 3 is
// its end of the talk with the conductor, 4 its status socket.
const firstSocket = 5

// add gives a part a seat.
func (r *conductor) add(s *seat) {
	s.index, s.told, s.base = len(r.seats), make(map[int32]uint32), make(map[int32]uint32)
	r.seats = append(r.seats, s)
}

// process is one that the conductor has started.
type process interface {
	Kill() error
	Wait() error
}

// child is a process of this host.
type child struct{ *exec.Cmd }

// Kill kills the process, whatever it does.
func (c child) Kill() error { return c.Process.Kill() }

// start starts a part.
func (r *conductor) start(s *seat) error {
	conn, p, err := r.spawn(s)
	if err != nil {
		return err
	}
	s.command = p
	r.listen(s, conn, bufio.NewReader(conn))
	talk := s.talk
	go func() {
		err := p.Wait()
		r.tell(news{seat: s.index, fate: exited, err: err, talk: talk})
	}()
	return nil
}

// spawnChild starts the process of a part on this host, and returns the talk with it.
func (r *conductor) spawnChild(s *seat) (net.Conn, process, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("a socket pair for %s: %w", s.Part, err)
	}
	defer theirs.Close()
	status, err := s.statusSocket()
	if err != nil {
		ours.Close()
		return nil, nil, fmt.Errorf("status socket: %w%s", err, inTheWay(err))
	}
	defer status.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, nil, err
	}
	s.log = strings.TrimSuffix(s.path, filepath.Ext(s.path)) + ".log"
	log, err := openLog(s.log, s.restarted)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	defer log.Close()
	c := exec.Command("/proc/self/exe", s.daemon, s.path, "--control-fd", "3")
	c.Args[0] = os.Args[0] // what a list of processes shows
	c.Stdout, c.Stderr = log, log
	c.ExtraFiles = append([]*os.File{theirs, status}, s.sockets...)
	if r.memory != nil {
		c.ExtraFiles = append(c.ExtraFiles, r.memory.file)
	}
	OwnGroup(c)
	if err := r.cradle.Start(c); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("start the process of %s: %w", s.Part, err)
	}
	if r.plan.Hooks.Started != nil {
		r.plan.Hooks.Started(s.Part, c.Process.Pid)
	}
	return conn, child{c}, nil
}

// openLog opens what a part writes into: a new file, or that of the processes before.
func openLog(path string, restarted bool) (*os.File, error) {
	if !restarted {
		return files.Create(path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}

// statusSocket returns the status socket of a part, to be handed over. The conductor
// makes it, once for all processes of the part: a process that outlives its conductor
// cannot take a name that the next run wants.
func (s *seat) statusSocket() (*os.File, error) {
	if s.status == nil {
		l, err := listenAt(filepath.Join(filepath.Dir(s.path), s.Status))
		if err != nil {
			return nil, err
		}
		s.status = l
	}
	return s.status.File()
}

// closeStatus takes the status sockets away.
func (r *conductor) closeStatus() {
	for _, s := range r.seats {
		if s.status != nil {
			s.status.Close()
		}
	}
}

// admit takes in the parts that are started by hand.
func (r *conductor) admit(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer crash.Catch(func(error) { conn.Close() }) // and the part is missed
			in := bufio.NewReader(conn)
			conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			k, b, err := read(in)
			conn.SetReadDeadline(time.Time{})
			var hi greeting
			if err != nil || k != hello || json.Unmarshal(b, &hi) != nil {
				conn.Close()
				return
			}
			for _, s := range r.seats {
				if s.byHand && s.Part == hi.Part {
					r.tell(news{seat: s.index, fate: joined, kind: hello, payload: b, conn: conn, in: in})
					return
				}
			}
			conn.Close()
		}()
	}
}

// listen hears what a part says.
func (r *conductor) listen(s *seat, conn net.Conn, in *bufio.Reader) {
	s.conn = conn
	talk := s.talk
	go func() {
		defer crash.Catch(func(err error) { r.tell(news{seat: s.index, fate: refused, err: err, talk: talk}) })
		for {
			k, b, err := read(in)
			if err != nil {
				r.tell(news{seat: s.index, fate: gone, err: err, talk: talk})
				return
			}
			at := r.clock()
			s.telling.Store(true)
			s.heard.Add(1)
			switch {
			case k == state:
				if err := r.state(s, b); err != nil {
					r.tell(news{seat: s.index, fate: refused, err: err, talk: talk})
				}
			case k != alive:
				r.tell(news{seat: s.index, kind: k, payload: b, talk: talk, at: at})
			}
			s.telling.Store(false)
		}
	}()
}

// hear takes in what a part has reported. A process that was started anew counts its
// events from 0; here they go on.
func (s *seat) hear(now unit.Time, late int64, list []told) {
	for i := range list {
		e := &list[i]
		if e.frame != nil {
			continue
		}
		e.Seq += s.base[e.Machine]
		s.told[e.Machine] = e.Seq + 1
	}
	s.queue = append(s.queue, list...)
	s.now, s.late = max(s.now, now), late
}

// stateOf says how a process has ended.
func stateOf(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
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
