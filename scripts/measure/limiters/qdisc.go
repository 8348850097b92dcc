package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fabemu/emu/run/mode"
	"fabemu/emu/study/limiters"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// qdisc is a rate limiter of the kernel.
type qdisc struct {
	name  string
	setUp string // calls of tc at the device near, RATE is bits per second
}

const (
	kernelRate  unit.Rate = 100e6
	kernelBurst           = 3000
)

var qdiscs = []qdisc{
	{"tc tbf", "tc qdisc add dev near root tbf rate RATE burst 3000 limit 3000000"},
	{"tc htb", "tc qdisc add dev near root handle 1: htb default 1; tc class add dev near parent 1: classid 1:1 htb rate RATE burst 3000 cburst 3000 quantum 1500"},
}

// best measures several times and returns the result with the least error of the rate: other
// work of the machine makes it worse, and nothing makes it better.
func (q qdisc) best() (best *limiters.Result, err error) {
	least := 0.0
	for range 5 {
		r, err := q.measure()
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

// veth sends UDP datagrams through the qdisc, at one end of a pair of veth devices in a network namespace, and prints
// when the kernel has them at the other end, in another one. $1 is this program, $2 sets up the qdisc. The namespaces
// have no names, and end with the script. The address of the far end is fixed, so that no ARP request asks for it.
//
//go:embed veth.sh
var veth string

// measure measures one run of the datagrams.
func (q qdisc) measure() (*limiters.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	c := exec.Command("unshare", "--net", "bash", "-c", veth, "veth", self, strings.ReplaceAll(q.setUp, "RATE", fmt.Sprint(int64(kernelRate))))
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	var at []unit.Time
	var first int64
	for line := range strings.Lines(strings.TrimSpace(string(out))) {
		stamp, _, _ := strings.Cut(line, " ")
		ns, err := strconv.ParseInt(strings.Replace(stamp, ".", "", 1), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("tcpdump prints %q", line)
		}
		if at == nil {
			first = ns
		}
		at = append(at, unit.Time(ns-first)*1000)
	}
	if len(at) < 100 {
		return nil, fmt.Errorf("%d datagrams came: %s", len(at), said.String())
	}
	var rest bench.Span
	for i := range at[1:] {
		if at[i+1]-at[i] > rest.To-rest.From {
			rest = bench.Span{From: at[i], To: at[i+1]}
		}
	}
	r := limiters.RunCase(&limiters.Subject{
		Name: q.name, Note: "set to 100 Mb/s and a burst of 3000 bytes; datagrams through veth devices, stamped by the kernel, only on the wall clock, the best of five runs; the figures contain the lateness of this computer and are not judged",
		New: func(unit.Rate) node.RateLimiter { return &departures{at: at} },
	}, bench.Case{
		Name:     "kernel/" + strings.ReplaceAll(kernelRate.String(), "/s", "ps"),
		Doc:      "datagrams through the qdisc, stamped by the kernel as they come out of a veth device",
		Line:     400_000_000_000,
		Duration: unit.Duration(at[len(at)-1]) + unit.Microsecond, Rates: []bench.Step{{At: 0, Rate: kernelRate}},
		Idle: []bench.Span{rest},
	}, mode.WallClock)
	r.Cases[0].Judged = false
	return r, nil
}

// send sends datagrams as fast as the qdisc lets it, for a time, and after a rest for the same time. The buffer of the socket
// holds a tenth of a second, and less than the queue.
func send() error {
	const spell = 300 * time.Millisecond
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 1<<20)
	}
	b := make([]byte, 1500-14-20-8) // the qdisc counts the Ethernet header
	for begin := time.Now(); err == nil && time.Since(begin) < 3*spell; {
		if time.Since(begin)/spell == 1 {
			time.Sleep(spell)
		}
		err = unix.Sendto(fd, b, 0, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{10, 231, 7, 2}})
	}
	return err
}

// departures is a limiter that lets packets start when others did.
type departures struct{ at []unit.Time }

func (d *departures) Next(now unit.Time, _ unit.Size) unit.Time {
	if len(d.at) == 0 {
		return unit.Never
	}
	return max(now, d.at[0])
}

func (d *departures) Sent(unit.Time, unit.Size)  { d.at = d.at[1:] }
func (*departures) SetRate(unit.Time, unit.Rate) {}
func (*departures) Burst() unit.Size             { return kernelBurst }
