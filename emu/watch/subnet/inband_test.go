package subnet_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/watch/subnet"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// row is a row of three switches between two endpoints.
const row = `
name: row
model: {duration: 1ms, framing: wire}
defaults: {link: {rate: 8Gb/s, propagation: 1us, buffer: 32KiB}, switch: {forwarding-delay: 100ns}, flow: {packet: 2048B, window: 8}}
switches: {S1: {}, S2: {}, S3: {}}
endpoints: [a, b]
links: [a - S1, S1 - S2, S2 - S3, S3 - b]
flows: [{name: f, from: a, to: b}]
subnet: {in-band: true}
`

// errDone ends a stepped run.
var errDone = errors.New("done")

// carried runs the model of the row, with its flow or without, and with management in-band: first
// is called before the first event, and each before every other one. It returns the time of the
// last event, and the events.
func carried(t *testing.T, flows bool, first func(send func(int, *subnet.Packet)), each func(*subnet.Subnet) error, changes ...drive.Change) (unit.Time, *log) {
	t.Helper()
	f, err := fabric.Build(runtest.Load(t, row))
	if err != nil {
		t.Fatal(err)
	}
	s, err := subnet.New(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(0, f.Paths.Index["a"], false); err != nil {
		t.Fatal(err)
	}
	b, send := subnet.Local(s)
	seen := &log{}
	events := trace.NewBatch(1, seen)
	nodes := assemble.Quiet
	if flows {
		nodes = assemble.New
	}
	run, err := nodes(f, assemble.Schemes{Management: b}, events)
	if err != nil {
		t.Fatal(err)
	}
	run.Changes = append(run.Changes, changes...)
	first(send)
	now, err := drive.Stepped(run, func() (bool, error) { return true, each(s) })
	if err != nil && err != errDone {
		t.Fatal(err)
	}
	events.Flush()
	return now, seen
}

// log keeps the events of a run.
type log []trace.Event

func (l *log) Record(e *trace.Event) { *l = append(*l, *e) }

// A directed-route SMP and its answer take, for each link, the time of their 290 bytes and the
// propagation, and the delay of each switch that passes them on or answers. They wait for the two
// flow control packets with which the link begins.
func TestModelInBandLatency(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for hops := 1; hops <= 4; hops++ {
		t.Run(fmt.Sprint(hops), func(t *testing.T) {
			var answer subnet.Packet
			now, events := carried(t, false, func(send func(int, *subnet.Packet)) {
				send(0, request(0x81, 1, 0x10, 0, []byte{1, 2, 2, 2}[:hops]...))
			}, func(s *subnet.Subnet) error {
				for _, d := range s.Outbox() {
					answer = d.Packet
					return errDone
				}
				return nil
			})
			const begins, link, delay = 2 * 6_000, 290_000 + 1_000_000, 100_000 // ps: 8 bits at 8 Gb/s are 1 ns
			switches := 2*hops - 1
			if hops == 4 {
				switches--
			}
			if want := unit.Time(begins + 2*hops*link + switches*delay); now != want {
				t.Errorf("the answer comes at %d ps, want %d", now, want)
			}
			if got, want := string(answer[subnet.AtMAD+64:subnet.AtMAD+66]), []string{"S1", "S2", "S3", "b\x00"}[hops-1]; got != want {
				t.Errorf("it is from %q, want %q", got, want)
			}
			starts := 0
			for _, e := range *events {
				if kind, _, _ := trace.FrameOf(e.A); e.Kind == trace.Start && kind == wire.Management {
					if starts++; e.Lane != 15 || e.Bytes != 290 {
						t.Errorf("a packet of %d bytes on lane %d", e.Bytes, e.Lane)
					}
				}
			}
			if starts != 2*hops {
				t.Errorf("%d packets start, want %d", starts, 2*hops)
			}
		})
	}
}

// A MAD for a link that is down gets no answer: it is lost at the port, and the client is told so.
func TestModelInBandDeadLink(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	answers := 0
	_, events := carried(t, false, func(send func(int, *subnet.Packet)) {
		send(0, request(0x81, 1, 0x10, 0, 1, 2, 2))
	}, func(s *subnet.Subnet) error {
		box := s.Outbox()
		if len(box) == 0 {
			return nil
		}
		answers += len(box)
		if status := be.Uint32(box[0].Packet[16:]); status != 110 {
			t.Errorf("status %d, want ETIMEDOUT", status)
		}
		return errDone
	}, drive.Change{At: 1000, Node: 1, Port: 1, Makes: port.LinkDown{}}, drive.Change{At: 1000, Node: 2, Makes: port.LinkDown{}})
	lost := slices.DeleteFunc(events.of(trace.Drop), func(e trace.Event) bool { return e.B != int64(wire.Management) })
	if len(lost) != 1 || lost[0].Node != 1 || lost[0].Port != 1 || trace.Reason(lost[0].A) != trace.LinkWasDown || answers != 1 {
		t.Errorf("%d answers; lost: %+v", answers, lost)
	}
}

// A port that is stuck keeps a MAD until it continues.
func TestModelInBandStuck(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const stuck = 10 * unit.Microsecond
	now, _ := carried(t, false, func(send func(int, *subnet.Packet)) {
		send(0, request(0x81, 1, 0x10, 0, 1))
	}, func(s *subnet.Subnet) error {
		if len(s.Outbox()) > 0 {
			return errDone
		}
		return nil
	}, drive.Change{At: 1, Node: 3, Makes: port.Stuck{Last: stuck}})
	if want := unit.Time(1).Add(stuck) + 2*1_290_000 + 100_000; now != want {
		t.Errorf("the answer comes at %d ps, want %d", now, want)
	}
}

// No more than 64 packets of VL15 wait for a link.
func TestModelInBandBuffer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	answers, refused := 0, 0
	_, events := carried(t, false, func(send func(int, *subnet.Packet)) {
		for i := range 100 {
			p := request(0x81, 1, 0x10, 0, 1)
			p[subnet.AtMAD+15] = byte(i)
			send(0, p)
		}
	}, func(s *subnet.Subnet) error {
		for _, d := range s.Outbox() {
			if answers++; be.Uint32(d.Packet[16:]) != 0 {
				refused++
			}
		}
		if answers == 100 {
			return errDone
		}
		return nil
	})
	lost := events.of(trace.Drop)
	for _, e := range lost {
		if trace.Reason(e.A) != trace.BufferFull {
			t.Errorf("lost: %v", trace.Reason(e.A))
		}
	}
	if refused != 100-64 || len(lost) != refused {
		t.Errorf("%d refused, and %d lost, of %d", refused, len(lost), answers)
	}
}

// of returns the events of a kind.
func (l *log) of(kind trace.Kind) (all []trace.Event) {
	for _, e := range *l {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// MADs take the bandwidth that they need: a flow that fills a link delivers less by the bytes of
// the MADs there.
func TestModelInBandBandwidth(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	sent := func(outstanding int) (data, mads, others int64) {
		var send func(int, *subnet.Packet)
		number := 0
		ask := func() {
			p := request(0x81, 1, 0x10, 0, 1, 2, 2)
			number++
			be.PutUint32(p[subnet.AtMAD+12:], uint32(number))
			send(0, p)
		}
		_, events := carried(t, true, func(s func(int, *subnet.Packet)) {
			for send = s; number < outstanding; {
				ask()
			}
		}, func(s *subnet.Subnet) error {
			for range s.Outbox() {
				ask()
			}
			return nil
		})
		for _, e := range events.of(trace.Start) {
			if int(e.Node) != 3 { // a
				continue
			}
			switch kind, _, _ := trace.FrameOf(e.A); kind {
			case wire.Data:
				data += int64(e.Bytes)
			case wire.Management:
				mads += int64(e.Bytes)
			default:
				others += int64(e.Bytes)
			}
		}
		return data, mads, others
	}
	alone, none, before := sent(0)
	with, mads, after := sent(4)
	if none != 0 || alone < 980_000 || mads < 50_000 { // a link carries 1,000,000 bytes in 1 ms
		t.Errorf("%d bytes of data and %d of MADs, and with MADs %d and %d", alone, none, with, mads)
	}
	const packet = 2048 + 26
	if less := alone - with - mads - (after - before); less < -packet || less > packet {
		t.Errorf("data goes down from %d to %d, which is %d more than the %d of MADs and %d of others", alone, with, less, mads, after-before)
	}
}
