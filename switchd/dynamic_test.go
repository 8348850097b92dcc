package switchd_test

import (
	"testing"

	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// dynamic describes a switch of n ports whose watermarks follow the free memory, with the headroom
// of all inputs and priorities in addition to the shared memory.
func dynamic(n int, kind port.FlowControl, alpha float64, shared unit.Size) switchd.OutputQueuedConfig {
	c := outputQueued(n)
	c.High, c.Low, c.Pooled, c.Lossless, c.Memory = 0, 0, true, 0xFF, shared
	c.Dynamic = switchd.Dynamic{Alpha: alpha, Shared: shared, Offset: 2 * mtu}
	for i := range c.Ports {
		c.Ports[i].FlowControl = kind
		c.Memory += headroomOf(c.Ports[i], kind)
	}
	return c
}

// headroomOf is the headroom of a port with frames of 1500 bytes.
func headroomOf(c port.Config, kind port.FlowControl) unit.Size {
	h := port.Headroom{Rate: c.Rate, There: c.Propagation, Back: c.Propagation, Frame: mtu, Reverse: mtu,
		Pause: c.Framing.Length(&wire.Frame{Kind: wire.Pause}), Dynamic: true}
	n := h.Bytes()
	if kind == port.PriorityPauseFrames {
		n *= port.Priorities
	}
	return n
}

// taken returns what each input occupies at an instant, by its last report.
func (p *plant) taken(at unit.Time) map[uint16]int64 {
	all := map[uint16]int64{}
	for _, e := range p.events {
		switch kind, _, _ := trace.FrameOf(e.A); {
		case e.At > at:
		case e.Kind == trace.Release || e.Kind == trace.Arrive && kind == wire.Data:
			all[e.Port] = e.B
		}
	}
	return all
}

// "The maximum permissible length, for any individual queue at any instant of time, is proportional
// to the unused buffering in the switch": n inputs that fill at the same pace stop when each has
// alpha B / (1 + n alpha), and B / (1 + n alpha) stays free (Choudhury and Hahne). A frame that
// comes with the last of others is compared before them, and another frame reaches the watermark.
func TestDynamicWatermarksShare(t *testing.T) {
	const shared = 400 * mtu
	for _, alpha := range []float64{0.125, 0.5, 1, 4} {
		for _, n := range []int{1, 2, 5, 8} {
			c := dynamic(n+1, port.PauseFrames, alpha, shared)
			c.Ports[n].Rate = tenGig / 1e6 // nothing leaves
			p := newPlant(t, c)
			for i := range n {
				p.offer(i, ether(uint32(i+1), n, 0), 400)
			}
			p.run(1000 * t1500)
			want := alpha * shared / (1 + float64(n)*alpha)
			for i := range n {
				var at unit.Time
				for _, e := range p.events {
					if kind, _, _ := trace.FrameOf(e.A); at == 0 && e.Kind == trace.Start && e.Port == uint16(i) && kind == wire.Pause {
						at = e.At
					}
				}
				if got := float64(p.taken(at)[uint16(i)]); at == 0 || got < want-mtu || got > want+2*mtu {
					t.Errorf("alpha %v, %d inputs: input %d is stopped at %v with %v bytes, want %.0f", alpha, n, i, at, got, want)
				}
			}
			p.whole()
		}
	}
}

// When memory becomes free the watermark of all inputs rises: one that was stopped, and whose
// headroom is free, resumes at once, although none of its own frames leaves.
func TestDynamicWatermarksRiseForAll(t *testing.T) {
	c := dynamic(4, port.PauseFrames, 1, 300*mtu)
	c.Dynamic.Offset = 10 * mtu
	c.Ports[2].Rate, c.Ports[3].Rate = tenGig/1000, tenGig
	p := newPlant(t, c)
	p.stations[3].port.Pausing().Stop(0)
	p.offer(0, ether(1, 3, 0), 100)
	p.run(140 * t1500)
	p.offer(1, ether(2, 2, 0), 400)
	p.run(3700 * t1500) // three frames have left
	stopped := p.taken(p.now)
	if quanta := p.stations[1].told; len(quanta) == 0 || quanta[len(quanta)-1] == 0 || stopped[0] < 99*mtu {
		t.Fatalf("%v are taken, and input 1 was told %v", stopped, quanta)
	}
	from := p.now
	p.stations[3].port.Pausing().Resume(0)
	p.run(from + 280*t1500)
	for _, e := range p.events {
		if e.Kind == trace.Release && e.Port == 1 && e.At > from {
			t.Fatalf("at %v a frame of input 1 has left", e.At)
		}
	}
	// It resumes when the watermark is the offset above what it has. Frames leave as fast as its
	// own come, so the watermark stays, and stops it again behind as many.
	want := stopped[1] + 10*mtu
	if got := p.taken(p.now)[1]; got < want || got > want+2*mtu {
		t.Errorf("in the end it has %d bytes, want %d, and was told %v", got, want, p.stations[1].told)
	}
	p.whole()
}

// With the headroom of all inputs nothing is lost, whatever comes, and in the end the memory is
// free: PAUSE and PFC, small and large alpha, a shared memory of few frames and of many. Without
// the headroom frames are lost.
func TestDynamicWatermarksAreLossless(t *testing.T) {
	lost := 0
	for seed := range uint64(120) {
		r := unit.NewRandom(seed, 3)
		n := 2 + int(r.Below(5))
		kind := []port.FlowControl{port.PauseFrames, port.PriorityPauseFrames}[seed%2]
		c := dynamic(n, kind, []float64{1. / 128, 0.3, 1, 8, 100}[r.Below(5)], unit.Size(1+r.Below(60))*mtu/2)
		c.Dynamic.Offset, c.Low = unit.Size(r.Below(5))*mtu, unit.Size(r.Below(3))*mtu
		c.CutThrough = r.Below(2) == 0
		for i := range c.Ports {
			c.Ports[i].Rate = tenGig / unit.Rate(1+r.Below(4))
		}
		short := seed%3 == 0
		if short {
			c.Memory = c.Dynamic.Shared + mtu
		}
		p := newPlant(t, c)
		offered := 0
		for i := range 4 * n {
			k := int(r.Below(60))
			p.offer(int(r.Below(uint64(n))), ether(uint32(i+1), int(r.Below(uint64(n))), uint8(r.Below(8))), k)
			offered += k
		}
		p.run(unit.Time(offered+100) * 8 * t1500)
		p.conserved(&c)
		if short {
			lost += p.dropped + len(p.broken)
			continue
		}
		p.whole()
		came := 0
		for i := range n {
			for _, k := range p.inOrder(i) {
				came += k
			}
		}
		if came != offered {
			t.Errorf("seed %d: %d of %d frames came", seed, came, offered)
		}
	}
	if lost == 0 {
		t.Error("without the headroom nothing was lost")
	}
}

// A priority without flow control occupies no more than the watermark, and no headroom.
func TestDynamicWatermarksDrop(t *testing.T) {
	c := dynamic(3, port.PriorityPauseFrames, 1, 100*mtu)
	c.Lossless = 1 << 3
	c.Ports[2].Rate = tenGig / 1e6
	p := newPlant(t, c)
	p.offer(0, ether(1, 2, 0), 200)
	p.run(400 * t1500)
	if got := p.taken(p.now)[0]; got != 50*mtu || p.count(trace.Drop, trace.BufferFull) != 150 {
		t.Errorf("%d bytes are taken and %d frames dropped, want %d and 150", got, p.count(trace.Drop), 50*mtu)
	}
	p.offer(1, ether(2, 2, 3), 200)
	p.run(800 * t1500)
	if got := p.taken(p.now)[1]; got < 25*mtu || p.stations[1].stopped == 0 || len(p.broken) > 0 {
		t.Errorf("the other input has %d bytes, and was stopped %d times: %v", got, p.stations[1].stopped, p.broken)
	}
}

// A restart frees everything.
func TestDynamicWatermarksAfterARestart(t *testing.T) {
	c := dynamic(2, port.PauseFrames, 1, 20*mtu)
	c.Ports[1].Rate = tenGig / 1000
	p := newPlant(t, c)
	p.offer(0, ether(1, 1, 0), 40)
	p.run(50 * t1500)
	p.sw.Apply(p.now, 0, port.Restart{})
	for i := range p.stations {
		p.sw.Apply(p.now, port.ID(i), port.LinkUp{})
	}
	from, restarted := p.now, len(p.events)
	p.run(from + 3000*t1500)
	most := int64(0)
	for _, e := range p.events[restarted:] {
		if e.Kind == trace.Arrive {
			most = max(most, e.B)
		}
	}
	if most < 10*mtu || most > 14*mtu {
		t.Errorf("after the restart it has taken up to %d bytes, want 10 to 14 frames", most)
	}
}
