package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is a terminal at the other end of a pseudoterminal, as far as the view needs one.
type screen struct {
	mu     sync.Mutex
	master *os.File
	all    bytes.Buffer
	ended  chan struct{} // closed when nobody writes any more, and all is read
}

// openScreen returns a screen, and the end that a program writes to.
func openScreen(t *testing.T, columns uint16) (*screen, *os.File) {
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
	s.resize(t, columns)
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

func (s *screen) resize(t *testing.T, columns uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

// said is all that was written.
func (s *screen) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// shows is what stands on the screen in the end.
func (s *screen) shows(t *testing.T) string {
	t.Helper()
	lines, row := []string{""}, 0
	for text := s.said(); text != ""; {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			n := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			arg, what := text[2:2+n], text[2+n]
			text = text[3+n:]
			switch what {
			case 'A':
				up, _ := strconv.Atoi(arg)
				row = max(0, row-up)
			case 'J':
				lines = append(lines[:row], "")
			case 'm':
			default:
				t.Errorf("the terminal is told %q: nobody takes that back", "\x1b["+arg+string(what))
			}
		case text[0] == '\r':
			text = text[1:]
		case text[0] == '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
			text = text[1:]
		default:
			end := strings.IndexAny(text, "\x1b\r\n")
			if end < 0 {
				end = len(text)
			}
			lines[row] += text[:end]
			text = text[end:]
		}
	}
	return strings.Join(lines, "\n")
}

// A run on a terminal shows itself, in lines that fit, and takes the view away when it ends: by
// itself or by Ctrl-C.
func TestViewOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		env   string
		early bool
	}{
		{"to the end", nil, "LANG=C.UTF-8", false},
		{"Ctrl-C", []string{"--dilation", "100"}, "LANG=C.UTF-8", true},
		{"NO_COLOR, no UTF-8", nil, "NO_COLOR=1", false},
		{"quiet", []string{"--quiet"}, "LANG=C.UTF-8", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, slave := openScreen(t, 100)
			args := append([]string{"run", "hpl2002/fig2", "--link", "pipe", "--verify", "off", "--dilation", "25", "--out", filepath.Join(t.TempDir(), "out")}, c.args...)
			run := exec.Command(binary, args...)
			run.Env = append(os.Environ(), "TERM=xterm", "LC_ALL=", "LC_CTYPE=", "COLUMNS=", "LANG=C", c.env)
			run.Stderr = slave
			var out bytes.Buffer
			run.Stdout = &out
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			slave.Close()
			for begin := time.Now(); !c.early || strings.Count(s.said(), "\x1b[J") < 4; time.Sleep(20 * time.Millisecond) {
				if time.Since(begin) > time.Second && !c.early {
					s.resize(t, 60)
					break
				}
				if time.Since(begin) > time.Minute {
					t.Fatal("nothing is drawn")
				}
			}
			if c.early {
				run.Process.Signal(os.Interrupt)
			}
			run.Wait()
			<-s.ended
			said := s.said()
			bar := "█"
			if c.env == "NO_COLOR=1" {
				bar = "###"
			}
			wants := []string{"trunk.A-B", bar, "of 100.0 ms", "checks:"}
			for _, want := range wants {
				if strings.Contains(said, want) == (c.name == "quiet") {
					t.Errorf("%q among what was shown: %v", want, c.name == "quiet")
				}
			}
			if colour := strings.Contains(said, "\x1b[1m"); colour != (bar == "█" && c.name != "quiet") {
				t.Errorf("colours: %v", colour)
			}
			_, drawn, _ := strings.Cut(said, "\x1b[J")
			for l := range strings.SplitSeq(drawn, "\n") {
				l = l[strings.LastIndex(l, "\x1b[J")+1:] // behind the way back
				if n := len([]rune(stripped(strings.Trim(l, "\r")))); n > 100 {
					t.Errorf("a line of %d columns on a terminal of 100: %q", n, l)
				}
			}
			left := s.shows(t)
			for _, gone := range []string{"trunk.A-B", "checks:", bar} {
				if strings.Contains(left, gone) {
					t.Errorf("%q is left on the terminal:\n%s", gone, left)
				}
			}
			if !strings.Contains(out.String(), "trunk.A-B") {
				t.Errorf("the report:\n%s", out.String())
			}
		})
	}
}

// A view in any size fits: it is never longer or wider than what it is given.
func TestBarsAndHeights(t *testing.T) {
	v := &view{}
	for _, share := range []float64{-1, 0, 0.5, 1, 2} {
		if got := len([]rune(v.bar(share, 10))); got != 10 {
			t.Errorf("a bar of %v has %d columns", share, got)
		}
	}
	if got := height([]int{0, 80, 81, 161}, 80); got != 1+1+2+3 {
		t.Errorf("%d rows", got)
	}
}
