//go:build linux && timing

package measure

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A path is what one connection of TCP crosses: a sender, a bottleneck with a queue before it, a
// receiver.
type path struct {
	name    string
	room    int           // packets that the queue holds, with the one that is being sent
	delay   time.Duration // of each ACK on its return path
	sack    bool
	early   bool // the queue is RED
	plain   bool // nothing that RFC 5681, 6582 and 6675 do not have; else what the kernel comes with
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
	resent  []time.Duration // when each segment was retransmitted, from the start on
	dropped int             // packets, by the queue
}

// progress is how many bytes were acknowledged at an instant.
type progress struct {
	at    time.Duration
	bytes uint64
}

// figures are those by which two courses are compared.
type figures struct {
	goodput float64       // bytes acknowledged in the steady state, over the most that cross the bottleneck
	start   int           // segments retransmitted before the steady state
	resent  int           // and in it
	cuts    int           // of the window, in the steady state: groups of segments retransmitted
	period  time.Duration // of the sawtooth: from one cut to the next, on average
}

// figures leaves out of rates and periods what comes before the steady state. What is retransmitted
// within three times the longest round trip belongs to one cut: a recovery of NewReno repairs a
// loss each round trip.
func (c course) figures(p path, steady time.Duration) figures {
	var f figures
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
		if at <= steady {
			f.start++
		} else {
			f.resent++
		}
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
	{name: "as Linux comes", room: 20, initial: 10, sack: true},
	{name: "RED", room: 40, plain: true, initial: 2, sack: true, early: true},
}

// sawtooth is the period of Reno's window on a path by its algorithm: from half of the largest
// window on, one packet more in each round trip, which is the time that the window takes to cross
// the bottleneck, or the shortest round trip if that is more; and a round trip for the recovery.
func (p path) sawtooth() (period time.Duration) {
	shortest := p.delay + packetTime
	largest := p.room + int(p.delay/packetTime) + 1
	trip := func(window int) time.Duration { return max(shortest, time.Duration(window)*packetTime) }
	for w := largest / 2; w <= largest; w++ {
		period += trip(w)
	}
	return period + trip(largest)
}

// courseOf is a run of a fabric as a course.
type courseOf struct {
	course
	bytes uint64
}

func (c *courseOf) Record(e *trace.Event) {
	at := time.Duration(e.At / unit.Time(unit.Nanosecond))
	switch e.Kind {
	case trace.Deliver:
		c.bytes += uint64(e.B)
		c.acked = append(c.acked, progress{at, c.bytes})
	case trace.Retransmit:
		c.resent = append(c.resent, at)
	case trace.Drop:
		c.dropped++
	}
}

// fabric sends over a path for this long with the TCP of package node/tcp, on the wall clock at a
// dilation of 1, and returns the verdict too.
func fabric(ctx context.Context, p path, length time.Duration) (course, report.Level, error) {
	recovery, delayed, marking := "newreno", "none", "{scheme: none}"
	if p.sack {
		recovery = "sack"
	}
	if !p.plain {
		delayed = "40ms"
	}
	if p.early {
		marking = fmt.Sprintf("{scheme: red, version: tc, min: %dB, max: %dB, mean-packet: %dB, burst: %d}", redMin*packet, redMax*packet, packet, redBurst)
	}
	s, err := resolve.Load("tcp.yaml", fmt.Appendf(nil, `
name: tcp
model: {duration: %dns}
wall: {dilation: 1}
defaults:
  link: {rate: 1Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: %dB per port, marking: %s}
  flow: {packet: %dB, transport: {kind: tcp, recovery: %s, steady: true, initial-window: %d, delayed-ack: %s, min-rto: 200ms}}
switches: {router: {}}
endpoints: [sender, receiver]
links:
  - sender - router
  - {name: bottleneck, between: router - receiver, rate: %dkb/s, propagation: %dns}
flows:
  - {name: stream, from: sender, to: receiver}
`, length, p.room*packet, marking, packet, recovery, p.initial, delayed, packet*8*time.Second/packetTime/1000, max(p.delay/2, time.Microsecond)), nil)
	if err != nil {
		return course{}, "", err
	}
	var c courseOf
	r, err := emu.Run(ctx, s, emu.Options{Sink: &c, Verify: emu.VerifyOff})
	if err != nil {
		return course{}, "", err
	}
	return c.course, r.Verdict.Level, nil
}

// TestWallTCPBesideTheKernel compares the fabric's TCP with Linux' Reno over a bottleneck made by
// tc, with the same rate, queue, delay and segments: in the steady state throughput within 10 %,
// the number of segments retransmitted within a factor of two, the period of the window's sawtooth
// within 20 %. docs/notes/validation.md has the results of a long run.
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
	length, steady, list := 5*time.Second, time.Second, paths[1:2]
	if *long > 0 {
		length, steady, list = *long, *long/5, paths
	}
	if !l.hasRED(ctx) {
		t.Log("this kernel has no RED (sch_red): its queues are bfifo")
		list = slices.DeleteFunc(slices.Clone(list), func(p path) bool { return p.early })
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| path | TCP of | throughput (%%) | cuts | period (ms) | by the law (ms) | sent again | and at the start | dropped in all | verdict |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, p := range list {
		t.Run(p.name, func(t *testing.T) { beside(ctx, t, l, p, length, steady, &table) })
	}
	t.Log("\n" + table.String())
}

// beside runs both over a path and compares them; it appends two rows to the table.
func beside(ctx context.Context, t *testing.T, l *lab, p path, length, steady time.Duration, table *strings.Builder) {
	c, err := l.run(ctx, p, length)
	if err != nil {
		t.Fatal(err)
	}
	kernel := c.figures(p, steady)
	row(table, p, "Linux", kernel, c.dropped, "")
	c, level, err := fabric(ctx, p, length)
	if err != nil {
		t.Fatal(err)
	}
	ours := c.figures(p, steady)
	row(table, p, "fabemu", ours, c.dropped, level)
	for _, r := range []struct {
		of        string
		ours      float64
		kernel    float64
		low, high float64
	}{
		{"throughput", ours.goodput, kernel.goodput, 0.9, 1.1},
		{"segments sent again", float64(ours.resent), float64(kernel.resent), 0.5, 2},
		{"period of the sawtooth", milliseconds(ours.period), milliseconds(kernel.period), 0.8, 1.2},
	} {
		if ratio := r.ours / r.kernel; !(ratio >= r.low && ratio <= r.high) {
			t.Errorf("%s: %.4g, and %.4g in the kernel", r.of, r.ours, r.kernel)
		}
	}
}

// row appends a row of the table.
func row(b *strings.Builder, p path, who string, f figures, dropped int, level report.Level) {
	algorithm := "-" // RED drops before the queue is full
	if !p.early {
		algorithm = fmt.Sprintf("%.0f", milliseconds(p.sawtooth()))
	}
	fmt.Fprintf(b, "| %s | %s | %.1f | %d | %.0f | %s | %d | %d | %d | %s |\n", p.name, who, 100*f.goodput, f.cuts,
		milliseconds(f.period), algorithm, f.resent, f.start, dropped, level)
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
