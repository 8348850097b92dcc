package tcp_test

import (
	"testing"

	"fabemu/node/tcp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// windows keeps the last slow start threshold that was reported.
type windows struct{ threshold int64 }

func (w *windows) Record(e *trace.Event) {
	if e.Kind == trace.Window {
		w.threshold = e.B
	}
}

// RFC 5681, section 3.1: "the value of ssthresh MUST be set to no more than" half of the flight. In
// a recovery most of the flight has arrived, and half of it can be more than what led to the loss:
// a timeout does not raise what the recovery has set.
func TestTimeoutInRecovery(t *testing.T) {
	const packet, mss = 1500, 1460
	var told windows
	rec := trace.NewRecorder(0, &told)
	p := param.Defaults(tcp.Params{})
	p.Recovery, p.InitialWindow, p.MinRTO = tcp.SACK, 20, 200*unit.Millisecond
	s := tcp.NewSender(p, packet, 0, trace.Event{}, &rec)
	s.Greedy(true)

	now, sent := unit.Time(0), uint32(1) // the sequence number behind what was sent
	send := func() {
		for {
			g, _, ok := s.Next(now)
			if !ok {
				return
			}
			s.Sent(now, &g)
			sent = max(sent, g.Seq+g.Length)
		}
	}
	receive := func(g wire.Segment) {
		now += unit.Time(unit.Millisecond)
		s.Receive(now, &g)
		send()
	}
	send()
	receive(wire.Segment{Back: true, Flags: wire.SYN | wire.ACK, Ack: 1, Window: 65535, MSS: mss, SACKPermitted: true, Scales: true, Scale: 4})
	if want := uint32(1 + 20*mss); sent != want {
		t.Fatalf("an initial window up to %d, want %d", sent, want)
	}
	// The first segment is lost, and so is what it is retransmitted by. All others arrive.
	for right := uint32(1 + 2*mss); right <= sent && right < 60*mss; right += mss {
		receive(wire.Segment{Back: true, Flags: wire.ACK, Seq: 1, Ack: 1, Window: 65535, SACK: [wire.MaxSACK]wire.SACKBlock{{Left: 1 + mss, Right: right}}})
	}
	if sent < 40*mss || told.threshold != 10*mss {
		t.Fatalf("up to %d was sent in the recovery, the threshold is %d: want more than 40 segments, and 10", sent, told.threshold)
	}
	now = s.Deadline()
	s.Advance(now)
	if told.threshold != 10*mss {
		t.Errorf("the timeout made the threshold %d, with %d bytes under way at the loss", told.threshold, 20*mss)
	}
}
