package node_test

import (
	"reflect"
	"testing"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// meter is a reaction point that uses ACKs and keeps them.
type meter struct {
	*rp.Fixed
	window unit.Size
	acks   []rp.Ack
	at     []unit.Time
	lost   int
}

func (m *meter) Window() unit.Size { return m.window }
func (m *meter) Lost(unit.Time)    { m.lost++ }
func (m *meter) Acked(now unit.Time, a rp.Ack) {
	a.Frame = nil
	m.acks, m.at = append(m.acks, a), append(m.at, now)
}

// measuring is a flow under a meter.
func measuring(p node.RoCEParams, window unit.Size, r unit.Rate) (node.Flow, *meter) {
	p.Stamped = true
	m := &meter{Fixed: rp.NewFixed(r), window: window}
	f := roceFlow(p)
	f.Reaction, f.Limiter = rp.Reaction{Controller: m, Acknowledged: m}, node.NewInterPacketDelay(r)
	return f, m
}

// A packet of 1024 B has 1080 B on the link, with 12 B of its stamp; its ACK 68 B, with 20 B. A
// byte lasts a nanosecond, and the way a microsecond.
const (
	stampedData = 1080 * ns
	stampedAck  = 68 * ns
	measuredRTT = stampedData + us + stampedAck + us
)

// never loses nothing.
func never(int, *wire.Frame) bool { return false }

// "RTT: since the packet that asked for it left, less Held": the time at the destination is not in
// it.
func TestRoundTripIsWithoutTheDestination(t *testing.T) {
	for service, held := range map[unit.Rate]unit.Duration{0: 0, gigabyte / 2: 2 * stampedData} {
		flow, m := measuring(node.RoCEParams{}, stampedBytes, gigabyte) // one at a time
		adapter := node.AdapterConfig{Service: service}
		source, sink := overTo(t, ethernetPort(), adapter, flow, unit.Time(100*us), never)
		if n := int(sink.inTurn(t)); n < 15 || source.count(trace.RoundTrip) != len(m.acks) || len(m.acks) < n-1 {
			t.Errorf("service %v: %d packets, %d ACKs, %d round trips", service, n, len(m.acks), source.count(trace.RoundTrip))
		}
		for i, a := range m.acks {
			want := rp.Ack{RTT: measuredRTT, Held: held, Bytes: stampedBytes, Oldest: uint64(i + 1), Next: uint64(i + 1)}
			if !reflect.DeepEqual(a, want) {
				t.Fatalf("service %v: ACK %d: %+v, want %+v", service, i, a, want)
			}
		}
	}
}

const stampedBytes = unit.Size(1080)

// "Bytes: length on the line of the packets that it acknowledges": of the last packet of a transfer
// less, and of several packets with one ACK their sum. All that was sent is acknowledged in the
// end.
func TestBytesOfACKs(t *testing.T) {
	flow, m := measuring(node.RoCEParams{AckEvery: 4}, 0, gigabyte)
	flow.Traffic = transfers(0, 10_000, 100, 5000)
	_, sink := over(t, ethernetPort(), flow, unit.Time(100*us), never)
	if n := int(sink.inTurn(t)); n != 10+1+5 {
		t.Errorf("%d packets were delivered", n)
	}
	var bytes unit.Size
	for _, a := range m.acks {
		bytes += a.Bytes
	}
	if want := unit.Size(10_000 + 100 + 5000 + 16*56); bytes != want || m.acks[len(m.acks)-1].Oldest != 16 || len(m.acks) >= 16 {
		t.Errorf("%d ACKs of %d bytes, want %d; the last is %+v", len(m.acks), bytes, want, m.acks[len(m.acks)-1])
	}
}

// "A packet leaves when it fits in, or when none awaits its ACK."
func TestWindowOfAAlgorithm(t *testing.T) {
	for _, c := range []struct {
		window  unit.Size
		packets int // in a round trip
	}{{1, 1}, {stampedBytes, 1}, {2*stampedBytes - 1, 1}, {2 * stampedBytes, 2}, {5 * stampedBytes / 2, 2}} {
		flow, m := measuring(node.RoCEParams{}, c.window, gigabyte)
		source, sink := over(t, ethernetPort(), flow, unit.Time(0).Add(20*measuredRTT), never)
		if n := int(sink.inTurn(t)); n < 20*c.packets-1 || n > 20*c.packets+1 {
			t.Errorf("window %v: %d packets in 20 round trips, want %d in each", c.window, n, c.packets)
		}
		for _, a := range m.acks {
			if unit.Size(a.Next-a.Oldest)*stampedBytes > max(c.window, stampedBytes) {
				t.Fatalf("window %v: %+v", c.window, a)
			}
		}
		if source.count(trace.Window) != 1 {
			t.Errorf("window %v: %d reports of it", c.window, source.count(trace.Window))
		}
	}
	// "A window below a packet works by the rate, of a packet in a round trip times packet over
	// window."
	flow, m := measuring(node.RoCEParams{}, stampedBytes/4, unit.RateOf(stampedBytes, 4*measuredRTT))
	over(t, ethernetPort(), flow, unit.Time(0).Add(40*measuredRTT), never)
	if n := len(m.acks); n != 10 {
		t.Errorf("a window of a quarter of a packet: %d packets in 40 round trips", n)
	}
}

// "Lost notes that the source goes back": at a NAK, and when no ACK comes in time. Then nothing
// awaits an ACK.
func TestLostOfAAlgorithm(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(n int, f *wire.Frame) bool
		lost int
	}{
		"a packet": {func(n int, f *wire.Frame) bool { return n == 20 && f.Kind == wire.Data }, 1},
		"all":      {func(n int, _ *wire.Frame) bool { return n > 20 && n < 29 }, 1},
	} {
		flow, m := measuring(node.RoCEParams{Timeout: 30 * us}, 8*stampedBytes, gigabyte)
		_, sink := over(t, ethernetPort(), flow, unit.Time(300*us), c.lose)
		if n := int(sink.inTurn(t)); n < 100 || m.lost != c.lost {
			t.Errorf("%s: %d packets, and the algorithm was notified %d times", name, n, m.lost)
		}
	}
}

// A flow with stamps takes no packet without, and in the other direction round; a stamp that cannot
// be is none.
func TestStampsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		ack     bool
		stamped bool
		sent    unit.Time
		held    unit.Duration
		drop    bool
		rtt     unit.Duration
	}{
		"data without a stamp":   {drop: true},
		"ACK without a stamp":    {ack: true, drop: true},
		"an ACK":                 {ack: true, stamped: true, sent: at(us), held: us, rtt: 3 * us},
		"sent in the future":     {ack: true, stamped: true, sent: at(6 * us)},
		"held longer than it is": {ack: true, stamped: true, sent: at(us), held: 4 * us},
	} {
		var log events
		flow, m := measuring(node.RoCEParams{}, 0, gigabyte)
		back := flow.Transport
		e, err := node.New(node.Config{LID: 1, Port: ethernetPort(), Flows: []node.Flow{flow}, Sinks: []node.Sink{{QP: 8, Source: 2, Transport: back}}}, &log)
		if err != nil {
			t.Fatal(err)
		}
		e.Advance(0)
		now := at(5 * us)
		e.Advance(now)
		f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Src: 2, Dst: 1, QP: 8, Payload: 64}
		if c.ack {
			f.Kind, f.QP, f.Payload = wire.Ack, 7, 0
		}
		f.SetRoCE(wire.RoCE{Stamped: c.stamped})
		f.Stamp().SentAt, f.Stamp().Held = c.sent, c.held
		e.Receive(now, 0, &port.Arrival{Frame: f, Tail: now, Length: 100})
		if log.count(trace.Drop) > 0 != c.drop {
			t.Errorf("%s: dropped %v", name, !c.drop)
		}
		if c.ack && !c.drop && (len(m.acks) != 1 || m.acks[0].RTT != c.rtt) {
			t.Errorf("%s: %+v, want a round trip of %v", name, m.acks, c.rtt)
		}
	}
}

// A reaction point that uses ACKs needs RoCEv2 and its own flow.
func TestAcknowledgedNeedsRoCE(t *testing.T) {
	flow, _ := measuring(node.RoCEParams{}, 0, gigabyte)
	for name, spoil := range map[string]func(f *node.Flow){
		"datagrams": func(f *node.Flow) { f.Family, f.Transport = wire.Ethernet, node.Datagrams{} },
		"a group": func(f *node.Flow) {
			f.Pacer, f.Reaction = &node.Pacer{Limiter: f.Limiter, Reaction: f.Reaction}, of(rp.NewFixed(gigabyte))
		},
	} {
		spoilt := flow
		spoil(&spoilt)
		if _, err := node.New(node.Config{LID: 1, Port: ethernetPort(), Flows: []node.Flow{spoilt}}, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
