package limitertest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"testing"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Config says which limiter is tested, and how.
type Config struct {
	// New returns a new limiter at rate r. It is called several times.
	New func(r unit.Rate) node.RateLimiter
	// Rate is the highest rate that it is set to; default: 1 Gb/s. The others are a
	// quarter and a half of it.
	Rate unit.Rate
	// Packet is the length of the packets on the line, 72 to 4000 bytes; default: 1500 B.
	Packet unit.Size
	// Burst is how many bytes it may let go beside its rate, or withhold; default: two
	// packets. It should be small beside 100 packets.
	Burst unit.Size
	// Share is by which part of it the rate in the long run may differ from the one that
	// was set, 0 to 1; default: 0.02.
	Share float64
}

// The rates change in the run when so many packets could have left at the highest.
const packetsPerRate = 150

// Test checks the contract of node.RateLimiter: what the limiter answers, that it does not
// allocate, how much it lets go in the long run while its rate changes in mid-flight; and
// on the virtual and the wall clock that it is called as the contract says.
func Test(t *testing.T, c Config) {
	t.Helper()
	c.Rate = cmp.Or(c.Rate, 1e9)
	c.Packet = cmp.Or(c.Packet, 1500)
	c.Burst = cmp.Or(c.Burst, 2*c.Packet)
	c.Share = cmp.Or(c.Share, 0.02)
	t.Run("calls", c.calls)
	t.Run("allocations", c.allocations)
	var virtual unit.Size
	t.Run("virtual clock", func(t *testing.T) {
		w, _ := c.run(t, emu.Options{Clock: emu.VirtualClock}, 1)
		c.judge(t, w)
		virtual = w.SentBytes()
	})
	t.Run("wall clock", func(t *testing.T) {
		if virtual == 0 {
			t.Skip("nothing to compare with: the run on the virtual clock has failed")
		}
		c.wall(t, virtual)
	})
}

// end is how long a run goes on.
func (c *Config) end() unit.Duration { return 3 * c.phase() }

// phase is how long each rate is set.
func (c *Config) phase() unit.Duration { return packetsPerRate * c.Rate.Serialise(c.Packet) }

// rateAt returns the rate in a phase.
func (c *Config) rateAt(phase int) unit.Rate { return c.Rate / []unit.Rate{1, 4, 2}[phase] }

// calls lets a flow go that always has a packet, and changes the rate while it waits.
func (c *Config) calls(t *testing.T) {
	w := NewWatch(c.New(c.Rate), c.Rate)
	now, end, phase := unit.Time(0), unit.Time(c.end()), 0
	for now < end {
		next := w.Next(now, c.Packet)
		if next == now {
			w.Sent(now, c.Packet)
			if next = w.Next(now, c.Packet); next == now {
				continue // a burst
			}
		}
		change := end
		if phase < 2 {
			change = unit.Time(unit.Duration(phase+1) * c.phase())
		}
		if now = min(next, change); now == change && phase < 2 {
			phase++
			w.SetRate(now, c.rateAt(phase))
		}
		if w.Err() != nil {
			break
		}
	}
	c.judge(t, w)
}

// allocations counts those of a packet and of a change of the rate.
func (c *Config) allocations(t *testing.T) {
	l := c.New(c.Rate)
	now := unit.Time(0)
	packet := func() {
		for next := l.Next(now, c.Packet); next > now && next != unit.Never; next = l.Next(now, c.Packet) {
			now = next
		}
		l.Sent(now, c.Packet)
		l.SetRate(now, c.Rate/2)
		l.SetRate(now, c.Rate)
	}
	if n := testing.AllocsPerRun(200, packet); n != 0 {
		t.Errorf("a packet makes the limiter allocate %v times, want 0", n)
	}
}

// judge reports which clauses of the contract were broken, and whether the rate is right.
func (c *Config) judge(t *testing.T, w *Watch) {
	t.Helper()
	if err := w.Err(); err != nil {
		t.Error(err)
	}
	sent, allowed := float64(w.SentBytes()), w.AllowedBytes(unit.Time(c.end()))
	if math.Abs(sent-allowed) > c.Share*allowed+float64(c.Burst) {
		t.Errorf("%.0f bytes have started in %v, and the rates that were set are %.0f bytes", sent, c.end(), allowed)
	}
}

// wall runs on the wall clock, slower and slower until the computer keeps up.
func (c *Config) wall(t *testing.T, virtual unit.Size) {
	packet := int64(c.Rate.Serialise(c.Packet))
	for _, ms := range []int64{1, 4, 16} { // of wall time for a packet
		dilation := max(1, ms*int64(unit.Millisecond)/packet)
		w, r := c.run(t, emu.Options{Clock: emu.WallClock, Timing: emu.ActualTiming, Verify: emu.VerifyOff}, dilation)
		if err := w.Err(); err != nil {
			t.Fatalf("dilation %d: %v", dilation, err)
		}
		share := float64(w.SentBytes()) / float64(virtual)
		slack := c.Share + float64(c.Burst)/float64(virtual)
		t.Logf("dilation %d: %.4f of the bytes of the virtual clock; the verdict is %s", dilation, share, r.Verdict.Level)
		if share > 1+slack {
			t.Fatalf("%.4f of the bytes of the virtual clock have started, want at most %.4f", share, 1+slack)
		}
		if share >= 1-slack {
			return
		}
		if level := r.Verdict.Level; level.Strict() {
			t.Fatalf("%.4f of the bytes of the virtual clock have started in a run that is %s, want %.4f at least", share, level, 1-slack)
		}
	}
	t.Skip("this computer is too late, or too busy, to tell whether the limiter lets go as much as on the virtual clock")
}

// run lets the limiter pace a flow that always has a packet over one link.
func (c *Config) run(t *testing.T, o emu.Options, dilation int64) (*Watch, *emu.Result) {
	t.Helper()
	text := fmt.Sprintf(`
name: limitertest
model: {duration: %v}
wall: {dilation: %d}
defaults:
  link: {rate: %v, flow-control: none}
endpoints: [a, b]
links: [a - b]
flows:
  - {name: paced, from: a, to: b, packet: %v, jitter: 0s}
`, c.end(), dilation, 4*c.Rate, c.Packet-c.overhead())
	s, err := scenario.Load("limitertest.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var w *Watch
	o.Schemes = emu.Schemes{
		Limiter: func(*fabric.Flow, unit.Rate) node.RateLimiter {
			w = NewWatch(c.New(c.Rate), c.Rate)
			return w
		},
		Controller: func(*fabric.Flow, unit.Rate) rp.Controller { return &steps{config: c} },
	}
	r, err := emu.Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if w.Changes() != 3 {
		t.Fatalf("the rate was set %d times, want 3", w.Changes())
	}
	return w, r
}

// overhead returns what a packet is longer by on the line than its payload.
func (c *Config) overhead() unit.Size {
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: 1000}
	return wire.PaperFraming.Length(&f) - 1000
}

// steps is a reaction point that changes its rate with each phase.
type steps struct {
	config *Config
	phase  int
}

func (*steps) Sent(unit.Time, unit.Size)      {}
func (*steps) Feedback(unit.Time, wire.Frame) {}

// Advance begins the phases that are due.
func (s *steps) Advance(now unit.Time) {
	for s.Deadline() <= now {
		s.phase++
	}
}

// Rate returns that of the phase.
func (s *steps) Rate() unit.Rate { return s.config.rateAt(s.phase) }

// Deadline returns when the next phase begins.
func (s *steps) Deadline() unit.Time {
	if s.phase == 2 {
		return unit.Never
	}
	return unit.Time(unit.Duration(s.phase+1) * s.config.phase())
}
