package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is a terminal at the other end of a pseudoterminal, as far as a line of progress needs
// one.
type screen struct {
	mu     sync.Mutex
	master *os.File
	all    bytes.Buffer
	ended  chan struct{} // closed when there is no writer any more, and all is read
}

// openScreen returns a screen, and the end that a program writes to.
func openScreen(t *testing.T) (*screen, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudoterminal: ", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{master: master, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		b := make([]byte, 1<<16)
		for {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.all.Write(b[:n])
			s.mu.Unlock()
		}
	}()
	return s, slave
}

// said is all that was written.
func (s *screen) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// A run on a terminal rewrites one line that fits, and takes it away when it ends: by itself or by
// Ctrl-C.
func TestProgressOnATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		early bool
	}{
		{"to the end", []string{"--dilation", "25"}, false},
		{"Ctrl-C", []string{"--dilation", "100"}, true},
		{"quiet", []string{"--dilation", "25", "--quiet"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, slave := openScreen(t)
			args := append([]string{"run", "hpl2002/fig2", "--link", "pipe", "--verify", "off", "--out", filepath.Join(t.TempDir(), "out")}, c.args...)
			run := exec.Command(binary, args...)
			run.Stderr = slave
			var out bytes.Buffer
			run.Stdout = &out
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			slave.Close()
			for begin := time.Now(); c.early && strings.Count(s.said(), "\r") < 4; time.Sleep(20 * time.Millisecond) {
				if time.Since(begin) > time.Minute {
					t.Fatal("no line is written")
				}
			}
			if c.early {
				run.Process.Signal(os.Interrupt)
			}
			run.Wait()
			<-s.ended
			said := s.said()
			for _, want := range []string{"hpl2002/fig2: ", " of 100.0 ms, pace ", " left"} {
				if strings.Contains(said, want) == (c.name == "quiet") {
					t.Errorf("%q among what was shown: %t\n%q", want, c.name != "quiet", said)
				}
			}
			if strings.Contains(said, "\x1b") {
				t.Errorf("a mode or colour of the terminal is set: %q", said)
			}
			last := ""
			for line := range strings.SplitSeq(said, "\r") {
				line, _, _ = strings.Cut(line, "\n")
				if n := len([]rune(line)); n > 79 && strings.Contains(line, "pace") {
					t.Errorf("a line of %d columns: %q", n, line)
				}
				if strings.TrimSpace(line) != "" || len(line) == 79 {
					last = line
				}
			}
			if strings.Contains(last, "pace") {
				t.Errorf("the line is left on the terminal: %q", said)
			}
			if !strings.Contains(out.String(), "trunk.A-B") {
				t.Errorf("the report:\n%s", out.String())
			}
		})
	}
}
