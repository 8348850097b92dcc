package measured

import (
	"encoding/binary"
	"encoding/json"

	"fabemu/emu/run/pace"
	"fabemu/wire/unit"
)

// Clock shows the model time that the wall clock has reached: wall time since model time 0, over
// the dilation; 0 before the run. It never goes back.
type Clock interface{ Now() unit.Time }

// Time is the source of the time of the limiters and reaction points of a run: a clock, or
// the recorded readings of such a clock. It belongs to the goroutine of the run.
type Time struct {
	Starts *Starts // those that there have been

	clock Clock // nil: the recorded readings are repeated
	keep  int64 // how many more readings are recorded
	cut   bool  // some were not
	of    map[Key]*Pacing
}

// Key names the flows of one limiter: the flow of a queue pair, or the flows that share one with
// it.
type Key struct {
	QP     uint32
	Shared bool
}

// New returns the time of a run that a clock shows. As many readings as keep are recorded.
func New(c Clock, keep int64) *Time {
	return &Time{Starts: newStarts(), clock: c, keep: keep, of: make(map[Key]*Pacing)}
}

// Whole reports whether all that the clock has shown was recorded.
func (t *Time) Whole() bool { return !t.cut }

// Repeat returns a Time that shows the readings of t. It is nil where t is.
func (t *Time) Repeat() *Time {
	if t == nil {
		return nil
	}
	again := &Time{Starts: newStarts(), cut: t.cut, of: make(map[Key]*Pacing, len(t.of))}
	for k, p := range t.of {
		again.of[k] = &Pacing{time: again, packet: p.packet, readings: p.readings}
	}
	return again
}

// Keep returns how many more readings are recorded.
func (t *Time) Keep() int64 { return t.keep }

// Add adds the readings of a part of the run elsewhere; nil is a part that has not reported any.
func (t *Time) Add(o *Time) {
	if o == nil {
		t.cut = true
		return
	}
	for k, p := range o.of {
		t.of[k] = &Pacing{time: t, readings: p.readings}
	}
	t.cut = t.cut || o.cut
	t.Starts.Count += o.Starts.Count
	t.Starts.Late += o.Starts.Late
	t.Starts.Lateness.Merge(o.Starts.Lateness.Histogram)
	t.Starts.LatenessT.Merge(o.Starts.LatenessT.Histogram)
}

// form is a Time as in JSON.
type form struct {
	Starts *Starts
	Cut    bool
	Of     []reading
}

// reading has the readings of one Pacing.
type reading struct {
	Key
	Readings []byte
}

// MarshalJSON writes the readings of t, for the process that adds up all parts.
func (t *Time) MarshalJSON() ([]byte, error) {
	f := form{Starts: t.Starts, Cut: t.cut}
	for k, p := range t.of {
		f.Of = append(f.Of, reading{k, p.readings})
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads the output of MarshalJSON.
func (t *Time) UnmarshalJSON(b []byte) error {
	f := form{Starts: newStarts()}
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*t = *New(nil, 0)
	t.cut = f.Cut
	if f.Starts != nil {
		t.Starts = f.Starts
	}
	for _, r := range f.Of {
		t.of[r.Key] = &Pacing{time: t, readings: r.Readings}
	}
	return nil
}

// Pacing returns the time of one limiter, whose packets have a duration on the link.
func (t *Time) Pacing(k Key, packet unit.Duration) *Pacing {
	p := t.of[k]
	if p == nil {
		p = &Pacing{time: t}
		t.of[k] = p
	}
	p.packet = packet
	return p
}

// Pacing is the time of one limiter and its reaction point.
type Pacing struct {
	time     *Time
	packet   unit.Duration
	last     unit.Time // the last reading
	readings []byte    // each by how much it is later than the one before, as a varint
	feedback unit.Time // when the reaction point is to have the feedback that the listener has; 0: there is none
	limiter  *limiter  // nil: there is none yet
	reacts   bool      // there is a reaction point
}

// read returns the measured instant of an event at now.
func (p *Pacing) read(now unit.Time) unit.Time {
	at := max(now, p.last)
	switch t := p.time; {
	case t.clock == nil:
		if d, n := binary.Uvarint(p.readings); n > 0 {
			p.readings = p.readings[n:]
			at = max(at, p.last.Add(unit.Duration(d)))
		}
	default:
		at = max(at, t.clock.Now())
		if t.keep > 0 {
			t.keep--
			p.readings = binary.AppendUvarint(p.readings, uint64(at-p.last))
		} else {
			t.cut = true
		}
	}
	p.last = at
	return at
}

// Starts is by how much packets start later than their limiters let them: from the instant that
// a limiter gave, or at which there was a packet, to that at which its answer was there.
type Starts struct {
	Count     int64
	Late      int64          // later than 5 % of T, the time of a packet on the link
	Lateness  pace.Histogram // in ps of model time
	LatenessT pace.Histogram // in thousandths of T
}

// newStarts returns Starts of no packets: up to 100 s, in three digits.
func newStarts() *Starts {
	return &Starts{Lateness: pace.NewHistogram(100_000_000_000_000), LatenessT: pace.NewHistogram(100_000_000_000)}
}

func (s *Starts) note(late, packet unit.Duration) {
	s.Count++
	if late > packet/20 {
		s.Late++
	}
	s.Lateness.RecordValue(int64(late))
	s.LatenessT.RecordValue(int64(late) * 1000 / int64(max(packet, 1)))
}
