package cp

import (
	"errors"
	"fmt"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Config says how a switch with input buffers marks (HPL-2002-224, section IV).
// Each option beside the scheme is a reading of a sentence that leaves it open.
type Config struct {
	// Scheme is "none", "naive" (IV.A), "input" (IV.B) or "input-output" (IV.C).
	Scheme string
	// Threshold is for input-output: "triggered when the total number of packets that
	// are waiting for an output link exceeds a threshold" (IV.C).
	Threshold int
	// MoreThan takes "exceeds" by the letter: more than Threshold packets wait. By
	// default Threshold packets are enough: the packet on the wire is thought of as
	// one more that waits, which is nearer to the figures.
	MoreThan bool
	// SkipBlocked is footnote 4: "does not mark packets that are transmitted on a link
	// that was recently blocked". An output that is blocked when a marking event comes
	// (Switch.Blocked) is left out of it; what is to be marked already stays so.
	SkipBlocked bool
	// IdleExempt says that an output whose line is idle when a buffer is full is not
	// congested. The paper does not say so; a crossbar that serves one output at a
	// time for each input (model M2) needs it, or victims are marked for having waited
	// for the crossbar.
	IdleExempt bool
	// Scan marks the packets that wait at the moment of the event, in whatever buffer:
	// "direct packet scanning", to which the paper compares its counters (IV.B). They
	// differ where packets leave out of turn.
	Scan bool
}

// Schemes lists the marking schemes.
func Schemes() []string { return []string{"none", "naive", "input", "input-output"} }

// InputMarking is the congestion point of a switch with input buffers: all three
// schemes of HPL-2002-224, in the form with counters (IV.B): cnt1 counts the
// packets that wait for an output (kept by the switch), cnt2 how many of the next
// ones to leave by it are marked. With Config.Scan there is no cnt2.
type InputMarking struct {
	config Config
	rec    *trace.Recorder
	cnt2   []int          // by output
	why    []trace.Reason // by output: what set cnt2
	found  []uint64       // by output: the last event of a full buffer that concerned it
	event  uint64         // counts them
}

// New returns the congestion point of a switch with input buffers and so many
// ports, or nil for the scheme "none". A scheme of the other kind of switch (NewQCN)
// is an error.
func New(c Config, ports int, rec *trace.Recorder) (Point, error) {
	switch c.Scheme {
	case "none":
		return nil, nil
	case "input-output":
		if c.Threshold < 1 {
			return nil, fmt.Errorf("marking: the threshold is %d; at least 1 packet must wait", c.Threshold)
		}
	case "naive", "input":
	case "qcn":
		return nil, errors.New("marking: qcn looks at the queue of an output; a switch with input buffers has none")
	default:
		return nil, fmt.Errorf("marking: there is no scheme %q; there are %v", c.Scheme, Schemes())
	}
	return &InputMarking{
		config: c, rec: rec,
		cnt2: make([]int, ports), why: make([]trace.Reason, ports), found: make([]uint64, ports),
	}, nil
}

// Enqueue looks for the two causes of a marking event. The frame that has just
// come counts where it still waits: one that has begun to leave can no longer be
// marked (footnote 6).
func (m *InputMarking) Enqueue(now unit.Time, _ *wire.Frame, q Queue) (wire.Frame, bool) {
	if q.Switch.Full(q.Input) {
		m.full(now, q)
	}
	if m.config.Scheme == "input-output" {
		waiting := q.Switch.Waiting(q.Output)
		if waiting > m.config.Threshold || waiting == m.config.Threshold && !m.config.MoreThan {
			if !(m.config.SkipBlocked && q.Switch.Blocked(q.Output)) {
				m.trigger(now, q.Output, trace.OverThreshold, q.Switch)
			}
		}
	}
	return wire.Frame{}, false
}

// full is the marking event of a full input buffer: "any output link that is the
// destination for at least one packet in such a full buffer is classified as a
// congested link" (IV.B).
func (m *InputMarking) full(now unit.Time, q Queue) {
	m.event++
	for i := 0; ; i++ {
		output, waiting, ok := q.Switch.Resident(q.Input, i)
		if !ok {
			return
		}
		if !waiting || m.config.IdleExempt && !q.Switch.Sending(output) || m.config.SkipBlocked && q.Switch.Blocked(output) {
			continue
		}
		if m.config.Scheme == "naive" {
			q.Switch.Mark(q.Input, i, trace.FullBuffer)
		}
		if m.found[output] != m.event {
			m.found[output] = m.event
			m.trigger(now, output, trace.FullBuffer, q.Switch)
		}
	}
}

// trigger is a marking event for an output: cnt1 is copied to cnt2, not added
// (IV.B). The naive scheme has marked what it marks already.
func (m *InputMarking) trigger(now unit.Time, output int, why trace.Reason, s Switch) {
	waiting := s.Waiting(output)
	switch {
	case m.config.Scheme == "naive":
	case m.config.Scan:
		m.scan(output, why, s)
	default:
		m.cnt2[output], m.why[output] = waiting, why
	}
	m.rec.Emit(trace.Event{At: now, Kind: trace.Trigger, Port: uint16(output), A: int64(why), B: int64(waiting)})
}

// scan marks "all packets that are resident (in any buffer) at the switch and are
// destined to an output link that was classified as congested" (IV.B) and wait for it.
func (m *InputMarking) scan(congested int, why trace.Reason, s Switch) {
	for input := range m.cnt2 {
		for i := 0; ; i++ {
			output, waiting, ok := s.Resident(input, i)
			if !ok {
				break
			}
			if waiting && output == congested {
				s.Mark(input, i, why)
			}
		}
	}
}

// Dequeue marks the next cnt2 packets that leave.
func (m *InputMarking) Dequeue(_ unit.Time, f *wire.Frame, q Queue) trace.Reason {
	if m.cnt2[q.Output] == 0 {
		return trace.NoReason
	}
	m.cnt2[q.Output]--
	f.FECN = true
	return m.why[q.Output]
}

// Reset forgets what is to be marked.
func (m *InputMarking) Reset() {
	clear(m.cnt2)
	clear(m.why)
	clear(m.found)
	m.event = 0
}
