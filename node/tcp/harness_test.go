package tcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const (
	ms  = unit.Millisecond
	mss = 1460
)

// defaults are the parameters of a flow that says nothing, changed.
func defaults(change ...func(p *Params)) Params {
	p := param.Defaults(Params{})
	for _, c := range change {
		c(&p)
	}
	return p
}

func recovery(r Recovery) func(p *Params) { return func(p *Params) { p.Recovery = r } }

// journal keeps events.
type journal struct{ all []trace.Event }

// Record keeps an event.
func (j *journal) Record(e *trace.Event) { j.all = append(j.all, *e) }

// of returns the events of a kind, as "10ms: A B".
func (j *journal) of(k trace.Kind) (all []string) {
	for _, e := range j.all {
		if e.Kind == k {
			all = append(all, fmt.Sprintf("%v: %d %d", e.At, e.A, e.B))
		}
	}
	return all
}

// why returns the reasons of the events of a kind.
func (j *journal) why(k trace.Kind) (all []string) {
	for _, e := range j.all {
		if e.Kind == k {
			all = append(all, trace.Reason(e.A).String())
		}
	}
	return all
}

// script is one end of a connection and what the test says to it. Times never decrease.
type script struct {
	*testing.T
	journal
	s   *Sender
	r   *Receiver
	now unit.Time
	out []string
	iss uint32 // of the other end
	win uint16 // its window, as last given
}

// wide is a window that never limits.
const wide = 65535 << 4

const ourISS, theirISS = 0xFFFFF000, 7000 // ours wrap early

// source returns a script of a Sender.
func source(t *testing.T, p Params) *script {
	c := &script{T: t, iss: theirISS, win: 65535 >> 4}
	rec := trace.NewRecorder(0, &c.journal)
	c.s = NewSender(p, mss+wire.TCPOverhead, ourISS, trace.Event{Flow: 9}, &rec)
	return c
}

// opened returns one whose connection was opened at 0 in a round trip of 100 ms, with a
// window. The application writes without end, and the first window has left.
func opened(t *testing.T, p Params, window int) *script {
	c := source(t, p)
	c.s.Greedy(true)
	c.run()
	c.at(100 * ms)
	c.in(fmt.Sprintf("SA ack=1 mss=1460 win=%d scale=4 sackok", min(window, 65535)))
	if window > 65535 {
		c.in(fmt.Sprintf("A ack=1 win=%d", window>>4))
	}
	c.win, c.out = uint16(window>>4), nil
	return c
}

// sink returns a script of a Receiver that has got SYN, and whose answer is out.
func sink(t *testing.T, p Params) *script {
	c := &script{T: t, iss: ourISS}
	rec := trace.NewRecorder(0, &c.journal)
	c.r = NewReceiver(p, mss+wire.TCPOverhead, theirISS, trace.Event{Flow: 9}, &rec)
	c.in("S mss=1460 scale=0 sackok")
	c.in("A seq=1 ack=1")
	c.out, c.all = nil, nil
	return c
}

// at lets time go on, and the end do what is due.
func (c *script) at(d unit.Duration) {
	for t := unit.Time(d); c.now < t; {
		c.now = min(t, max(c.deadline(), c.now+1))
		if c.deadline() <= c.now {
			c.run()
		}
	}
}

func (c *script) deadline() unit.Time {
	if c.s != nil {
		return c.s.Deadline()
	}
	return c.r.Deadline()
}

// run has the end send what it has to.
func (c *script) run() {
	if c.r != nil {
		c.r.Advance(c.now)
		for g, ok := c.r.Next(c.now); ok; g, ok = c.r.Next(c.now) {
			c.sent(g, theirISS, ourISS)
		}
		return
	}
	c.s.Advance(c.now)
	for g, _, ok := c.s.Next(c.now); ok; g, _, ok = c.s.Next(c.now) {
		c.sent(g, ourISS, theirISS)
		c.s.Sent(c.now, &g)
	}
}

// sent notes a segment: "10ms AP 1+1460 ack=1".
func (c *script) sent(g wire.Segment, seq, ack uint32) {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s %d+%d", c.now, flags(g.Flags), g.Seq-seq, g.Length)
	if g.Flags&wire.ACK != 0 {
		fmt.Fprintf(&b, " ack=%d", g.Ack-ack)
	}
	if c.r != nil && (c.r.shift == 0 || g.Flags&wire.SYN != 0) {
		fmt.Fprintf(&b, " win=%d", g.Window)
	}
	if g.MSS > 0 {
		fmt.Fprintf(&b, " mss=%d", g.MSS)
	}
	if g.ECT {
		b.WriteString(" ect")
	}
	for _, k := range g.SACK {
		if k != (wire.SACKBlock{}) {
			fmt.Fprintf(&b, " sack=%d-%d", k.Left-ack, k.Right-ack)
		}
	}
	c.out = append(c.out, b.String())
}

const letters = "FSRPAUEC"

func flags(f uint8) string {
	var b strings.Builder
	for i, l := range letters {
		if f>>i&1 == 1 {
			b.WriteRune(l)
		}
	}
	return b.String()
}

// in hands a segment to the end, as text: flags, and what differs from zero, relative to the
// initial sequence numbers.
func (c *script) in(text string) {
	seq, ack := uint32(theirISS), uint32(ourISS)
	g := wire.Segment{Back: true}
	if c.r != nil {
		seq, ack, g.Back = ourISS, theirISS, false
	}
	for i, word := range strings.Fields(text) {
		if i == 0 {
			for k, l := range letters {
				if strings.ContainsRune(word, l) {
					g.Flags |= 1 << k
				}
			}
			g.Seq, g.Ack, g.Window = seq, ack, c.win
			if g.Flags&wire.SYN == 0 {
				g.Seq++
			}
			continue
		}
		var n, m uint32
		key, value, _ := strings.Cut(word, "=")
		if k, _ := fmt.Sscanf(value, "%d-%d", &n, &m); k == 0 && value != "" {
			c.Fatalf("%q", text)
		}
		switch key {
		case "seq":
			g.Seq = seq + n
		case "ack":
			g.Ack = ack + n
		case "len":
			g.Length = n
		case "win":
			g.Window, c.win = uint16(n), uint16(n)
		case "mss":
			g.MSS = uint16(n)
		case "scale":
			g.Scales, g.Scale = true, uint8(n)
		case "sackok":
			g.SACKPermitted = true
		case "ce":
			g.CE = true
		case "sack":
			for k := range g.SACK {
				if g.SACK[k] == (wire.SACKBlock{}) {
					g.SACK[k] = wire.SACKBlock{Left: ack + n, Right: ack + m}
					break
				}
			}
		default:
			c.Fatalf("%q", text)
		}
	}
	if c.s != nil {
		c.s.Receive(c.now, &g)
	} else {
		c.r.Receive(c.now, &g)
	}
	c.run()
}

// want checks what was sent since the last time.
func (c *script) want(out ...string) {
	c.Helper()
	if diff := cmp.Diff(append([]string{}, out...), append([]string{}, c.out...)); diff != "" {
		c.Errorf("at %v (-want +got):\n%s", c.now, diff)
	}
	c.out = nil
}

// first checks the first of the segments that were sent since the last time, and how many
// there were.
func (c *script) first(n int, out ...string) {
	c.Helper()
	if len(c.out) != n {
		c.Errorf("at %v: %d segments were sent, want %d: %q", c.now, len(c.out), n, c.out)
	}
	if k := min(len(out), len(c.out)); true {
		c.out = c.out[:k]
	}
	c.want(out...)
}
