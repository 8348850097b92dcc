package switchd_test

import (
	"testing"

	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// watermarks is a change of the watermarks of all inputs.
func watermarks(high, low unit.Size) port.Change {
	return port.WatermarksChange{High: high, Low: low}
}

// fullest returns the most that an input has had from an instant to another.
func (p *plant) fullest(in uint16, from, to unit.Time) (most int64) {
	for _, e := range p.events {
		if kind, _, _ := trace.FrameOf(e.A); e.Kind == trace.Arrive && kind == wire.Data && e.Port == in && e.At >= from && e.At < to {
			most = max(most, e.B)
		}
	}
	return most
}

// Watermarks change while two senders keep their inputs between them: an input that has more than
// the new high one stops its sender at once, and one that has no more than the new low one lets it
// continue at once. From then on the memory that is taken goes up and down between the new ones.
func TestWatermarksChange(t *testing.T) {
	p := newPlant(t, outputQueued(3))
	p.offer(0, ether(1, 2, 0), 3000)
	p.offer(1, ether(2, 2, 0), 3000)
	p.run(300 * t1500)
	for p.stations[0].port.Pausing().Until(p.now, 0) > p.now {
		p.run(p.now + t1500/4)
	}
	lower, told := p.now, len(p.stations[0].told)
	raised := lower + 300*t1500
	p.sw.Apply(p.now, 0, watermarks(8000, 4000))
	p.run(lower + 2*t1500) // what the link has begun comes first
	if got := p.stations[0].told; len(got) == told || got[told] == 0 {
		t.Errorf("told %v: above the new high watermark the sender is stopped at once", got[told:])
	}
	p.run(raised)
	if before, after := p.fullest(0, 0, lower), p.fullest(0, lower+50*t1500, raised); before < 20000 || after < 8000 || after > 8000+4*mtu {
		t.Errorf("at most %d bytes, and %d with a high watermark of 8000", before, after)
	}
	for p.stations[0].port.Pausing().Until(p.now, 0) <= p.now {
		p.run(p.now + t1500/4)
	}
	told = len(p.stations[0].told)
	p.sw.Apply(p.now, 0, watermarks(20000, 16000))
	p.run(p.now + 2*t1500)
	if got := p.stations[0].told; len(got) == told || got[told] != 0 {
		t.Errorf("told %v: below the new low watermark the sender goes on at once", got[told:])
	}
	again := p.now
	p.run(again + 300*t1500)
	if after := p.fullest(0, again+50*t1500, p.now); after < 20000 || after > 20000+4*mtu {
		t.Errorf("at most %d bytes with a high watermark of 20000 again", after)
	}
	p.whole()
}

// An input with a part of its buffer has the lower ones of its own watermarks and of the switch's:
// the change of either leaves the other in force.
func TestWatermarksOfAPartOfABuffer(t *testing.T) {
	c := outputQueued(3)
	c.Memory = 3 * 60000
	p := newPlant(t, c)
	p.offer(0, ether(1, 2, 0), 5000)
	p.offer(1, ether(2, 2, 0), 5000)
	cut := port.BufferChange{Left: port.BufferConfig{Room: 30000, High: 15000, Low: 12000}}
	whole := port.BufferChange{}
	for _, step := range []struct {
		change port.Change
		most   int64
	}{
		{cut, 15000}, {watermarks(8000, 4000), 8000}, {watermarks(40000, 30000), 15000}, {whole, 40000}, {watermarks(20000, 16000), 20000},
	} {
		p.sw.Apply(p.now, 0, step.change)
		p.run(p.now + 200*t1500)
		from := p.now
		p.run(from + 300*t1500)
		if got := p.fullest(0, from, p.now); got < step.most || got > step.most+4*mtu {
			t.Errorf("after %v %v: at most %d bytes, want about %d", step.change.Kind(), step.change, got, step.most)
		}
	}
	p.whole()
}

// A watchdog that comes, changes and changes its action while a station pauses a priority forever:
// each finds the storm after its own detection, and the storm of the one before it is over at the
// instant of the change.
func TestWatchdogChange(t *testing.T) {
	const us = unit.Microsecond
	c := outputQueued(3)
	for i := range c.Ports {
		c.Ports[i].FlowControl = port.PriorityPauseFrames
	}
	c.Memory, c.Lossless = 3*100000, 0xFF
	p := newPlant(t, c)
	p.stations[2].port.Pausing().Stop(3)
	p.offer(0, ether(1, 2, 3), 200)
	p.run(unit.Time(1000 * us))
	for _, dog := range []switchd.Watchdog{
		{Action: switchd.StormAlert, Detection: 400 * us, Restoration: 200 * us, Poll: 100 * us},
		{Action: switchd.StormDrop, Detection: 200 * us, Restoration: 200 * us, Poll: 50 * us},
		{Action: switchd.StormForward, Detection: 300 * us, Restoration: 200 * us, Poll: 50 * us},
		{Action: switchd.StormAlert, Detection: 100 * us, Restoration: 200 * us, Poll: 50 * us},
	} {
		p.offer(0, ether(1, 2, 3), 200)
		begin, known, dropped, came := p.now, p.storms(), p.dropped, len(p.stations[2].came)
		p.sw.Apply(begin, 0, port.WatchdogChange{Watchdog: dog})
		p.run(begin.Add(1000 * us))
		got := p.storms()[len(known):]
		if over := len(known) > 0; over && (len(got) == 0 || got[0] != (storm{begin, false})) {
			t.Errorf("%v: %v: the storm before is over at %v", dog, got, begin)
		} else if over {
			got = got[1:]
		}
		if want := (storm{begin.Add(dog.Detection), true}); len(got) != 1 || got[0] != want {
			t.Errorf("%v: storms %v, want %v", dog, got, want)
		}
		if drops, passes := p.dropped > dropped, len(p.stations[2].came) > came; drops != (dog.Action == switchd.StormDrop) || passes != (dog.Action == switchd.StormForward) {
			t.Errorf("%v: drops frames: %v; lets them through: %v", dog, drops, passes)
		}
	}
}

// storm is a report of a watchdog.
type storm struct {
	at    unit.Time
	begin bool
}

// storms returns the reports of the watchdog.
func (p *plant) storms() (all []storm) {
	for _, e := range p.events {
		if e.Kind == trace.Watchdog {
			all = append(all, storm{e.At, e.A == 1})
		}
	}
	return all
}
