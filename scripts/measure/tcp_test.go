//go:build linux && !race

package measure

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/host/netns"
)

// A path is what one connection of TCP crosses: a sender, a bottleneck with a queue before it, a
// receiver.
type path struct {
	name    string
	room    int           // packets that the queue holds, with the one that is being sent
	delay   time.Duration // of each ACK on its way back
	sack    bool
	plain   bool // nothing that RFC 5681 and 6582 do not have; else what the kernel comes with
	initial int  // the initial window, in segments
}

const (
	segment    = 1460                 // payload of a full segment: an MTU of 1500 and no options
	packet     = segment + 20 + 20    // with IPv4 and TCP
	onQueue    = packet + 14          // as the kernel's queues count it, with its header of Ethernet
	packetTime = time.Millisecond     // that it keeps the bottleneck busy
	bottleneck = onQueue * 8 * 1000   // rate, in bit/s
	tcpPort    = "5001"               // the receiver's
	goodput    = segment * 8 * 1000.0 // the most payload that crosses the bottleneck, in bit/s
)

// course is what came of one connection.
type course struct {
	acked   []progress
	resent  []time.Duration // when each segment was sent again, from the begin on
	dropped int             // by the queue
}

// progress is how many bytes were acknowledged at an instant.
type progress struct {
	at    time.Duration
	bytes uint64
}

// figures are those by which two courses are compared.
type figures struct {
	goodput float64       // bytes acknowledged in the steady state, over the most that cross the bottleneck
	resent  int           // segments sent again, from the begin on
	dropped int           // packets, from the begin on
	cuts    int           // of the window, in the steady state: groups of segments sent again
	period  time.Duration // of the sawtooth: from one cut to the next, in the mean
}

// figures leaves out of rates and periods what comes before the steady state. What is sent again
// within three times the longest round trip belongs to one cut: a recovery of NewReno repairs a loss
// each round trip.
func (c course) figures(p path, steady time.Duration) figures {
	f := figures{resent: len(c.resent), dropped: c.dropped}
	var from, to progress
	for _, a := range c.acked {
		if a.at <= steady {
			from = a
		}
		to = a
	}
	f.goodput = float64(to.bytes-from.bytes) * 8 / (to.at - from.at).Seconds() / goodput
	recovery := 3 * (p.delay + time.Duration(p.room+1)*packetTime)
	var first, last time.Duration // cuts
	before := time.Duration(-1 << 40)
	for _, at := range c.resent {
		if at-before > recovery && at > steady {
			if f.cuts++; f.cuts == 1 {
				first = at
			}
			last = at
		}
		before = at
	}
	if f.cuts > 1 {
		f.period = (last - first) / time.Duration(f.cuts-1)
	}
	return f
}

var long = flag.Duration("tcp.length", 0, "how long each run of TCP lasts; by default short ones of some paths do")

// paths are those that TCP is compared on.
var paths = []path{
	{name: "NewReno", room: 20, plain: true, initial: 2},
	{name: "SACK", room: 20, plain: true, initial: 2, sack: true},
	{name: "NewReno, 40 ms", room: 20, plain: true, initial: 2, delay: 40 * time.Millisecond},
	{name: "SACK, 40 ms", room: 20, plain: true, initial: 2, sack: true, delay: 40 * time.Millisecond},
}

// sawtooth is the period of Reno's window on a path by its law: from half of the largest window on,
// one packet more in each round trip, which is the time that the window takes to cross the bottleneck,
// or the shortest round trip if that is more; and a round trip for the recovery.
func (p path) sawtooth() (period time.Duration) {
	shortest := p.delay + packetTime
	largest := p.room + int(p.delay/packetTime) + 1
	trip := func(window int) time.Duration { return max(shortest, time.Duration(window)*packetTime) }
	for w := largest / 2; w <= largest; w++ {
		period += trip(w)
	}
	return period + trip(largest)
}

// TestWallTCPBesideTheKernel runs Linux' Reno through a bottleneck made by tc.
func TestWallTCPBesideTheKernel(t *testing.T) {
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s: install iproute2", tool)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := newLab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Log(l.red(ctx))
	length, steady, list := 5*time.Second, time.Second, paths[:2]
	if *long > 0 {
		length, steady, list = *long, *long/5, paths
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| path | goodput | sent again | dropped | cuts | period (ms) | by the law (ms) |\n|---|---|---|---|---|---|---|\n")
	for _, p := range list {
		c, err := l.run(ctx, p, length)
		if err != nil {
			t.Fatal(err)
		}
		kernel := c.figures(p, steady)
		fmt.Fprintf(&table, "| %s | %.3f | %d | %d | %d | %.0f | %.0f |\n", p.name,
			kernel.goodput, kernel.resent, kernel.dropped, kernel.cuts, milliseconds(kernel.period), milliseconds(p.sawtooth()))
		if r := ratio(kernel.period, p.sawtooth()); r < 0.8 || r > 1.25 {
			t.Errorf("%s: the kernel's window has a period of %v, want %v", p.name, kernel.period, p.sawtooth())
		}
	}
	t.Log("\n" + table.String())
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
func ratio(a, b time.Duration) float64     { return float64(a) / float64(b) }
