package node

import (
	"fmt"
	"slices"

	"fabemu/node/rp"
	"fabemu/node/schedule"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Workload is a workload at one endpoint: transfers to and from other members of a group. Each
// transfer is a flow of its own, with a queue pair of the member's range, a rate limiter and a
// reaction point, which all end with the transfer. An endpoint has a bounded number of transfers at
// a time, and further ones wait for one that ends. So the memory of a workload depends on the
// number of open transfers, not on the number of members.
type Workload struct {
	Flow    Flow                                       // the fields that all its flows share: not QP, Dst, Traffic, Limiter and Reaction
	Traffic traffic.Backlog                            // its transfers, to members by their index; nil: it only receives
	Program schedule.Program                           // of its rank, instead of Traffic: each member is a rank
	Members []wire.LID                                 // all members, the same at each of them
	Self    int                                        // the index of this endpoint
	Range   QPRange                                    // the queue pairs of all members
	Tagged  bool                                       // messages of the Program carry their tags
	Patient unit.Duration                              // how long a rank of the Program waits at its end before it reports that
	End     unit.Time                                  // the last instant, at which ranks report; 0: they do not
	Open    int                                        // how many transfers it sends at a time, at most Range.Each; with a Program at least the number of peers
	Pacing  func(qp uint32) (RateLimiter, rp.Reaction) // returns a new limiter, and a reaction point or none
	Answer  func(qp uint32) rp.Answerer                // returns the Answerer of a flow that ends here; nil: there are no answers
	Linger  unit.Duration                              // how long a destination acknowledges packets that arrive again; 0: links lose nothing
}

// QPRange is the queue pairs of a workload: Each of them for each member in turn.
type QPRange struct{ First, Each uint32 }

// member returns the place of the member that has a queue pair; false if none of so many has.
func (r QPRange) member(qp uint32, members int) (int, bool) {
	if qp < r.First || r.Each == 0 {
		return 0, false
	}
	m := int((qp - r.First) / r.Each)
	return m, m < members
}

// workloadSet is the workloads of an endpoint.
type workloadSet struct {
	all   []workloadRun
	calls *agenda.Agenda // when destinations may have something to send; nil: none ever had
	sinks []*sink        // by slot there
}

func (p *workloadSet) number() int {
	if p == nil {
		return 0
	}
	return len(p.all)
}

// workloadRun is a Workload at run time.
type workloadRun struct {
	Workload
	slot    int              // of the next transfer, in the agenda of the endpoint
	sources int              // the first of its sources; there are Open of them
	backlog int              // how many transfers wait for a source, as last reported
	free    queue[int]       // sources without a transfer, by their place in the workload; the one that has rested longest first
	used    []uint32         // by source, how many queue pairs it has had
	failed  map[uint32]bool  // queue pairs that have failed: none is used again; nil: none has
	kept    map[int]int      // by peer, the place of the source that stays with it: of ranks; nil: none does
	sinks   map[uint32]*sink // by queue pair
	spare   []*sink
	made    sink              // what all sinks are at first
	closed  map[uint32]closed // by queue pair, flows that have ended
	leaving queue[uint32]     // their queue pairs, in the order in which they are looked at
	ghost   sink              // stands for one of them
	*ranked                   // nil: it has no program
}

// closed is a flow that has ended: its destination acknowledges packets that come again.
type closed struct {
	next  uint32    // the PSN behind its last packet
	until unit.Time // put off by each such packet
	again bool      // it was put off since it took its place among those that leave
}

// check refuses a workload that could never send.
func (p *Workload) check(kind port.FlowControl) error {
	switch {
	case p.Program != nil && p.Traffic != nil:
		return fmt.Errorf("it has flows and a program: give one of them")
	case len(p.Members) < 2 || p.Self < 0 || p.Self >= len(p.Members):
		return fmt.Errorf("member %d of %d", p.Self, len(p.Members))
	case p.Open < 1 || uint32(p.Open) > p.Range.Each:
		return fmt.Errorf("%d flows at a time, of %d queue pairs: at least 1, and at most as many", p.Open, p.Range.Each)
	case p.Pacing == nil:
		return fmt.Errorf("it has no limiters")
	}
	f := p.Flow
	f.Limiter, f.Reaction = p.Pacing(f.QP)
	return f.check(kind)
}

// rounds returns how many queue pairs each source uses in turn.
func (p *Workload) rounds() uint32 { return p.Range.Each / uint32(p.Open) }

// place returns the place of a source in the workload.
func (p *workloadRun) place(s *source) int { return s.slot - flowSlot - p.sources }

// addWorkload begins a workload. Its sources are those from first on.
func (e *Endpoint) addWorkload(k, first int, c *Config) {
	p := &e.workloads.all[k]
	*p = workloadRun{Workload: c.Workloads[k], slot: e.slots.of(workloads, k), sources: first,
		sinks: map[uint32]*sink{}, closed: map[uint32]closed{}}
	p.used = make([]uint32, p.Open)
	for i := range p.Open {
		s := &e.sources[first+i]
		*s = source{block: port.Idle, slot: flowSlot + first + i, due: unit.Never}
		s.ownPacer.due, s.pacer = unit.Never, &s.ownPacer
		p.free.push(i)
	}
	e.addLane(p.Flow.Lane)
	if p.Program != nil {
		p.kept = map[int]int{}
	}
	p.made = sink{reorders: e.reorders, pooled: true}
	p.made.receiver, p.made.receiving = p.Flow.Transport.receiver(&Sink{Lane: p.Flow.Lane}, e)
	next := unit.Never
	switch {
	case p.Program != nil:
		p.ranked = newRanked(&p.Workload, &e.rec)
		if p.reports = p.End; p.reports <= 0 {
			p.reports = unit.Never
		}
		next = p.Flow.Start
	case p.Traffic != nil:
		_, next = p.Traffic.Waiting(-1)
	}
	e.agenda.Set(p.slot, next)
}

// beginTransfers begins the transfers that have arrived and find a source.
func (e *Endpoint) beginTransfers(now unit.Time, p *workloadRun) {
	n, next := p.Traffic.Waiting(now)
	for ; n > 0 && !p.free.empty(); n-- {
		a := p.Traffic.Next()
		e.sourceTo(now, p, a.To).sender.arrive(now, a, &e.rec)
	}
	if n != p.backlog {
		p.backlog = n
		e.rec.Emit(trace.Event{At: now, Kind: trace.Backlog, Flow: p.Range.First + uint32(p.Self)*p.Range.Each, A: int64(n)})
	}
	e.agenda.Set(p.slot, next)
}

// sourceTo returns a source to a member, which has something to do: the one that stays with the
// member, or else one with a queue pair, a limiter and its own reaction point.
func (e *Endpoint) sourceTo(now unit.Time, p *workloadRun, to int) *source {
	i, stays := p.kept[to]
	if !stays {
		i = *p.free.front()
		if p.free.pop(); p.kept != nil {
			p.kept[to] = i
		}
		e.openSource(now, p, i, to)
	}
	s := &e.sources[p.sources+i]
	e.agenda.Set(s.slot, now)
	return s
}

// openSource gives a source to a destination.
func (e *Endpoint) openSource(now unit.Time, p *workloadRun, i, to int) {
	s := &e.sources[p.sources+i]
	f := p.Flow
	f.QP = p.pair(i)
	f.Dst, f.Start, f.Stop = p.Members[to], now, unit.Never
	f.Limiter, f.Reaction = p.Pacing(f.QP)
	e.newSource(s, f, s.slot, p)
	p.used[i]++
	s.greedy, s.active, s.due = false, true, unit.Never
}

// pair returns the queue pair that a source is given next.
func (p *workloadRun) pair(i int) uint32 {
	return p.Range.First + uint32(p.Self)*p.Range.Each + uint32(i) + uint32(p.Open)*(p.used[i]%p.rounds())
}

// renew reports whether a source has a queue pair that has not failed. It is given that next.
func (p *workloadRun) renew(i int) bool {
	for range p.rounds() {
		if !p.failed[p.pair(i)] {
			return true
		}
		p.used[i]++
	}
	return false
}

// retire ends a transfer that has left whole and, where packets are acknowledged, is acknowledged
// whole, or whose queue pair has failed. It reports whether it has. The destination of one that has
// failed waits on.
func (e *Endpoint) retire(now unit.Time, s *source) bool {
	if s.workload.kept != nil {
		e.settleMessages(now, s)
		return false
	}
	p, failed := s.workload, s.window.hasFailed()
	if all, over := s.sender.reach(); s.queued || over < all && !failed {
		return false
	}
	if failed {
		if p.failed == nil {
			p.failed = map[uint32]bool{}
		}
		p.failed[s.QP] = true
	}
	if i := p.place(s); p.renew(i) {
		p.free.push(i)
	}
	if ended := s.ownPacer.reaction.Ended; ended != nil {
		ended(now)
	}
	s.workload, s.QP, s.sender = nil, 0, nil
	s.ownPacer.due = unit.Never
	e.agenda.Set(s.slot, unit.Never)
	if p.backlog > 0 {
		e.agenda.Set(p.slot, now)
	}
	return true
}

// sourceOf returns the source of a flow. If there is none, ended is true for a queue pair of a
// workload: a frame about it comes after the end of its transfer.
func (e *Endpoint) sourceOf(qp uint32) (s *source, ended bool) {
	if i, ok := e.source.find(qp); ok {
		return &e.sources[i], false
	}
	p, m := e.workloadOf(qp)
	if p == nil || m != p.Self {
		return nil, false
	}
	place := int(qp-p.Range.First-uint32(m)*p.Range.Each) % p.Open
	if s := &e.sources[p.sources+place]; s.QP == qp {
		return s, false
	}
	return nil, true
}

// workloadOf returns the workload with a queue pair, and the member that sends with it; nil: there
// is none.
func (e *Endpoint) workloadOf(qp uint32) (p *workloadRun, member int) {
	for k := range e.workloads.number() {
		p = &e.workloads.all[k]
		if m, ok := p.Range.member(qp, len(p.Members)); ok {
			return p, m
		}
	}
	return nil, 0
}

// sinkOf returns the destination of the flow of a data frame; nil: there is none. The first frame
// of a transfer makes it.
func (e *Endpoint) sinkOf(now unit.Time, f *wire.Frame) *sink {
	if i, ok := e.sink.find(f.QP); ok {
		return &e.sinks[i]
	}
	return e.workloadSink(now, f)
}

// workloadSink returns the destination of a flow of a workload. sinkOf calls it if the flow has no
// other sink.
func (e *Endpoint) workloadSink(now unit.Time, f *wire.Frame) *sink {
	p, m := e.workloadOf(f.QP)
	if p == nil || m == p.Self || p.Members[m] != f.Src || (f.Kind == wire.TCP) != p.Flow.Transport.streams() {
		return nil
	}
	if s := p.sinks[f.QP]; s != nil {
		if f.PSN == 0 && !s.acks && p.ranked == nil && s.next != 0 { // the end of the transfer before it was lost
			s.next, s.missing, s.bytes = 0, 0, 0
		}
		if f.Kind == wire.TCP && s.receiver.begins(f) {
			s.receiver = s.receiver.of(e, s, p.Flow.Payload)
		}
		return s
	}
	if !p.made.receiver.begins(f) {
		return nil
	}
	for n := p.leaving.len(); n > 0; n-- {
		qp := *p.leaving.front()
		if c := p.closed[qp]; c.until <= now {
			delete(p.closed, qp)
		} else if !c.again {
			break
		} else {
			c.again = false
			p.closed[qp] = c
			p.leaving.push(qp)
		}
		p.leaving.pop()
	}
	made := p.made
	made.qp, made.source, made.lane = f.QP, f.Src, f.Lane
	if c, ok := p.closed[f.QP]; ok {
		c.until, c.again = now.Add(p.Linger), true
		p.closed[f.QP] = c
		p.ghost, p.ghost.next, p.ghost.pooled = made, c.next, false
		return &p.ghost
	}
	s := new(sink)
	if n := len(p.spare); n > 0 {
		s, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	made.call = s.call
	*s = made
	s.receiver = made.receiver.of(e, s, p.Flow.Payload)
	if p.Answer != nil {
		s.answer = p.Answer(f.QP)
	}
	p.sinks[f.QP] = s
	return s
}

// close ends the destination of a transfer that has come whole with a packet.
func (e *Endpoint) close(now unit.Time, s *sink, last *wire.Frame) {
	p, from := e.workloadOf(s.qp)
	if p.ranked != nil {
		tag, _ := last.Immediate()
		p.came.push(arrived{from, tag})
		e.agenda.Set(p.slot, now)
	}
	if p.kept != nil || p.Flow.Transport.streams() { // a stream ends with its connection
		return
	}
	if p.Linger > 0 && s.again {
		p.closed[s.qp] = closed{next: s.next, until: now.Add(p.Linger)}
		p.leaving.push(s.qp)
	}
	e.remove(now, p, s)
}

// remove removes the destination of a transfer. Another one uses it again, after its last call.
func (e *Endpoint) remove(now unit.Time, p *workloadRun, s *sink) {
	delete(p.sinks, s.qp)
	s.over = true
	if t, ok := s.answer.(rp.TakingTurns); ok {
		t.Ended(now)
		e.nextTurn(now, t, s)
	}
	if w := e.workloads; s.call > 0 && w.calls.Due(int(s.call)-1) != unit.Never {
		w.calls.Set(int(s.call)-1, now)
		e.agenda.Set(e.slots.of(calls, 0), now)
		return
	}
	p.recycle(s)
}

// recycle keeps a destination for another transfer.
func (p *workloadRun) recycle(s *sink) {
	s.receiver, s.answer = p.made.receiver, nil
	p.spare = append(p.spare, s)
}

// call has the destination of a transfer asked for frames of its own at an instant.
func (e *Endpoint) call(at unit.Time, s *sink) {
	w := e.workloads
	if s.over {
		return
	}
	if n := len(w.sinks); s.call == 0 {
		if n == cap(w.sinks) {
			w.sinks = slices.Grow(w.sinks, max(8, n))
			more := agenda.New(cap(w.sinks))
			for slot := range n {
				more.Set(slot, w.calls.Due(slot))
			}
			w.calls = more
		}
		w.sinks = append(w.sinks, s)
		s.call = int32(n + 1)
	}
	w.calls.Set(int(s.call)-1, at)
	e.agenda.Set(e.slots.of(calls, 0), w.calls.Next())
}

// answerCalls queues the answers to transfers.
func (e *Endpoint) answerCalls(now unit.Time) {
	w := e.workloads
	for slot, at := w.calls.First(); at <= now; slot, at = w.calls.First() {
		s := w.sinks[slot]
		if at = e.respond(now, s); s.over {
			at = unit.Never
			p, _ := e.workloadOf(s.qp)
			p.recycle(s)
		}
		w.calls.Set(slot, at)
	}
	e.agenda.Set(e.slots.of(calls, 0), w.calls.Next())
}
