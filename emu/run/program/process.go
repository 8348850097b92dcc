package program

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"fabemu/emu/host"
)

// process is a program that was started for a talk.
type process struct {
	command *exec.Cmd
	guard   host.ChildGuard
	in      *os.File // its output, our end
	exited  chan struct{}

	mu     sync.Mutex // guards the fields below: where patience ends, another goroutine kills
	gone   bool
	how    string
	inTime bool
}

// start starts a program. in writes to its standard input, out reads its standard
// output.
func start(command []string, stderr io.Writer) (p *process, in io.WriteCloser, out io.Reader, err error) {
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer outWrite.Close()
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = outWrite, stderr
	c.WaitDelay = time.Second // its own processes may hold its standard error
	host.OwnGroup(c)
	p = &process{command: c, guard: host.NewChildGuard(), in: outRead, exited: make(chan struct{})}
	if in, err = c.StdinPipe(); err == nil {
		err = p.guard.Start(c)
	}
	if err != nil {
		p.guard.Close()
		outRead.Close()
		return nil, nil, nil, err
	}
	go func() {
		awaitExit(c.Process.Pid)
		close(p.exited)
	}()
	return p, in, outRead, nil
}

// pending reports whether the program has written something, or has ended.
func (p *process) pending() bool { return readable(p.in) }

// cut kills the program and all that is in its group. It is called before the program is
// reaped, so that the number of the group is its own.
func (p *process) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		killGroup(p.command.Process)
	}
}

// end waits for the program, kills the rest of its group and reaps it. Its output stays open until
// it has been read, unless a process outside the group holds it.
func (p *process) end(patience time.Duration, closed <-chan struct{}) (how string, inTime bool) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.exited:
		p.inTime = true
	case <-limit.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return p.how, p.inTime
	}
	killGroup(p.command.Process)
	err := p.command.Wait()
	p.gone = true
	select {
	case <-closed:
	case <-time.After(p.command.WaitDelay):
	}
	p.in.Close()
	p.guard.Close()
	if !errors.Is(err, exec.ErrWaitDelay) && err != nil {
		p.how = err.Error()
	}
	return p.how, p.inTime
}

// socket is a program at a Unix socket: it is not ours to end.
type socket struct{ *net.UnixConn }

func (s socket) pending() bool { return readable(s.UnixConn) }

func (s socket) cut() { s.UnixConn.Close() }

// Close ends the questions.
func (s socket) Close() error { return s.CloseWrite() }

// end gives the program time for the rest of its output.
func (s socket) end(patience time.Duration, closed <-chan struct{}) (string, bool) {
	select {
	case <-closed:
	case <-time.After(patience):
	}
	s.UnixConn.Close()
	return "", true
}
