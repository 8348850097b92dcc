package switchd_test

import (
	"testing"

	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// trimming is a switch without flow control that trims; its last port leads to a switch.
func trimming(n int) switchd.OutputQueuedConfig {
	c := outputQueued(n)
	c.High, c.Low, c.Memory = 0, 0, 30_000*unit.Size(n)
	for i := range c.Ports {
		c.Ports[i].FlowControl = port.NoFlowControl
		c.LastHop = append(c.LastHop, i < n-1)
	}
	c.Trim = switchd.Trimming{Size: 128, Priority: 6, DSCP: 11, LastHopDSCP: 21, Limit: 256}
	return c
}

// packetOf is a data packet of RoCEv2 with a payload of 1024 bytes.
func packetOf(flow uint32, to int, lane uint8) wire.Frame {
	f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Lane: lane, Dst: wire.LID(to + 1), QP: flow, Payload: 1024}
	f.SetRoCE(wire.RoCE{DSCP: 3, ECT: true})
	return f
}

// What an output or the memory has no room for is cut, and its headers go on: with another priority
// and the DSCP that says what follows. What has no room for these either is dropped, and so is what
// cannot be cut. Each packet ends in one of three ways.
func TestTrimming(t *testing.T) {
	for name, change := range map[string]func(*switchd.OutputQueuedConfig){
		"a full partition":   func(*switchd.OutputQueuedConfig) {},
		"a full pool":        func(c *switchd.OutputQueuedConfig) { c.Pooled, c.Memory = true, 60_000 },
		"a limit of outputs": func(c *switchd.OutputQueuedConfig) { c.OutputLimit = 10 * 1068 },
		"both":               func(c *switchd.OutputQueuedConfig) { c.OutputLimit, c.Memory = 22_000, 120_000 },
		"PFC of another priority": func(c *switchd.OutputQueuedConfig) {
			c.Lossless, c.High, c.Low = 1<<3, 25_000, 20_000
			for i := range c.Ports {
				c.Ports[i].FlowControl = port.PriorityPauseFrames
			}
		},
		"alpha": func(c *switchd.OutputQueuedConfig) {
			c.Pooled, c.Memory, c.Lossless, c.Dynamic = true, 400_000, 1<<3, switchd.Dynamic{Alpha: 0.125, Shared: 100_000}
			for i := range c.Ports {
				c.Ports[i].FlowControl = port.PriorityPauseFrames
			}
		},
		"cut-through": func(c *switchd.OutputQueuedConfig) { c.CutThrough, c.OutputLimit = true, 10*1068 },
	} {
		for to, dscp := range map[int]uint8{3: 21, 4: 11} { // the DSCPs of both kinds of output
			c := trimming(5)
			change(&c)
			p := newPlant(t, c)
			for i := range 3 {
				p.offer(i, packetOf(uint32(i+1), to, 0), 200)
			}
			p.run(1000 * t1500)
			whole, cut := 0, 0
			for _, a := range p.stations[to].came {
				switch f := a.frame; {
				case f.Kind == wire.Data:
					whole++
				case f.Kind != wire.Trimmed || f.Lane != 6 || f.DSCP != dscp || f.Payload != 1024 || wire.PaperFraming.Length(&f) != 128:
					t.Fatalf("%s: %+v", name, f)
				default:
					cut++
				}
			}
			dropped := p.count(trace.Drop, trace.TrimFull)
			if cut == 0 || dropped == 0 || whole+cut+dropped != 600 || p.count(trace.Drop, trace.Trimmed) != cut || p.count(trace.Drop) != cut+dropped {
				t.Errorf("%s: %d came whole and %d cut, %d were dropped; %d drops", name, whole, cut, dropped, p.count(trace.Drop))
			}
			trims, full, longest := 0, 0, int64(0)
			for _, e := range p.events {
				switch {
				case e.Kind == trace.Queue && e.Lane == 6:
					longest = max(longest, e.B)
				case e.Kind != trace.Trim:
				case int(e.Port) != to || e.Bytes != 128 || e.Lane != 6 || (e.A == 1) != (dscp == 21):
					t.Fatalf("%s: %+v", name, e)
				case e.B == 0:
					trims++
				default:
					full++
				}
			}
			if trims != cut || full != dropped || longest != 256 {
				t.Errorf("%s: %d are said to be trimmed and %d dropped, want %d and %d; their queue had %d bytes, want 256", name, trims, full, cut, dropped, longest)
			}
			if len(p.broken) > 0 {
				t.Errorf("%s: %+v", name, p.broken[0])
			}
		}
	}
}

// Frames that cannot be cut are dropped as without trimming.
func TestTrimmingSpares(t *testing.T) {
	c := trimming(3)
	p := newPlant(t, c)
	p.offer(0, ether(1, 2, 0), 100)
	p.offer(1, ether(2, 2, 0), 100)
	p.run(500 * t1500)
	if n := p.count(trace.Drop); n == 0 || p.count(trace.Drop, trace.BufferFull) != n || p.count(trace.Trim) > 0 {
		t.Errorf("%d drops, %d because the memory is full; %d are trimmed", n, p.count(trace.Drop, trace.BufferFull), p.count(trace.Trim))
	}
}

// A packet that was cut before takes memory as any frame does, and where there is none that of its
// own: so it overtakes what waits, and is dropped only at Limit.
func TestTrimmedPacketsPass(t *testing.T) {
	c := trimming(3)
	c.Memory, c.Trim.Limit = 9000, 640
	p := newPlant(t, c)
	f := packetOf(2, 2, 6)
	if !f.Trim(128, 11) {
		t.Fatal("not cut")
	}
	p.offer(0, packetOf(1, 2, 0), 50)
	p.offer(1, f, 400)
	p.run(500 * t1500)
	cut, own := 0, 0
	for _, a := range p.stations[2].came {
		switch {
		case a.frame.QP == 2 && a.frame.DSCP == 11:
			cut++
		case a.frame.QP == 1 && a.frame.Kind == wire.Trimmed:
			own++
		}
	}
	dropped := 0
	for _, e := range p.events {
		if e.Kind == trace.Drop && e.Flow == 2 {
			if dropped++; trace.Reason(e.A) != trace.TrimFull || e.B != int64(wire.Trimmed) {
				t.Fatalf("%+v", e)
			}
		}
	}
	if cut < 300 || own == 0 || cut+dropped != 400 {
		t.Errorf("%d of 400 have passed, %d were dropped; %d were cut here", cut, dropped, own)
	}
}

// A switch that restarts, or whose routes change, forgets no bytes that come for an output.
func TestTrimmingAfterARestart(t *testing.T) {
	c := trimming(3)
	c.OutputLimit = 3 * 1068
	p := newPlant(t, c)
	p.offer(0, packetOf(1, 2, 0), 100)
	p.offer(1, packetOf(2, 2, 0), 100)
	p.run(20 * t1500)
	p.sw.Apply(p.now, 0, port.Restart{})
	for i := range c.Ports {
		p.sw.Apply(p.now, port.ID(i), port.LinkUp{})
	}
	before := p.count(trace.Trim)
	p.run(500 * t1500)
	if n := p.count(trace.Trim) - before; n == 0 {
		t.Error("nothing is trimmed after a restart")
	}
	for _, e := range p.events[len(p.events)-40:] {
		if e.Kind == trace.Queue && e.Lane == 6 && e.B > int64(c.Trim.Limit) {
			t.Errorf("%d bytes wait, and the limit is %d", e.B, c.Trim.Limit)
		}
	}
}

// The queue of trimmed packets does not count for the limit of an output: data has all of it,
// however many headers wait.
func TestTrimmedPacketsLeaveTheLimit(t *testing.T) {
	c := trimming(4)
	c.OutputLimit, c.Trim.Limit = 5*1068, 5000
	p := newPlant(t, c)
	f := packetOf(2, 3, 6)
	if !f.Trim(128, 11) {
		t.Fatal("not cut")
	}
	p.offer(0, packetOf(1, 3, 0), 50)
	p.offer(1, f, 400)
	p.offer(2, f, 400)
	p.run(500 * t1500)
	longest := int64(0)
	for _, e := range p.events {
		if e.Kind == trace.Queue && e.Lane == 0 {
			longest = max(longest, e.B)
		}
	}
	if longest != 5*1068 {
		t.Errorf("at most %d bytes of data waited, want %d", longest, 5*1068)
	}
}

// ACKs of the priority of trimmed packets take their memory where data fill the rest: otherwise a
// source would not hear what was trimmed. Those of another priority are dropped.
func TestAcksOfTrimmedPackets(t *testing.T) {
	for lane, all := range map[uint8]bool{6: true, 5: false} {
		c := trimming(4)
		c.Pooled, c.Memory, c.Trim.Limit = true, 20*1068, 20_000
		p := newPlant(t, c)
		ack := wire.Frame{Kind: wire.Ack, Family: wire.RoCEv2, Lane: lane, Dst: wire.LID(2), QP: 3}
		ack.SetRoCE(wire.RoCE{DSCP: 48})
		p.offer(1, packetOf(1, 3, 0), 200)
		p.offer(2, packetOf(2, 3, 0), 200)
		p.run(15*t1500 + t1500*3/4) // the memory is full until the next packet has left
		p.offer(0, ack, 200)
		p.run(1000 * t1500)
		came := 0
		for _, a := range p.stations[1].came {
			if a.frame.Kind == wire.Ack && a.frame.Lane == lane {
				came++
			}
		}
		full := 0
		for _, e := range p.events {
			if e.Kind == trace.Drop && e.Flow == 3 {
				full++
			}
		}
		if came+full != 200 || (came == 200) != all {
			t.Errorf("priority %d: %d of 200 ACKs came and %d were dropped", lane, came, full)
		}
	}
}
