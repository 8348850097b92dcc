package node

import (
	"fabemu/node/schedule"
	"fabemu/node/traffic"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ranked is a rank of a parallel job at work: a pool whose transfers are the messages of a program. It has a source for
// each rank that it sends to, and the source keeps its queue pair. So messages between two ranks stay in their order: the
// n-th message that comes from a rank is for the n-th receive from that rank in the program.
type ranked struct {
	rank    *schedule.Rank
	program schedule.Program
	rec     *trace.Recorder
	flow    uint32                 // the first queue pair of the rank
	sources map[int]int            // by peer, the place of its source in the pool
	sent    []queue[message]       // by source, its messages that are under way
	wanted  map[int]*queue[uint32] // by peer, the tags of receives that were read and got no message
	came    queue[int]             // peers with a new message, or a new receive
	early   map[int]int            // by peer, messages that got no receive

	round      int       // of the collective operation; 0: none has begun
	begun, end unit.Time // of the round, as far as its operations have ended
	failed     bool      // the error of the rank was reported
}

// message is a message under way.
type message struct {
	id   uint32
	last uint64 // the number of its last packet
}

// newRanked returns the rank of a pool.
func newRanked(p *Pool, rec *trace.Recorder) *ranked {
	r := &ranked{program: p.Program, rec: rec, flow: p.Range.First + uint32(p.Self)*p.Range.Each,
		sources: map[int]int{}, sent: make([]queue[message], p.Open),
		wanted: map[int]*queue[uint32]{}, early: map[int]int{}}
	r.rank = schedule.NewRank(r, schedule.Config{Rank: p.Self, Ended: r.ended})
	return r
}

// Next returns the next statement of the program, and notes the tag of a receive.
func (r *ranked) Next() (schedule.Op, bool, error) {
	op, ok, err := r.program.Next()
	if ok && op.Kind == schedule.Receive {
		q := r.wanted[op.Peer]
		if q == nil {
			q = &queue[uint32]{}
			r.wanted[op.Peer] = q
		}
		if q.push(op.Tag); r.early[op.Peer] > 0 {
			r.came.push(op.Peer)
		}
	}
	return op, ok, err
}

// Reach returns how far the program must be read.
func (r *ranked) Reach() schedule.Reach { return r.program.Reach() }

// ended notes how far a round has come. The next one begins when all of it has ended.
func (r *ranked) ended(op schedule.Op, begin, end unit.Time) {
	switch {
	case op.Round == 0 || op.Kind == schedule.Calc || op.Round < r.round:
	case op.Round == r.round:
		r.end = max(r.end, end)
	default:
		r.endRound(end)
		r.round, r.begun, r.end = op.Round, begin, end
	}
}

// endRound reports a round that has ended.
func (r *ranked) endRound(now unit.Time) {
	if r.round > 0 {
		r.rec.Emit(trace.Event{At: now, Kind: trace.Round, Flow: r.flow, PSN: uint32(r.round), A: int64(r.begun), B: int64(r.end)})
	}
	r.round = 0
}

// drive hands the messages that came to the rank, and sends its messages.
func (e *Endpoint) drive(now unit.Time, p *pool) {
	r := p.ranked
	r.rank.Advance(now)
	for again := true; again; {
		again = r.match(now)
		for m, ok := r.rank.Message(); ok; m, ok = r.rank.Message() {
			again = true
			e.sendMessage(now, p, m)
		}
	}
	if r.rank.Done() {
		r.endRound(now)
	}
	if r.rank.Err() != nil && !r.failed {
		r.failed = true
		e.rec.Emit(trace.Event{At: now, Kind: trace.Violation, Flow: r.flow, A: int64(trace.BadProgram)})
	}
	e.agenda.Set(p.slot, r.rank.Deadline())
}

// match hands messages to receives. It reports whether there were any.
func (r *ranked) match(now unit.Time) (any bool) {
	for !r.came.empty() {
		peer := *r.came.front()
		r.came.pop()
		for q := r.wanted[peer]; r.early[peer] > 0 && q != nil && !q.empty(); any = true {
			tag := *q.front()
			q.pop()
			r.early[peer]--
			r.rank.Received(now, peer, tag)
		}
	}
	return any
}

// sendMessage gives a message to the source for its rank.
func (e *Endpoint) sendMessage(now unit.Time, p *pool, m schedule.Message) {
	r := p.ranked
	place, known := r.sources[m.To]
	if !known {
		place = *p.free.front()
		p.free.pop()
		r.sources[m.To] = place
		e.openSource(now, p, place, m.To)
	}
	s := &e.sources[p.sources+place]
	s.arrive(now, traffic.Arrival{At: now, To: m.To, Size: m.Size}, &e.rec)
	r.sent[place].push(message{m.ID, s.ends.at(s.ends.len() - 1).last})
	e.agenda.Set(s.slot, now)
}

// settleMessages notes the messages of a source that have left and, where packets are acknowledged, are acknowledged.
func (e *Endpoint) settleMessages(now unit.Time, s *source) {
	p := s.pool
	q := &p.ranked.sent[s.slot-flowSlot-p.sources]
	for !q.empty() && q.front().last < s.count-uint64(s.window.inFlight()) {
		id := q.front().id
		q.pop()
		p.ranked.rank.Sent(now, id)
		e.agenda.Set(p.slot, now)
	}
}

// messageCame notes a message that has come whole from a member.
func (e *Endpoint) messageCame(now unit.Time, p *pool, from int) {
	p.ranked.early[from]++
	p.ranked.came.push(from)
	e.agenda.Set(p.slot, now)
}
