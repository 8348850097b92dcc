package drive

import (
	"context"
	"errors"
	"testing"

	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// lossy is an end of a link that loses every nth datagram it sends, and counts the datagrams lost and the reads
// in vain, which take lookTime.
type lossy struct {
	link.Link
	nth, sent, lost, vain int
	clock                 *int64
}

const lookTime = 2 * lostAfter / lostLooks

func (l *lossy) Send(b []byte) error {
	if l.sent++; l.nth > 0 && l.sent%l.nth == 0 {
		l.lost++
		return nil
	}
	return l.Link.Send(b)
}

func (l *lossy) Recv(b []byte) (int, error) {
	n, err := l.Link.Recv(b)
	if n == 0 {
		l.vain++
		*l.clock += lookTime
	}
	return n, err
}

// A run that loses datagrams ends after a bounded number of reads, however many it loses, and counts
// them: the wait for one is a wait for all.
func TestRunsEndHoweverMuchIsLost(t *testing.T) {
	const frames = 2000
	for _, nth := range []int{1, 2, 100} {
		from := &player{story: &[]string{}, ports: 1}
		for i := range frames {
			from.at = append(from.at, unit.Time(i)*unit.Time(unit.Microsecond))
		}
		f := &Fabric{
			Machines: []Machine{from, &player{story: &[]string{}}}, Wires: [][2]port.End{{{Machine: 0}, {Machine: 1}}},
			End: unit.Time(frames * unit.Microsecond),
		}
		a, b := link.Pipe(64)
		clock := int64(0)
		out, in := &lossy{Link: a, nth: nth}, &lossy{Link: b, clock: &clock}
		w := &Wall{Dilation: 1, Links: [][2]link.Link{{out, in}}, Longest: []unit.Duration{unit.Microsecond}, NeverSleep: true,
			Clock: func() int64 { clock += 100; return clock }}
		timing, err := w.Run(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		if out.lost != frames/nth || timing.Lost != int64(out.lost) || timing.Received != int64(frames-out.lost) {
			t.Errorf("every %d is lost: %d of %d, and counted %d lost, %d received", nth, out.lost, out.sent, timing.Lost, timing.Received)
		}
		// While it runs it reads in vain no more than once for each call that sends. Then it reads lostLooks times,
		// by which the last datagram has been away for lostAfter.
		if most := 2*frames + 3*lostLooks; in.vain > most {
			t.Errorf("every %d is lost: %d reads in vain, want no more than %d", nth, in.vain, most)
		}
	}
}

// A run that is to stop waits for all datagrams together no longer than lostAfter, and a flood of
// datagrams from elsewhere does not keep it.
func TestStopEndsTheWaitForDatagrams(t *testing.T) {
	const step = lostAfter / 100
	for name, c := range map[string]struct {
		flood, stop bool
		most        int
	}{
		"stopped":              {false, true, 200},
		"stopped, and a flood": {true, true, 200},
		"a flood":              {true, false, 4*lostLooks + 400},
	} {
		f, _ := star()
		w := pipes(f, 1)
		clock, looks := int64(0), 0
		w.Clock = func() int64 { clock += step; return clock }
		if err := w.check(f); err != nil {
			t.Fatal(err)
		}
		o, err := newOrder(f, f.Machines, true)
		if err != nil {
			t.Fatal(err)
		}
		s := w.newSockets(o)
		s.start(0, nil)
		for i := range s.tracks {
			in := &flooded{flood: c.flood, looks: &looks}
			s.tracks[i].in = link.Batched(in, 2*MaxDatagram)
			sent := s.post(int32(i), &port.Transmission{Length: 20}, wire.Body{}, 0, 0, 0)
			sent.at = clock // it has left
			s.tracks[i].away.push(s.parcels, s.queue.pop(s.parcels))
		}
		s.stop.Store(c.stop)
		s.settle()
		if s.Lost != int64(len(s.tracks)) || looks > c.most {
			t.Errorf("%s: %d datagrams of %d are lost, after %d looks, want no more than %d", name, s.Lost, len(s.tracks), looks, c.most)
		}
	}
}

// flooded is an end of a link to which nothing comes, or always a stranger's datagram. It counts the looks.
type flooded struct {
	link.Link
	flood bool
	reads int
	looks *int
}

func (l *flooded) Recv(b []byte) (int, error) {
	if l.reads++; !l.flood || l.reads%strays == 1 {
		*l.looks++
	}
	if *l.looks > 100*lostLooks {
		return 0, errors.New("there is no end to it")
	}
	if l.flood {
		return copy(b, "stranger"), nil
	}
	return 0, nil
}
