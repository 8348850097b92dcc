package node

import (
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// packets is the sender of packets with padding: those of Datagrams and Acknowledged, and in part
// those of RoCE. They are numbered, and the window of the source limits how many are in flight. It
// is within its source.
type packets struct {
	source  *source
	full    unit.Size       // length on the link of a packet of Payload bytes
	offered uint64          // packets that wait to be sent, unless the source is greedy
	begun   int             // transfers at the front of ends whose last packet has been sent
	ends    queue[transfer] // the transfers that the packets make up, where they do, until they are acknowledged
	egress  *egress         // Ethernet: the room that the source shares with the other flows, if there is a limit
}

// transfer is a finite one on its path.
type transfer struct {
	last   uint64    // number of its last packet
	rest   uint32    // payload of that packet
	length unit.Size // of that packet on the link
	tag    uint32    // of a message
}

// psnMask selects the 24-bit PSN of a packet's number.
const psnMask = 1<<24 - 1

// of makes p the packets of s, which is their source.
func (p *packets) of(s *source) *packets {
	p.source = s
	f := s.frame
	p.full = s.framing.Length(&f)
	return p
}

// refusesPacket returns why a frame is not of a kind, or in the form of another transport.
func refusesPacket(f *wire.Frame, kind wire.Kind) trace.Reason {
	if f.Kind != kind || f.Family == wire.RoCEv2 || f.Family == wire.UET {
		return trace.UnknownFlow
	}
	return trace.NoReason
}

func (p *packets) refuses(f *wire.Frame) trace.Reason { return refusesPacket(f, wire.Ack) }

// arrive takes in an arrival: a packet, or a transfer, which is packets of full size and
// one with the rest.
func (p *packets) arrive(now unit.Time, a traffic.Arrival, rec *trace.Recorder) {
	s := p.source
	if a.Size <= 0 {
		if e := p.egress; e != nil {
			if e.used+p.full > e.room {
				rec.Emit(trace.Event{At: now, Kind: trace.Drop, Lane: s.Lane, Flow: s.QP, A: int64(trace.EgressFull)})
				return
			}
			e.used += p.full
		}
		p.offered++
		return
	}
	whole := uint64(a.Size-1) / uint64(s.Payload)
	t := transfer{last: s.count + p.offered + whole, rest: uint32(uint64(a.Size) - whole*uint64(s.Payload))}
	f := s.frame
	f.Payload = s.Family.Fit(t.rest)
	if s.tagged() {
		t.tag = a.Tag
		f.SetImmediate(a.Tag)
	}
	t.rest, t.length = f.Payload, s.framing.Length(&f)
	p.offered += whole + 1
	p.ends.push(t)
	s.reportArrival(now, a, uint32(t.last)&psnMask, rec)
}

// ending returns the transfer that the next packet ends.
func (p *packets) ending() *transfer {
	if p.begun == p.ends.len() || p.ends.at(p.begun).last != p.source.count {
		return nil
	}
	return p.ends.at(p.begun)
}

func (p *packets) reach() (all, over uint64) {
	return p.source.count + p.offered, p.source.oldest()
}

func (p *packets) next(unit.Time) (port.Answer, unit.Size) {
	if p.offered == 0 && !(p.source.greedy && p.source.active) {
		return port.Answer{Block: port.Idle, Until: unit.Never}, 0
	}
	return p.permitted()
}

// permitted answers whether the window permits a packet, and returns the packet's length.
func (p *packets) permitted() (port.Answer, unit.Size) {
	if !p.source.window.open(p.full) {
		return port.Answer{Block: port.Window, Until: unit.Never}, 0
	}
	if t := p.ending(); t != nil {
		return port.Answer{}, t.length
	}
	return port.Answer{}, p.full
}

func (p *packets) complete(_ unit.Time, f *wire.Frame) unit.Size {
	f.PSN = uint32(p.source.count) & psnMask
	t := p.ending()
	if t == nil {
		return p.full
	}
	if f.Payload, f.Last = t.rest, true; p.source.tagged() {
		f.SetImmediate(t.tag)
	}
	return t.length
}

func (p *packets) load(unit.Time, *wire.Frame) bool { return true }

func (p *packets) sent(now unit.Time) unit.Size {
	n, s := p.full, p.source
	if t := p.ending(); t != nil {
		if n = t.length; s.window != nil {
			p.begun++ // it may be retransmitted
		} else {
			p.ends.pop()
		}
	} else if p.egress != nil && p.offered > 0 && p.ends.empty() {
		p.egress.used -= n
	}
	s.count++
	s.window.sent(now, n)
	if p.offered > 0 {
		p.offered--
	}
	return n
}

func (p *packets) receive(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	if p.acked(now, f, f.PSN-uint32(p.source.oldest()), rec) {
		p.source.feedback(now, f, rec)
	}
}

// acked takes in the ACK of the packet that is ahead packets behind the oldest one which awaits its
// ACK. It reports whether that is news. An ACK that should not come is a violation, unless routes
// may change; it counts all the same.
func (p *packets) acked(now unit.Time, f *wire.Frame, ahead uint32, rec *trace.Recorder) bool {
	s := p.source
	oldest := s.oldest()
	news, inTurn, spared := s.window.acked(now, ahead&psnMask)
	if !inTurn && !s.reorders {
		rec.Emit(trace.Event{At: now, Kind: trace.Violation, Lane: f.Lane, Flow: s.QP, PSN: f.PSN,
			A: int64(trace.OutOfOrder), B: int64(oldest & psnMask)})
	}
	if spared > 0 {
		p.spare(spared)
	}
	if s.window != nil {
		p.acknowledged(s.oldest() - oldest)
	}
	return news
}

// spare continues behind packets that are acknowledged and need not be retransmitted. A packet that
// has its place for the link is sent all the same.
func (p *packets) spare(n int) {
	s := p.source
	if !s.greedy || !s.active {
		if s.queued && !s.filled {
			n = min(n, int(p.offered)-1)
		}
		n = max(n, 0)
		p.offered -= min(p.offered, uint64(n))
	}
	s.window.before -= n
	if p.egress != nil && !s.greedy && p.ends.empty() {
		p.egress.used -= unit.Size(n) * p.full
	}
	s.count += uint64(n)
	for p.begun < p.ends.len() && p.ends.at(p.begun).last < s.count {
		p.begun++
	}
}

// acknowledged records that the ACK of n packets has come.
func (p *packets) acknowledged(n uint64) {
	news := unit.Size(n) * p.full
	for first := p.source.oldest(); p.begun > 0 && p.ends.front().last < first; p.begun-- {
		news -= p.full - p.ends.front().length
		p.ends.pop()
	}
	w := p.source.window
	w.news = news
	if w.underway -= news; w.n == 0 {
		w.underway = 0 // spared packets were underway before the source went back
	}
}

func (p *packets) advance(now unit.Time, rec *trace.Recorder) {
	if p.source.window.deadline() <= now {
		p.again(now, trace.TimerExpired, rec)
	}
}

func (p *packets) deadline() unit.Time { return p.source.window.deadline() }

// back takes back all packets that await their ACK, and returns how many. They wait to be sent.
func (p *packets) back() int {
	s := p.source
	n := s.window.lost()
	s.count -= uint64(n)
	for p.begun > 0 && p.ends.at(p.begun-1).last >= s.count {
		p.begun--
	}
	if p.egress != nil && !s.greedy && p.ends.empty() {
		p.egress.used += unit.Size(n) * p.full
	}
	if !s.greedy || !s.active {
		p.offered += uint64(n) // a greedy source that is active has them anyway
	}
	return n
}

// again goes back to the oldest packet that awaits its ACK.
func (p *packets) again(now unit.Time, why trace.Reason, rec *trace.Recorder) {
	s, n := p.source, p.back()
	if why == trace.TimerExpired {
		rec.Emit(trace.Event{At: now, Kind: trace.Timeout, Lane: s.Lane, Flow: s.QP, PSN: uint32(s.count) & psnMask,
			A: int64(n)})
	} else {
		rec.Emit(trace.Event{At: now, Kind: trace.Retransmit, Lane: s.Lane, Flow: s.QP, PSN: uint32(s.count) & psnMask,
			A: int64(why), B: int64(n)})
	}
	s.ownPacer.lost(now, rec)
}

// asks reports whether the next packet of a flow, which ends a transfer or not, asks for an ACK as
// it may be the last one for a while.
func (p *packets) asks(last bool) bool {
	s := p.source
	alone := s.Bodies != nil || !s.greedy && p.offered <= 1 // or it is unknown whether there is another
	w := s.window
	return last || alone || w.n+1 >= w.Window || w.most > 0 && w.underway+2*p.full > w.most
}

// endedBy returns the transfer that a packet ends which was sent before.
func (p *packets) endedBy(number uint64) *transfer {
	for i := range p.begun {
		if t := p.ends.at(i); t.last == number {
			return t
		}
	}
	return nil
}

func (p *packets) lengthOf(number uint64) unit.Size {
	if t := p.endedBy(number); t != nil {
		return t.length
	}
	return p.full
}

// fail ends the flow for good. What it has not sent, or was not acknowledged, stays so, and has no
// room any more.
func (p *packets) fail(now unit.Time, why trace.Reason, rec *trace.Recorder) {
	s := p.source
	n := p.back()
	if p.egress != nil && !s.greedy && p.ends.empty() {
		p.egress.used -= unit.Size(p.offered) * p.full
	}
	e := trace.Event{At: now, Lane: s.Lane, Flow: s.QP, PSN: uint32(s.count) & psnMask}
	if why == trace.TimerExpired {
		e.Kind = trace.Timeout
		rec.Emit(e)
	}
	if e.Kind, e.A, e.B = trace.Failure, int64(why), int64(n); s.workload != nil {
		e.Bytes = uint32(s.Dst)
	}
	rec.Emit(e)
	if s.active && s.workload == nil {
		rec.Emit(trace.Event{At: now, Kind: trace.FlowStop, Flow: s.QP})
	}
	s.active, s.stopped, s.due, s.Stop = false, true, unit.Never, now
	s.window.failed, s.filled = true, true // a packet that waits for the link is not loaded
}
