package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fabemu/emu/result/report"
	"fabemu/emu/study/limiters"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	wire "fabemu/wire/unit"
)

// qdisc is a rate limiter of the kernel.
type qdisc struct {
	name  string
	setUp [][]string // calls of tc, where DEV is the device and RATE bits per second
}

// kernelRate is the rate of the qdiscs.
const kernelRate wire.Rate = 100e6

const kernelBurst = 3000

func qdiscs() []qdisc {
	return []qdisc{
		{"tc tbf", [][]string{strings.Fields("qdisc add dev DEV root tbf rate RATE burst 3000 limit 3000000")}},
		{"tc htb", [][]string{
			strings.Fields("qdisc add dev DEV root handle 1: htb default 1"),
			strings.Fields("class add dev DEV parent 1: classid 1:1 htb rate RATE burst 3000 cburst 3000 quantum 1500"),
		}},
	}
}

// The addresses of the two ends, in namespaces without others.
var here, there = [4]byte{10, 231, 7, 1}, [4]byte{10, 231, 7, 2}

// best measures several times and returns the result with the least error of the rate: other
// work of the machine makes it worse, and nothing makes it better.
func (q qdisc) best(rate wire.Rate) (best *limiters.Result, err error) {
	least := 0.0
	for range 5 {
		r, err := q.measure(rate)
		if err != nil {
			return nil, err
		}
		w := r.Cases[0].Windows[len(r.Cases[0].Windows)-1]
		if off := max(-float64(w.Low), float64(w.High)); best == nil || off < least {
			best, least = r, off
		}
	}
	return best, nil
}

// farMAC is the fixed address of the far end, so that no ARP request asks for it.
const farMAC = "02:00:00:00:00:02"

// isUp waits until a device is.
func isUp(device string) error {
	for range 200 {
		if out, err := exec.Command("ip", "link", "show", device).Output(); err == nil &&
			strings.Contains(string(out), "state UP") {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s does not come up", device)
}

// measure sends UDP datagrams through the qdisc, at one end of a pair of veth devices in a
// network namespace, and measures when the kernel has them at the other end, in another.
// The namespaces have no name: they end, and all in them, with the threads that are in
// them, whatever ends this program.
func (q qdisc) measure(rate wire.Rate) (*limiters.Result, error) {
	far, near := newSpace(), newSpace()
	defer far.close()
	defer near.close()
	var at []wire.Time
	var rest [2]wire.Time
	err := near.do(func() error {
		peer := ""
		if err := far.do(func() error {
			peer = fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
			return far.err
		}); err != nil {
			return err
		}
		calls := [][]string{{"ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "address", farMAC,
			"netns", peer}, {"ip", "addr", "add", net.IP(here[:]).String() + "/24", "dev", "near"},
			{"ip", "link", "set", "near", "up"},
			{"ip", "neigh", "add", net.IP(there[:]).String(), "lladdr", farMAC, "dev", "near", "nud", "permanent"}}
		for _, c := range q.setUp {
			calls = append(calls,
				append([]string{"tc"}, strings.Fields(strings.NewReplacer("DEV", "near", "RATE", fmt.Sprint(int64(rate))).Replace(strings.Join(c, " ")))...))
		}
		return calling(calls)
	})
	if err != nil {
		return nil, err
	}
	receiver, sender := -1, -1
	if err := far.do(func() (err error) {
		if err := calling([][]string{{"ip", "addr", "add", net.IP(there[:]).String() + "/24", "dev", "far"}, {"ip", "link", "set", "far", "up"}}); err != nil {
			return err
		}
		receiver, err = listening()
		return err
	}); err != nil {
		return nil, err
	}
	defer unix.Close(receiver)
	if err := near.do(func() (err error) {
		if err := isUp("near"); err != nil {
			return err
		}
		sender, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err == nil {
			err = unix.SetsockoptInt(sender, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 1<<20) // a tenth of a second, and less than the queue holds
		}
		return err
	}); err != nil {
		return nil, err
	}
	defer unix.Close(sender)
	done := make(chan error, 1)
	go func() { done <- send(sender) }()
	at, err = receive(receiver)
	if e := <-done; e != nil {
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	for i := range at[1:] {
		if at[i+1]-at[i] > rest[1]-rest[0] {
			rest = [2]wire.Time{at[i], at[i+1]}
		}
	}
	c := bench.Case{
		Name:     "kernel/" + strings.ReplaceAll(rate.String(), "/s", "ps"),
		Doc:      "datagrams through the qdisc, stamped by the kernel as they come out of a veth device",
		Line:     400_000_000_000,
		Duration: wire.Duration(at[len(at)-1]) + wire.Microsecond, Rates: []bench.Step{{At: 0, Rate: rate}},
		Idle: []bench.Span{{From: rest[0], To: rest[1]}},
	}
	r := limiters.RunCase(&limiters.Subject{
		Name: q.name, Note: "set to 100 Mb/s and a burst of 3000 bytes; datagrams through veth devices, stamped by the kernel, only on the wall clock, the best of five runs; the figures contain the lateness of this computer and are not judged",
		New: func(wire.Rate) node.RateLimiter { return &departures{at: at} },
	}, c, report.WallClock)
	r.Cases[0].Judged = false
	return r, nil
}

// The load: datagrams of a length, for a time, and after a rest for the same time.
const (
	payload = 1500 - 14 - 20 - 8 // the qdisc counts the Ethernet header
	spell   = 300 * time.Millisecond
	rest    = 300 * time.Millisecond
)

// send sends as fast as the qdisc lets it.
func send(fd int) error {
	b := make([]byte, payload)
	to := &unix.SockaddrInet4{Port: 9, Addr: there}
	for i := range 2 {
		if i > 0 {
			time.Sleep(rest)
		}
		for end := time.Now().Add(spell); time.Now().Before(end); {
			if err := unix.Sendto(fd, b, 0, to); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
	return nil
}

// listening returns a socket that stamps the datagrams that come.
func listening() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return -1, err
	}
	for _, o := range [][2]int{{unix.SO_TIMESTAMPNS, 1}, {unix.SO_RCVBUFFORCE, 16 << 20}} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[0], o[1]); err != nil {
			return -1, err
		}
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return -1, err
	}
	return fd, unix.Bind(fd, &unix.SockaddrInet4{Port: 9})
}

// receive returns when datagrams came, from the first on, until none has come for a second.
func receive(fd int) ([]wire.Time, error) {
	var at []wire.Time
	var first int64
	b, oob := make([]byte, 2000), make([]byte, 200)
	for {
		_, n, _, _, err := unix.Recvmsg(fd, b, oob, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			if len(at) < 100 {
				return nil, fmt.Errorf("%d datagrams came: %w", len(at), err)
			}
			return at, nil
		}
		messages, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil || len(messages) == 0 {
			return nil, fmt.Errorf("a datagram without a stamp: %w", err)
		}
		ts := *(*unix.Timespec)(unsafe.Pointer(&messages[0].Data[0]))
		ns := ts.Nano()
		if at == nil {
			first = ns
		}
		at = append(at, wire.Time(ns-first)*1000)
	}
}

// departures is a limiter that lets packets start when others did.
type departures struct{ at []wire.Time }

func (d *departures) Next(now wire.Time, _ wire.Size) wire.Time {
	if len(d.at) == 0 {
		return wire.Never
	}
	return max(now, d.at[0])
}

func (d *departures) Sent(wire.Time, wire.Size)  { d.at = d.at[1:] }
func (*departures) SetRate(wire.Time, wire.Rate) {}
func (*departures) Burst() wire.Size             { return kernelBurst }

// space is a network namespace, and the thread that is in it.
type space struct {
	work chan func()
	err  error // why there is none
}

func newSpace() *space {
	s := &space{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		s.err = unix.Unshare(unix.CLONE_NEWNET)
		for f := range s.work {
			f()
		}
	}()
	return s
}

// do does something in the namespace.
func (s *space) do(f func() error) error {
	err := make(chan error)
	s.work <- func() {
		if s.err != nil {
			err <- fmt.Errorf("a network namespace cannot be made: %w", s.err)
			return
		}
		err <- f()
	}
	return <-err
}

func (s *space) close() { close(s.work) }

// calling calls programs in the namespace of the thread.
func calling(calls [][]string) error {
	for _, c := range calls {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(c, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
