package cp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Full holds the parameters of all schemes that are triggered by a full input buffer
// (HPL-2002-224, section IV). Each is a reading of a sentence that leaves it open.
type Full struct {
	// Occupancy at which an input buffer is full; whole: the whole buffer.
	// Source: HPL-2002-224, section IV and footnote 3
	FullAt unit.Room `key:"full-at" def:"whole" none:"whole"`
	// Does not mark frames waiting for a link without credit.
	// Source: HPL-2002-224, footnote 4
	SkipBlocked bool `key:"skip-blocked" def:"false"`
	// Does not mark frames waiting for an idle output. M2 needs it, because otherwise a victim that
	// waits for the crossbar is marked.
	IdleExempt bool `key:"idle-exempt" computed:"false; single-output: true"`
}

// FitSwitch exempts idle outputs where an input feeds one output at a time.
func (p *Full) FitSwitch(single bool, _ unit.Size, given func(key string) bool) {
	param.Fill(&p.IdleExempt, single, given("idle-exempt"))
}

// Traits returns the occupancy that counts as full.
func (p Full) Traits() Traits { return Traits{Full: p.FullAt} }

// The words of parameters that the points and the switch compare.
const (
	WaitingAndSending = "waiting-and-sending" // Counts: the frames that cnt1 counts
	Scan              = "scan"                // Selection: the frames that wait now: "direct packet scanning" (IV.B)

	// Exceeds: how the threshold is compared. The paper's "exceeds" is MoreThan by the letter;
	// AtLeast counts the packet on the wire as one more that waits, which is nearer to the figures.
	AtLeast  = ">="
	MoreThan = ">"
)

// NaiveParams are the parameters of naive marking (IV.A).
type NaiveParams struct{ Full }

// InputParams are the parameters of input-triggered marking (IV.B).
type InputParams struct {
	// Whether the frame being sent counts as waiting.
	// Source: HPL-2002-224, footnote 6
	Counts string `key:"counts" def:"waiting" words:"waiting|waiting-and-sending"`
	// What an event marks. counters: as many of the next departures as wait now; scan: the frames
	// that wait now.
	// Source: HPL-2002-224, IV.B
	Selection string `key:"selection" def:"counters" words:"counters|scan"`
	Full
}

// Traits returns which frames count as waiting, and the occupancy that counts as full.
func (p InputParams) Traits() Traits {
	return Traits{Sending: p.Counts == WaitingAndSending, Full: p.FullAt}
}

// InputOutputParams are the parameters of input-output-triggered marking (IV.C).
type InputOutputParams struct {
	// Frames waiting for an output from which it marks. none: only full buffers mark.
	// Source: HPL-2002-224, Fig. 3(c)
	Threshold int `key:"threshold" def:"4" low:"1" high:"1048576" none:"none"`
	// Comparison with the threshold. The paper's "exceeds" is > literally; >= counts the frame
	// being sent as waiting.
	Exceeds string `key:"exceeds" def:">=" words:">=|>"`
	InputParams
}

// Traits adds the threshold.
func (p InputOutputParams) Traits() Traits {
	t := p.InputParams.Traits()
	if p.Threshold >= 0 {
		t.Levels = []Level{{"threshold", unit.Room{Packets: p.Threshold}}}
	}
	return t
}

// String returns the threshold, for pictures.
func (p InputOutputParams) String() string { return fmt.Sprint(p.Exceeds, p.Threshold) }

func naivePoint() Point {
	return Point{
		Name: "naive", Doc: "marks the frames of an input buffer that has filled up", Params: NaiveParams{},
		Marker: func(params any, s Site) (Marking, error) {
			return Marking{Marker: newInputMarking(InputOutputParams{InputParams: InputParams{Full: params.(NaiveParams).Full}}, true, s)}, nil
		},
	}
}

func inputPoint() Point {
	return Point{
		Name: "input", Also: []string{"input-triggered"}, Params: InputParams{},
		Doc: "marks all frames for the outputs that a full input buffer waits for",
		Marker: func(params any, s Site) (Marking, error) {
			return Marking{Marker: newInputMarking(InputOutputParams{InputParams: params.(InputParams)}, false, s)}, nil
		},
	}
}

func inputOutputPoint() Point {
	return Point{
		Name: "input-output", Also: []string{"input-output-triggered"}, Params: InputOutputParams{},
		Doc: "marks as input does, and all frames for an output that reaches the threshold",
		Marker: func(params any, s Site) (Marking, error) {
			return Marking{Marker: newInputMarking(params.(InputOutputParams), false, s)}, s.check(params)
		},
	}
}

// InputMarking is the congestion point of a switch with input buffers: all three
// schemes of HPL-2002-224, in the form with counters (IV.B): cnt1 counts the
// packets that wait for an output (kept by the switch), cnt2 how many of the next
// ones to leave by it are marked. With Selection Scan there is no cnt2.
type InputMarking struct {
	params InputOutputParams // a threshold of 0: outputs trigger nothing
	naive  bool
	rec    *trace.Recorder
	cnt2   []int          // by output
	why    []trace.Reason // by output: the reason that set cnt2
	found  []uint64       // by output: the last event of a full buffer that concerned it
	event  uint64         // counts them
}

func newInputMarking(p InputOutputParams, naive bool, s Site) *InputMarking {
	return &InputMarking{
		params: p, naive: naive, rec: s.Recorder,
		cnt2: make([]int, s.Ports), why: make([]trace.Reason, s.Ports), found: make([]uint64, s.Ports),
	}
}

// Enqueue looks for the two causes of a marking event. The frame that has just
// come counts where it still waits: one that has begun to leave can no longer be
// marked (footnote 6).
func (m *InputMarking) Enqueue(now unit.Time, _ *wire.Frame, q Queue) {
	if q.Switch.Full(q.Input) {
		m.full(now, q)
	}
	if m.params.Threshold > 0 {
		waiting := q.Switch.Waiting(q.Output)
		if waiting > m.params.Threshold || waiting == m.params.Threshold && m.params.Exceeds != MoreThan {
			if !(m.params.SkipBlocked && q.Switch.Blocked(q.Output)) {
				m.trigger(now, q.Output, trace.OverThreshold, q.Switch)
			}
		}
	}
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
		if !waiting || m.params.IdleExempt && !q.Switch.Sending(output) ||
			m.params.SkipBlocked && q.Switch.Blocked(output) {
			continue
		}
		if m.naive {
			q.Switch.Mark(q.Input, i, trace.FullBuffer)
		}
		if m.found[output] != m.event {
			m.found[output] = m.event
			m.trigger(now, output, trace.FullBuffer, q.Switch)
		}
	}
}

// trigger is a marking event for an output: cnt1 is copied to cnt2, not added
// (IV.B). The naive scheme has marked its frames already.
func (m *InputMarking) trigger(now unit.Time, output int, why trace.Reason, s Switch) {
	waiting := s.Waiting(output)
	switch {
	case m.naive:
	case m.params.Selection == Scan:
		m.scan(output, why, s)
	default:
		m.cnt2[output], m.why[output] = waiting, why
	}
	m.rec.Trigger(now, uint16(output), why, int64(waiting))
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

// Reset forgets which frames to mark.
func (m *InputMarking) Reset() {
	clear(m.cnt2)
	clear(m.why)
	clear(m.found)
	m.event = 0
}
