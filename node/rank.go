package node

import (
	"fabemu/node/schedule"
	"fabemu/node/traffic"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ranked is a rank of a parallel job at work: a workload whose flows are the messages of a program.
// It has a source for each rank that it sends to, and the source keeps its queue pair. So messages
// between two ranks stay in their order.
type ranked struct {
	rank *schedule.Rank
	rec  *trace.Recorder
	flow uint32           // the first queue pair of the rank
	sent []queue[message] // by source, its messages that are in flight
	came queue[arrived]   // messages that the rank has not got yet

	round      int       // of the collective operation; 0: none has begun
	begun, end unit.Time // of the round, as far as its operations have ended
	reports    unit.Time // when the rank reports that it waits; unit.Never: it has, or never does
	failed     bool      // the error of the rank was reported
}

// arrived is a message that has come whole.
type arrived struct {
	from int
	tag  uint32
}

// message is a message in flight.
type message struct {
	id  uint32
	end uint64 // sender.reach behind it
}

// newRanked returns the rank of a workload.
func newRanked(p *Workload, rec *trace.Recorder) *ranked {
	r := &ranked{rec: rec, flow: p.Range.First + uint32(p.Self)*p.Range.Each, sent: make([]queue[message], p.Open)}
	r.rank = schedule.NewRank(p.Program, schedule.Config{Rank: p.Self, Untagged: !p.Tagged, Ended: r.ended})
	return r
}

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
func (e *Endpoint) drive(now unit.Time, p *workloadRun) {
	r := p.ranked
	for r.rank.Advance(now); !r.came.empty(); r.came.pop() {
		m := r.came.front()
		r.rank.Received(now, m.from, m.tag)
	}
	for m, ok := r.rank.Message(); ok; m, ok = r.rank.Message() {
		s := e.sourceTo(now, p, m.To)
		s.sender.arrive(now, traffic.Arrival{At: now, To: m.To, Size: m.Size, Tag: m.Tag}, &e.rec)
		end, _ := s.sender.reach()
		p.sent[p.kept[m.To]].push(message{m.ID, end})
	}
	if r.rank.Done() {
		r.endRound(now)
	}
	if err, ok := r.rank.Err().(*schedule.Error); ok && !r.failed {
		r.failed = true
		e.rec.Emit(trace.Event{At: now, Kind: trace.Violation, Flow: r.flow, A: int64(trace.BadProgram), B: int64(err.Line)})
		e.wait(now, p, err.Reason, schedule.Wait{Op: schedule.Op{Line: err.Line, Peer: -1}, Since: now})
	}
	if now >= r.reports {
		r.reports = unit.Never
		e.reportWaits(now, p, p.Patient)
	}
	e.agenda.Set(p.slot, min(r.rank.Deadline(), r.reports))
}

// Interrupt makes the ranks at the endpoint report for whom they wait if the run ends early. A rank
// counts if it has waited for at least a tenth of the time so far.
func (e *Endpoint) Interrupt(now unit.Time) {
	for k := range e.workloads.number() {
		if p := &e.workloads.all[k]; p.ranked != nil && p.reports != unit.Never {
			p.reports = unit.Never
			e.reportWaits(now, p, min(p.Patient, unit.Duration(now/10)))
		}
	}
}

// mostWaits is how many operations a rank reports at most, and how many messages.
const mostWaits = 8

// reportWaits reports the messages that the rank has waited for this long, those that it could not
// send, and those that no receive has taken, unless the rank is still at work.
func (e *Endpoint) reportWaits(now unit.Time, p *workloadRun, long unit.Duration) {
	r, n := p.ranked, 0
	for _, w := range r.rank.Waiting() {
		why := trace.NotSent
		switch {
		case w.Kind == schedule.Calc || now.Sub(w.Since) < long || n == mostWaits:
			continue
		case w.Kind == schedule.Receive:
			why = trace.NoMessage
		}
		e.wait(now, p, why, w)
		n++
	}
	if n == 0 && !r.rank.Done() {
		return
	}
	lacking := r.rank.Unclaimed()
	for _, w := range lacking[:min(len(lacking), mostWaits)] {
		e.wait(now, p, trace.NoReceive, w)
	}
}

// wait reports that the rank waits, or cannot continue.
func (e *Endpoint) wait(now unit.Time, p *workloadRun, why trace.Reason, w schedule.Wait) {
	v := trace.Event{At: now, Kind: trace.Wait, Flow: p.flow, PSN: w.Tag, A: int64(w.Since), B: int64(w.Line)<<8 | int64(why)}
	if w.Peer >= 0 {
		v.Bytes = uint32(p.Members[w.Peer])
	}
	e.rec.Emit(v)
}

// settleMessages notes the messages of a source that have left and, where packets are acknowledged,
// are acknowledged.
func (e *Endpoint) settleMessages(now unit.Time, s *source) {
	p := s.workload
	if p.ranked == nil {
		return
	}
	q := &p.sent[s.slot-flowSlot-p.sources]
	for _, over := s.sender.reach(); !q.empty() && q.front().end <= over; {
		id := q.front().id
		q.pop()
		p.ranked.rank.Sent(now, id)
		e.agenda.Set(p.slot, now)
	}
}
