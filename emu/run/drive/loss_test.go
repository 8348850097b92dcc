package drive

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// lossy is an end of a link that loses every nth datagram it sends, and counts the datagrams lost
// and the reads in vain, which take lookTime.
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

// A run that loses datagrams ends after a bounded number of reads, however many it loses, and
// counts them: the wait for one is a wait for all.
func TestRunsEndHoweverMuchIsLost(t *testing.T) {
	const frames = 2000
	for _, nth := range []int{1, 2, 100} {
		from := &player{story: &[]string{}, ports: 1}
		for i := range frames {
			from.at = append(from.at, unit.Time(i)*unit.Time(unit.Microsecond))
		}
		f := &Setup{
			Nodes: []Node{from, &player{story: &[]string{}}}, Wires: [][2]port.End{{{Node: 0}, {Node: 1}}},
			End: unit.Time(frames * unit.Microsecond),
		}
		a, b := link.Pipe(64)
		clock := int64(0)
		out, in := &lossy{Link: a, nth: nth}, &lossy{Link: b, clock: &clock}
		w := &Wall{Dilation: 1, Links: [][2]link.Link{{out, in}}, Longest: []unit.Duration{unit.Microsecond},
			Clock: func() int64 { clock += 100; return clock }}
		timing, err := w.Run(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		if out.lost != frames/nth || timing.Lost != int64(out.lost) || timing.Received != int64(frames-out.lost) {
			t.Errorf("every %d is lost: %d of %d, and counted %d lost, %d received", nth, out.lost, out.sent, timing.Lost, timing.Received)
		}
		// While it runs it reads in vain no more than once for each call that sends and each event.
		if most := 2*frames + settleLooks; in.vain > most {
			t.Errorf("every %d is lost: %d reads in vain, want no more than %d", nth, in.vain, most)
		}
	}
}

// At its end a run looks a bounded number of times for what is missing on all tracks together. A
// flood of datagrams from elsewhere does not keep it.
func TestTheEndWaitsABoundedTime(t *testing.T) {
	for _, flood := range []bool{false, true} {
		f, _ := star()
		w := pipes(f, 1)
		if err := w.check(f); err != nil {
			t.Fatal(err)
		}
		o, err := newOrder(f, true)
		if err != nil {
			t.Fatal(err)
		}
		s, reads := w.newSockets(o), 0
		s.start(0, false, nil, nil)
		for i := range s.tracks {
			s.tracks[i].in = link.Batched(&flooded{flood: flood, reads: &reads}, 2*MaxDatagram)
			s.post(int32(i), &port.Transmission{Length: 20}, wire.Body{}, 0, 0)
			s.tracks[i].away.push(s.parcels, s.queue.pop(s.parcels)) // it has left
		}
		s.settle()
		if most := settleLooks * strays * len(s.tracks); s.Lost != int64(len(s.tracks)) || reads > most {
			t.Errorf("flood %v: %d datagrams of %d are lost, after %d reads, want no more than %d", flood, s.Lost, len(s.tracks), reads, most)
		}
	}
}

// flooded is an end of a link to which nothing comes, or always a stranger's datagram.
type flooded struct {
	link.Link
	flood bool
	reads *int
}

func (l *flooded) Recv(b []byte) (int, error) {
	if *l.reads++; *l.reads > 100*lostLooks {
		return 0, errors.New("there is no end to it")
	}
	if l.flood {
		return copy(b, "stranger"), nil
	}
	return 0, nil
}

// full is an end of a link that never has room. It calls something when it is asked for that often.
type full struct {
	link.Link
	tries, call int
	then        func()
}

func (l *full) Send([]byte) error {
	if l.tries++; l.tries == l.call {
		l.then()
	}
	if l.tries > 100*lostLooks {
		return errors.New("there is no end to it")
	}
	return link.ErrFull
}

// A datagram that the kernel never takes ends the run and makes it void; a run that is to stop ends
// before.
func TestADatagramThatTheKernelRefuses(t *testing.T) {
	for _, stop := range []bool{false, true} {
		f, _ := star()
		w := pipes(f, 1000)
		clock := int64(0)
		w.Clock = func() int64 { clock += 1e6; return clock }
		ctx, cancel := context.WithCancel(t.Context())
		end := &full{Link: w.Links[0][0]}
		if stop {
			end.call, end.then = 100, func() {
				cancel()
				time.Sleep(50 * time.Millisecond) // its consequence is a goroutine
			}
		}
		w.Links[0][0] = end
		timing, err := w.Run(ctx, f)
		cancel()
		switch {
		case stop && (!errors.Is(err, context.Canceled) || end.tries > lostLooks):
			t.Errorf("stopped: %v, after %d tries", err, end.tries)
		case !stop && (err == nil || !strings.Contains(err.Error(), "wire 0, from node 2 to 1: the kernel has taken no datagram for 1s")):
			t.Errorf("refused: %v", err)
		case !stop && (timing.Lost == 0 || end.tries > 2*lostLooks):
			t.Errorf("refused: %d datagrams are lost, after %d tries", timing.Lost, end.tries)
		}
	}
}
