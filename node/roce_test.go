package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ethernetPort is a port of Ethernet without flow control.
func ethernetPort() port.Config {
	return port.Config{Rate: gigabyte, Propagation: us, FlowControl: port.NoFlowControl}
}

// roceFlow is a flow with RoCEv2 whose queue pair never fails.
func roceFlow(p node.RoCEParams) node.Flow {
	p.RetryCount = node.Unlimited
	return retrying(p)
}

// retrying is a flow with RoCEv2.
func retrying(p node.RoCEParams) node.Flow {
	p.AckEvery = max(p.AckEvery, 1)
	return node.Flow{
		Family: wire.RoCEv2, Lane: 3, QP: 7, Dst: 2, Payload: 1024, Transport: node.RoCE{RoCEParams: p}, Stop: unit.Never,
		Limiter: node.NewInterPacketDelay(gigabyte), Reaction: of(rp.NewFixed(gigabyte)),
	}
}

// Whatever is lost, packets are delivered one after another, none twice, none missing.
func TestRoCEGoesBack(t *testing.T) {
	for name, c := range map[string]struct {
		lose          func(n int, f *wire.Frame) bool
		naks, expired int // how often the source goes back, by NAKs and by timeouts; -1: often
	}{
		"nothing":                    {func(int, *wire.Frame) bool { return false }, 0, 0},
		"a packet":                   {func(n int, f *wire.Frame) bool { return n == 20 && f.Kind == wire.Data }, 1, 0},
		"three in a row":             {func(n int, f *wire.Frame) bool { return f.Kind == wire.Data && n > 20 && n < 27 }, 1, 0},
		"an ACK":                     {func(n int, f *wire.Frame) bool { return f.Kind == wire.Ack && n > 20 && n < 24 }, 0, 0},
		"all for a while":            {func(n int, _ *wire.Frame) bool { return n > 20 && n < 60 }, 1, 2}, // 39 frames: a window, again, and the third time a part, whose rest a NAK asks for
		"one in seven":               {func(n int, f *wire.Frame) bool { return n%7 == 6 }, -1, 0},
		"a packet, and that again":   {lostTwice(), 1, 1},
		"a packet, and the NAK then": {lostNAK(), 1, 1},
	} {
		for _, p := range []node.RoCEParams{{Window: 16}, {Window: 16, AckEvery: 4}, {Window: 16, IP: node.IPv6}} {
			p.Timeout = 50 * us
			source, sink := over(t, ethernetPort(), roceFlow(p), unit.Time(3*unit.Millisecond), c.lose)
			if n := sink.inTurn(t); n < 100 {
				t.Errorf("%s: %d packets were delivered", name, n)
			}
			naks, expired := source.count(trace.Retransmit), source.count(trace.Timeout)
			if name == "a packet, and the NAK then" {
				naks++ // it was lost
			}
			if c.naks >= 0 && (naks != c.naks || expired != c.expired) || c.naks < 0 && naks < 10 {
				t.Errorf("%s, %+v: the source goes back %d times at NAKs and %d times at timeouts, want %d and %d", name, p, naks, expired, c.naks, c.expired)
			}
			if v := source.count(trace.Violation) + sink.count(trace.Violation); v > 0 {
				t.Errorf("%s: %d violations", name, v)
			}
		}
	}
}

// lostTwice loses a packet, and that once more: no second NAK asks for it (IBTA Volume 1,
// 9.7.5.2.8), so the timeout does.
func lostTwice() func(int, *wire.Frame) bool {
	times := 0
	return func(_ int, f *wire.Frame) bool {
		switch {
		case f.Kind != wire.Data:
		case f.PSN == 0: // a new run
			times = 0
		case f.PSN == 20:
			times++
			return times <= 2
		}
		return false
	}
}

// lostNAK loses a packet and the NAK that asks for it.
func lostNAK() func(int, *wire.Frame) bool {
	lost := false
	return func(_ int, f *wire.Frame) bool {
		switch {
		case f.Kind == wire.Data && f.PSN == 0:
			lost = false
		case f.Kind == wire.Data && f.PSN == 20 && !lost:
			lost = true
			return true
		case f.Kind == wire.Ack && f.RoCE().NAK:
			return true
		}
		return false
	}
}

// Transfers end once, with all their bytes, also when their last packets are retransmitted; an ACK
// is asked for by each fourth packet and by the last.
func TestRoCETransfers(t *testing.T) {
	flow := roceFlow(node.RoCEParams{AckEvery: 4, Timeout: 50 * us})
	flow.Traffic = generated(t, traffic.Config{Kind: traffic.Transfers, Sizes: traffic.One(10_100), Count: 5, Rate: gigabyte / 4, Length: 1068, Seed: 3})
	last := uint32(9) // of the first: nine whole packets, and 884 bytes
	acks := 0
	source, sink := over(t, ethernetPort(), flow, unit.Time(2*unit.Millisecond), func(n int, f *wire.Frame) bool {
		if f.Kind == wire.Ack {
			acks++
			return false
		}
		if want := f.PSN%4 == 3 || f.Last; f.RoCE().AckReq != want && f.PSN != 0 {
			t.Errorf("packet %d asks for an ACK: %v", f.PSN, !want)
		}
		if f.Last != (f.PSN%10 == 9) || f.Last && f.Payload != 884 {
			t.Errorf("packet %d has %d bytes, the last: %v", f.PSN, f.Payload, f.Last)
		}
		if f.PSN == last {
			last = 1 << 23
			return true
		}
		return false
	})
	if n := sink.inTurn(t); n != 50 {
		t.Errorf("%d packets were delivered, want 50", n)
	}
	var ended []int64
	for _, e := range sink {
		if e.Kind == trace.TransferEnd {
			ended = append(ended, e.B)
		}
	}
	if diff := cmp.Diff([]int64{10_100, 10_100, 10_100, 10_100, 10_100}, ended); diff != "" {
		t.Errorf("transfers that ended (-want +got):\n%s", diff)
	}
	if again := source.count(trace.Timeout) + source.count(trace.Retransmit); again != 1 || acks < 15 || acks > 25 {
		t.Errorf("the source went back %d times, %d ACKs", again, acks)
	}
}

// ACKs say what they should.
func TestRoCEAcks(t *testing.T) {
	type ack struct {
		PSN, MSN  uint32
		NAK, BECN bool
		DSCP      uint8
		Lane      uint8
	}
	var got []ack
	flow := roceFlow(node.RoCEParams{AckEvery: 2, Window: 8, Timeout: 20 * us, DSCP: 26, AckDSCP: 48, AckPriority: 6, ECN: true, Echo: true})
	over(t, ethernetPort(), flow, unit.Time(25*us), func(_ int, f *wire.Frame) bool {
		if f.Kind == wire.Ack {
			r := f.RoCE()
			got = append(got, ack{f.PSN, f.MSN, r.NAK, f.BECN, r.DSCP, f.Lane})
			return false
		}
		if r := f.RoCE(); r.DSCP != 26 || !r.ECT || f.Lane != 3 {
			t.Errorf("%+v", f)
		}
		f.FECN = f.PSN == 2
		return f.PSN == 4 && len(got) < 3
	})
	want := []ack{{1, 2, false, false, 48, 6}, {3, 4, false, true, 48, 6}, {4, 4, true, false, 48, 6}, {5, 6, false, false, 48, 6}, {7, 8, false, false, 48, 6}}
	if diff := cmp.Diff(want, got[:min(len(got), 5)]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is not of a flow with RoCEv2 is refused, counted, and informed; a mark that may not be there
// is a violation.
func TestRoCERefusals(t *testing.T) {
	say := func(f wire.Frame, r wire.RoCE) wire.Frame {
		f.Family = wire.RoCEv2
		f.SetRoCE(r)
		return f
	}
	for name, c := range map[string]struct {
		frame wire.Frame
		kind  trace.Kind
		why   trace.Reason
	}{
		"CNP for no queue pair":              {say(wire.Frame{Kind: wire.CNP, Src: 2, Dst: 1, QP: 99}, wire.RoCE{}), trace.Drop, trace.UnknownFlow},
		"CNP for a flow that answers none":   {say(wire.Frame{Kind: wire.CNP, Src: 2, Dst: 1, QP: 7}, wire.RoCE{}), trace.Drop, trace.NotAwaited},
		"CNP from another":                   {say(wire.Frame{Kind: wire.CNP, Src: 3, Dst: 1, QP: 7}, wire.RoCE{}), trace.Drop, trace.Stranger},
		"CNP for datagrams":                  {say(wire.Frame{Kind: wire.CNP, Src: 2, Dst: 1, QP: 8}, wire.RoCE{}), trace.Drop, trace.UnknownFlow},
		"ACK for no queue pair":              {say(wire.Frame{Kind: wire.Ack, Src: 2, Dst: 1, QP: 99}, wire.RoCE{}), trace.Drop, trace.UnknownFlow},
		"ACK from another":                   {say(wire.Frame{Kind: wire.Ack, Src: 3, Dst: 1, QP: 7}, wire.RoCE{}), trace.Drop, trace.Stranger},
		"ACK for datagrams":                  {say(wire.Frame{Kind: wire.Ack, Src: 2, Dst: 1, QP: 8}, wire.RoCE{}), trace.Drop, trace.UnknownFlow},
		"data for datagrams":                 {say(wire.Frame{Kind: wire.Data, Src: 2, Dst: 1, QP: 9, Payload: 64}, wire.RoCE{}), trace.Drop, trace.UnknownFlow},
		"data of another kind":               {wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: 2, Dst: 1, QP: 10, Payload: 64}, trace.Drop, trace.UnknownFlow},
		"data ahead of its turn":             {say(wire.Frame{Kind: wire.Data, Src: 2, Dst: 1, QP: 10, PSN: 5, Payload: 64}, wire.RoCE{}), trace.Drop, trace.NotInTurn},
		"a mark where there may be none":     {say(wire.Frame{Kind: wire.Data, FECN: true, Src: 2, Dst: 1, QP: 10, Payload: 64}, wire.RoCE{}), trace.Violation, trace.NotCapable},
		"a NAK for what was never sent":      {say(wire.Frame{Kind: wire.Ack, Src: 2, Dst: 1, QP: 7, PSN: 77}, wire.RoCE{NAK: true}), 0, 0},
		"an ACK of what was never sent":      {say(wire.Frame{Kind: wire.Ack, Src: 2, Dst: 1, QP: 7, PSN: 77}, wire.RoCE{}), 0, 0},
		"a NAK for what was acknowledged":    {say(wire.Frame{Kind: wire.Ack, Src: 2, Dst: 1, QP: 7, PSN: 0xFFFFFF}, wire.RoCE{NAK: true}), 0, 0},
		"a NAK for the oldest: it goes back": {say(wire.Frame{Kind: wire.Ack, Src: 2, Dst: 1, QP: 7}, wire.RoCE{NAK: true}), trace.Retransmit, trace.SequenceError},
	} {
		var log events
		flow, plain := roceFlow(node.RoCEParams{Timeout: unit.Millisecond}), roceFlow(node.RoCEParams{})
		flow.Reaction = rp.Reaction{}
		plain.Family, plain.Transport, plain.QP = wire.Ethernet, node.Datagrams{}, 8
		e, err := node.New(node.Config{
			LID: 1, Port: ethernetPort(), Flows: []node.Flow{flow, plain},
			Sinks: []node.Sink{{QP: 9, Source: 2, Transport: node.Datagrams{}}, {QP: 10, Source: 2, Transport: flow.Transport}},
		}, &log)
		if err != nil {
			t.Fatal(err)
		}
		e.Advance(0)
		now := unit.Time(5 * us)
		e.Advance(now)
		log = nil
		e.Receive(now, 0, &port.Arrival{Frame: c.frame, Tail: now, Length: 100})
		e.Advance(now)
		var found []trace.Event
		for _, v := range log {
			if v.Kind == trace.Drop || v.Kind == trace.Violation || v.Kind == trace.Retransmit || v.Kind == trace.Timeout {
				found = append(found, v)
			}
		}
		switch {
		case c.kind == 0 && len(found) == 0:
		case len(found) != 1 || found[0].Kind != c.kind || trace.Reason(found[0].A) != c.why:
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// "The total number of times that the sender wishes the receiver to retry timeout, packet sequence,
// etc. errors before posting a completion error" (IBTA Volume 1, 12.7.38, as Open MPI quotes it):
// after so many retransmissions without progress the queue pair fails, and sends nothing more.
func TestRoCERetryCount(t *testing.T) {
	const timeout = 50 * us
	down := func(n int, _ *wire.Frame) bool { return n > 30 }
	for count := range 8 {
		flow := retrying(node.RoCEParams{Window: 16, Timeout: timeout, RetryCount: count})
		source, sink := over(t, ethernetPort(), flow, unit.Time(3*unit.Millisecond), down)
		sink.inTurn(t)
		var first, failed unit.Time
		again := 0
		for _, e := range source {
			switch {
			case failed > 0 && e.At >= failed && e.Kind == trace.Start:
				t.Fatalf("retry-count %d: packet %d leaves at %v, after the failure", count, e.PSN, e.At)
			case e.Kind == trace.Timeout && first == 0:
				first = e.At
				fallthrough
			case e.Kind == trace.Timeout:
				again += min(int(e.A), 1)
			case e.Kind == trace.Failure:
				failed = e.At
				if acked := source.count(trace.Feedback); e.PSN != uint32(acked) || acked < 10 || e.Reason() != trace.TimerExpired || e.B != 16 {
					t.Errorf("retry-count %d, %d acknowledged: %+v", count, acked, e)
				}
			}
		}
		if want := first.Add(unit.Duration(count) * timeout); failed != want || again != count || source.count(trace.Failure) != 1 {
			t.Errorf("retry-count %d: it fails %d times, at %v after %d retransmissions, want %v", count, source.count(trace.Failure), failed, again, want)
		}
		if stops := source.count(trace.FlowStop); stops != 1 || source.count(trace.Timeout) != count+1 {
			t.Errorf("retry-count %d: it stops %d times after %d timeouts", count, stops, source.count(trace.Timeout))
		}
	}
	source, _ := over(t, ethernetPort(), roceFlow(node.RoCEParams{Window: 16, Timeout: timeout}), unit.Time(3*unit.Millisecond), down)
	if source.count(trace.Failure) != 0 || source.count(trace.Timeout) < 50 {
		t.Errorf("unlimited: %d failures, %d timeouts", source.count(trace.Failure), source.count(trace.Timeout))
	}
}

// Each newly acknowledged packet begins the count again; a NAK counts as a timeout does.
func TestRoCERetryCountAndProgress(t *testing.T) {
	for name, c := range map[string]struct {
		count  int
		lose   func() func(int, *wire.Frame) bool
		failed int
		why    trace.Reason
	}{
		"each packet is lost once":           {1, func() func(int, *wire.Frame) bool { return firsts(1) }, 0, 0},
		"each packet is lost once, and none": {0, func() func(int, *wire.Frame) bool { return firsts(1) }, 1, trace.TimerExpired},
		"each packet is lost twice":          {1, func() func(int, *wire.Frame) bool { return firsts(2) }, 1, trace.TimerExpired},
		"a packet":                           {1, lostTwenty, 0, 0},
		"a packet, and none":                 {0, lostTwenty, 1, trace.SequenceError},
		"a packet, and that again":           {1, lostTwice, 1, trace.TimerExpired},
		"a packet, and that again, of two":   {2, lostTwice, 0, 0},
	} {
		flow := retrying(node.RoCEParams{Window: 16, Timeout: 50 * us, RetryCount: c.count})
		source, sink := over(t, ethernetPort(), flow, unit.Time(3*unit.Millisecond), c.lose())
		n := sink.inTurn(t)
		if got := source.count(trace.Failure); got != c.failed || c.failed == 0 && n < 100 {
			t.Errorf("%s: %d failures, %d packets delivered, want %d", name, got, n, c.failed)
		}
		for _, e := range source {
			if e.Kind == trace.Failure && e.Reason() != c.why {
				t.Errorf("%s: %v", name, e.Reason())
			}
		}
	}
}

// firsts loses each packet as often as it is sent for the first times.
func firsts(times int) func(int, *wire.Frame) bool {
	sent := map[uint32]int{}
	return func(_ int, f *wire.Frame) bool {
		if f.Kind != wire.Data {
			return false
		}
		sent[f.PSN]++
		return sent[f.PSN] <= times
	}
}

// lostTwenty loses packet 20 once.
func lostTwenty() func(int, *wire.Frame) bool {
	lost := false
	return func(_ int, f *wire.Frame) bool {
		if f.Kind == wire.Data && f.PSN == 20 && !lost {
			lost = true
			return true
		}
		return false
	}
}
