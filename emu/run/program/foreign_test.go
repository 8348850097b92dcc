package program_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/program"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

var (
	_ node.RateLimiter = (*program.Limiter)(nil)
	_ rp.Controller    = (*program.Controller)(nil)
)

// shell returns a program that is a script of sh.
func shell(script string) *program.Program {
	return &program.Program{Command: []string{"sh", "-c", script}, Patience: time.Minute}
}

// status is the standard error of a script, which says there how far it is: after a line that is a
// number, the process of that number ends.
type status struct {
	mu   sync.Mutex
	text string
}

func (s *status) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(b)
	return len(b), nil
}

// reached reports whether the script has come to the line, and to its end where it says so.
func (s *status) reached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, _, whole := strings.Cut(s.text, "\n")
	if pid, err := strconv.Atoi(line); err == nil && whole {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return strings.Contains(string(stat), ") Z ") // this process waits for it when the talk ends
	}
	return whole
}

// limiter is the first answer of the programs here, and algorithm that of a reaction point.
const limiter, algorithm = "read x; echo limiter 3000 mine\n", "read x; echo algorithm 1000 500 mine\n"

// windows begins the scripts of programs that may give windows.
const windows = "# windows\n"

// Each thing that a program may not do is found, and its line is named.
func TestFaults(t *testing.T) {
	next := func(k *program.Talk) { k.Limiter().Next(1000, 1500) }
	none := func(*program.Talk) {}
	feedback := func(k *program.Talk) { k.Controller().Feedback(1000, wire.Frame{Kind: wire.Ack, BECN: true}) }
	for _, tc := range []struct {
		name, script string
		calls        func(k *program.Talk) // nil: the fault is in the first line; and next when the script says so
		want         string
	}{
		{"nothing", "read x", nil, `does not answer any more; the last line to it was "hello 1 1000 1500"`},
		{"dies", "read x; exit 7", nil, `does not answer any more: exit status 7; the last line to it was "hello 1 1000 1500"`},
		{"dies later", limiter + "read x; echo Oops >&2; exit 7", next,
			`does not answer any more: exit status 7; the last line to it was "next 1000 1500"; its standard error ends with "Oops"`},
		{"is killed", limiter + "read x; kill -9 $$", next, `does not answer any more: signal: killed; the last line to it was "next`},
		{"dies between", limiter + "read x; echo 1000; echo $$ >&2; exit 5", next, "has ended: exit status 5"},
		{"is not a program of ours", "read x; echo hello", nil, `its line is "hello"`},
		{"no burst", "read x; echo limiter much mine", nil, `gives a burst that is neither a number of bytes nor -; its line is "limiter much mine"`},
		{"out of turn", "echo one; read x; echo two", none, `its line is "one"`},
		{"out of turn later", limiter + "read x; echo 1000; echo 2000; echo both >&2; read y", next,
			`speaks out of turn, before it is asked; its line is "2000"`},
		{"floods", limiter + "echo 4711; echo one >&2; while :; do echo 4711; done", none, `speaks out of turn, before it is asked; its line is "4711"`},
		{"a line without end", limiter + "read x; while :; do printf aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", next, `sends a line of more than 512 bytes; its line is "aaaa`},
		{"no number", limiter + "read x; echo NaN", next, `gives an instant that is neither a whole number of picoseconds nor never; its line is "NaN"; the last line to it was "next 1000 1500"`},
		{"a fraction", limiter + "read x; echo 1000.5", next, `neither a whole number`},
		{"too much", limiter + "read x; echo 99999999999999999999", next, `neither a whole number`},
		{"negative", limiter + "read x; echo -5", next, `gives an instant that is negative; its line is "-5"`},
		{"the past", limiter + "read x; echo 999", next, `gives an instant that is before the one that it is asked at; its line is "999"`},
		{"no ok", limiter + "read x; echo yes", func(k *program.Talk) { k.Limiter().Sent(1000, 1500) }, `answers with something else than "ok"; its line is "yes"; the last line to it was "sent 1000 1500"`},
		{"never lets go", limiter + "while read w t n; do echo $((t + 1)); done", func(k *program.Talk) {
			for now := unit.Time(0); now != unit.Never; {
				now = k.Limiter().Next(now, 1500+unit.Size(now%2)) // not the same question
			}
		}, `was asked 100000 times`},
		{"negative rate", algorithm + "read x; echo -1 never", feedback, `gives a rate that is negative; its line is "-1 never"; the last line to it was "feedback 1000 ack marked=1"`},
		{"NaN rate", algorithm + "read x; echo NaN never", feedback, `gives a rate that is not a whole number of bits per second; its line is "NaN never"`},
		{"infinite rate", algorithm + "read x; echo inf never", feedback, `not a whole number of bits per second`},
		{"no rate at first", "read x; echo algorithm fast never mine", nil, `not a whole number of bits per second; its line is "algorithm fast never mine"`},
		{"one word", algorithm + "read x; echo 5", feedback, `answers with something else than "RATE DEADLINE"; its line is "5"`},
		{"a deadline that has passed", algorithm + "read x; echo 5 1000", feedback, `gives a deadline that is not after the instant that it was sent`},
		{"a window that is not wanted", algorithm + "read x; echo 5/1500 never", feedback, `gives a window, which is for feedback delays or telemetry; its line is "5/1500 never"`},
		{"no window", windows + algorithm + "read x; echo 5/0 never", feedback, `gives a window that is not a whole number of bytes from 1 to 2147483647`},
		{"half a window", windows + algorithm + "read x; echo 5/15.5 never", feedback, `gives a window that is not a whole number`},
		{"status", limiter + "read x; exit 3", none, "has ended: exit status 3"},
		{"last words", limiter + "read x; echo bye", none, `speaks out of turn; its line is "bye"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(tc.script, "$$ >&2") { // a child that has not yet come to its exec would hold the output of the script open
				t.Parallel()
			}
			p := shell(strings.TrimPrefix(tc.script, windows))
			p.Windows = strings.HasPrefix(tc.script, windows)
			told := 0
			p.Fail = func(*program.Fault) { told++ }
			var s status
			p.Stderr = &s
			k, err := p.Begin(context.Background(), 1000, 1500)
			if err == nil && tc.calls != nil {
				tc.calls(k)
				if strings.Contains(tc.script, ">&2") && k.Err() == nil {
					runtest.Await(t, "the script is so far", s.reached)
					next(k)
				}
				if k.Err() != nil && k.Limiter().Next(1e9, 1500) != unit.Never {
					t.Error("after its fault a limiter lets a packet start")
				}
			}
			if end := p.End(); err == nil {
				err = end
			}
			var fault *program.Fault
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), tc.want) || told != 1 {
				t.Errorf("%v (told %d times), want %q", err, told, tc.want)
			}
		})
	}
}

// patiently tries something with half a second of patience, and with more where a busy machine
// does not let the program answer in that.
func patiently(p *program.Program, try func() error) error {
	for p.Patience = 500 * time.Millisecond; ; p.Patience *= 2 {
		err := try()
		if err == nil || p.Patience > time.Minute || !strings.Contains(err.Error(), "sends nothing for") {
			return err
		}
		p.End()
	}
}

// What says nothing, or does not end, is waited for as long as Patience says.
func TestPatience(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		calls        func(k *program.Talk)
		want         string
	}{
		{"says nothing", "sleep 1000", nil, `sends nothing for %v; the last line to it was "hello 1 1000 1500"`},
		{"half a line", limiter + "read x; printf 12; sleep 1000", func(k *program.Talk) { k.Limiter().Next(0, 1) }, `starts a line and does not end it within %v; its line is "12"`},
		{"never ends", limiter + "trap '' TERM INT HUP; while :; do sleep 1000; done", func(*program.Talk) {}, "does not end within %v after its input has"},
		{"floods at the end", limiter + "read x; while :; do echo bye; done", func(*program.Talk) {}, `speaks out of turn; its line is "bye"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := tc.want
			p := shell(tc.script)
			err := patiently(p, func() error {
				if strings.Contains(tc.want, "%") {
					want = fmt.Sprintf(tc.want, p.Patience)
				}
				k, err := p.Begin(context.Background(), 1000, 1500)
				if err == nil {
					tc.calls(k)
				}
				if end := p.End(); err == nil {
					err = end
				}
				if err != nil && strings.Contains(err.Error(), want) {
					return nil
				}
				return fmt.Errorf("%w, want %q", err, want)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Nothing that the program has started stays, and the program is not a zombie.
func TestNothingStays(t *testing.T) {
	dir := t.TempDir()
	for _, script := range []string{
		limiter + "sleep 4711 & echo $! $$ >pids; read x", // ends, and leaves a child
		limiter + "sleep 4711 & echo $! $$ >pids; trap '' TERM; sleep 4712",
		limiter + "sleep 4711 & echo $! $$ >pids; read x; echo -1",
	} {
		p := shell("cd " + dir + "\n" + script)
		var k *program.Talk
		if err := patiently(p, func() (err error) { k, err = p.Begin(context.Background(), 1000, 1500); return err }); err != nil {
			t.Fatal(err)
		}
		var pids []string
		runtest.Await(t, "it has written its pids", func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, "pids"))
			pids = strings.Fields(string(text))
			return len(pids) == 2 && strings.HasSuffix(string(text), "\n")
		})
		if strings.HasSuffix(script, "-1") {
			k.Limiter().Next(0, 1)
		}
		p.End()
		for _, pid := range pids {
			runtest.Await(t, "process "+pid+" is gone", func() bool { return gone(pid) })
		}
		os.Remove(filepath.Join(dir, "pids"))
	}
}

// gone reports whether there is no process of a number, or only what another process has
// still to reap.
func gone(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return true
	}
	after := stat[strings.LastIndex(string(stat), ")")+1:]
	fields := strings.Fields(string(after))
	return fields[0] == "Z" && fields[1] != strconv.Itoa(os.Getpid()) // killed, and its parent is another
}

// With its context a talk is cut, even while it waits.
func TestCut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := shell(limiter + "read x; sleep 1000")
	p.Patience = time.Hour
	k, err := p.Begin(ctx, 1000, 1500)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, cancel)
	if at := k.Limiter().Next(0, 1500); at != unit.Never || p.End() == nil {
		t.Errorf("%v, %v", at, p.End())
	}
}

// What cannot be started can be corrected by the user.
func TestNoProgram(t *testing.T) {
	for _, p := range []*program.Program{{}, {Command: []string{"/does/not/exist"}}, {Socket: "/does/not/exist"}} {
		var m *errs.Mistake
		if _, err := p.Begin(context.Background(), 1, 1); !errors.As(err, &m) {
			t.Errorf("%v", err)
		}
	}
}

// The examples answer as our own limiter does.
func TestExamples(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the examples in Python are not tried")
	}
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no cc: the example in C is not tried")
	}
	binary := filepath.Join(t.TempDir(), "limiter")
	if out, err := exec.Command(compiler, "-Wall", "-Wextra", "-Werror", "-o", binary, "../../../docs/examples/limiter.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tc := range []struct {
		command []string
		name    string
		burst   unit.Size
		twin    node.RateLimiter
	}{
		{[]string{python, "../../../docs/examples/limiter.py"}, "token bucket in Python", 3000, node.NewTokenBucket(1e9, 3000)},
		{[]string{binary}, "inter-packet delay in C", -1, node.NewInterPacketDelay(1e9)},
	} {
		p := &program.Program{Command: tc.command, Patience: time.Minute}
		k, err := p.Begin(context.Background(), 1e9, 1500)
		if err != nil {
			t.Fatal(err)
		}
		if k.Algorithm || k.Name != tc.name || k.Burst != tc.burst {
			t.Errorf("it is %+v", k)
		}
		same(t, k.Limiter(), tc.twin)
		if err := p.End(); err != nil {
			t.Error(err)
		}
	}
}

// same asks two limiters the same.
func same(t *testing.T, a, b node.RateLimiter) {
	t.Helper()
	now := unit.Time(0)
	for i := range 300 {
		n := unit.Size(64 + 997*i%1400)
		x, y := a.Next(now, n), b.Next(now, n)
		if x != y {
			t.Fatalf("packet %d of %d bytes at %d: %d and %d", i, n, now, x, y)
		}
		switch {
		case x == unit.Never:
		case i%7 == 3: // later than it could
			now = x.Add(unit.Duration(i) * unit.Microsecond)
			a.Next(now, n)
			b.Next(now, n)
			fallthrough
		default:
			now = max(x, now)
			a.Sent(now, n)
			b.Sent(now, n)
		}
		if i%50 == 20 || i%50 == 22 {
			r := unit.Rate(1e9 / (i + 1))
			if i%100 == 20 {
				r = 0
			}
			a.SetRate(now, r)
			b.SetRate(now, r)
		}
	}
}

// A reaction point of another program, over a Unix socket.
func TestAlgorithmAtASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for answers := []string{"algorithm 1000 never mine\n", "500 7000\n", "600 never\r\n", "700 never\n"}; ; answers = answers[1:] {
				b := make([]byte, 200)
				n, err := c.Read(b)
				if err != nil {
					break
				}
				heard <- strings.TrimSpace(string(b[:n]))
				fmt.Fprint(c, answers[0])
			}
			c.Close()
		}
	}()
	p := &program.Program{Socket: path, Patience: time.Minute}
	for range 2 {
		k, err := p.Begin(context.Background(), 1000, 1500)
		if err != nil {
			t.Fatal(err)
		}
		c := k.Controller()
		c.Feedback(5000, wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 23, QOffset: -4})})
		if c.Rate() != 500 || c.Deadline() != 7000 {
			t.Errorf("%v %v", c.Rate(), c.Deadline())
		}
		c.Advance(6999) // is not due
		c.Advance(7000)
		c.Sent(8000, 1500)
		if c.Rate() != 700 || c.Deadline() != unit.Never || !k.Algorithm {
			t.Errorf("%v %v", c.Rate(), c.Deadline())
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"hello 1 1000 1500", "feedback 5000 cnm fb=23 qoffset=-4", "advance 7000", "sent 8000 1500"} {
			if got := <-heard; got != want {
				t.Errorf("it has heard %q, want %q", got, want)
			}
		}
	}
}

// The talk that the document shows is the one that there is.
func TestTalkInTheDocument(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the example is not tried")
	}
	text, err := os.ReadFile("../../../docs/guide/limiters.md")
	if err != nil {
		t.Fatal(err)
	}
	_, talk, _ := strings.Cut(string(text), "```\n> ")
	talk, _, _ = strings.Cut("> "+talk, "```")
	var asked strings.Builder
	var want []string
	for line := range strings.Lines(talk) {
		if question, ok := strings.CutPrefix(line, "> "); ok {
			asked.WriteString(question)
		} else {
			want = append(want, strings.TrimSpace(line))
		}
	}
	c := exec.Command(python, "../../../docs/examples/limiter.py")
	c.Stdin = strings.NewReader(asked.String())
	out, err := c.Output()
	if got := strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(out)), " ", "_")); err != nil || len(want) < 5 || strings.Join(got, "\n") != strings.ReplaceAll(strings.Join(want, "\n"), " ", "_") {
		t.Errorf("%v: it says\n%s\nwant\n%s", err, out, strings.Join(want, "\n"))
	}
}

// An ACK with its measurements is one line, in which zeros are left out; the answer may have a
// window.
func TestMeasuredAcks(t *testing.T) {
	p := shell("read x; echo algorithm 1000/3000 never mine; while read x; do echo \"$x\" >&2; echo 500/1500 never; done")
	var said bytes.Buffer
	p.Stderr, p.Windows = &said, true
	k, err := p.Begin(context.Background(), 1000, 1500)
	if err != nil {
		t.Fatal(err)
	}
	c := k.Controller()
	if c.Window() != 3000 {
		t.Errorf("the first window is %v", c.Window())
	}
	c.Acked(7, rp.Ack{Frame: &wire.Frame{BECN: true}, RTT: 900, Bytes: 1068, Next: 3, Hops: []wire.Hop{
		{Time: 5, Sent: 4000, Rate: 100e9}, {Time: 6, Sent: 2000, Queue: 1000, Rate: 400e9}}})
	c.Lost(8)
	if c.Window() != 1500 || c.Rate() != 500 {
		t.Errorf("%v, %v", c.Rate(), c.Window())
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	const want = "feedback 7 delay rtt=900 bytes=1068 next=3 marked=1 hops=2 time1=5 sent1=4000 rate1=100000000000 time2=6 sent2=2000 queue2=1000 rate2=400000000000\n" +
		"feedback 8 lost\n"
	if said.String() != want {
		t.Errorf("%swant\n%s", said.String(), want)
	}
}
