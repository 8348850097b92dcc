package propose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host/doctor"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Proposal is the smallest dilation at which this computer runs a scenario with
// timing that can be trusted, and its basis.
type Proposal struct {
	Dilation    int64  `json:"dilation"`     // the larger of the two below
	ForRate     int64  `json:"for_rate"`     // at which the computer does the work of the busiest stretch in time
	ForLateness int64  `json:"for_lateness"` // at which frames leave on time
	Reason      string `json:"reason"`       // sentences for people

	FrameNs float64 `json:"frame_ns"` // mean wall time of the work for a frame in the busiest stretch
	// Busy is the wall time of the work for each unit of model time in the busiest
	// stretch: a run at this dilation would be busy all the time there.
	Busy       float64       `json:"busy"`
	BusyAtPs   int64         `json:"busy_at_ps"`       // where that stretch begins
	BusyForPs  int64         `json:"busy_for_ps"`      // how long it is
	Frames     int64         `json:"busy_frames"`      // sent in that stretch, of all kinds
	DataFrames int64         `json:"busy_data"`        // of them, data
	CoveredPs  int64         `json:"covered_ps"`       // model time that was looked at, from the begin
	Steady     bool          `json:"steady"`           // false: this computer is late at all sensible dilations
	Expected   []Expectation `json:"expected"`         // around Dilation, by rising dilation
	Starts     []Starts      `json:"starts,omitempty"` // under actual timing, by rising dilation
	LongestPs  int64         `json:"packet_time_ps"`   // of the longest data frame, on the fastest link that carries data
}

// Expectation is the expected lateness of data frames at a dilation. The shares are from 0 to 1.
type Expectation struct {
	Dilation int64   `json:"dilation"`
	Floor    float64 `json:"floor"` // of the time that the computer is late by more than 5 % of a packet time
	Queue    float64 `json:"queue"` // of the data frames that wait longer than that for frames before them
}

// Late is the share of the data frames that are expected to leave more than 5 %
// of a packet time late.
func (e *Expectation) Late() float64 { return e.Floor + e.Queue }

// The assumptions of a proposal beside its measurements.
const (
	// headroom is how much more time than the work of the busiest stretch there must
	// be. The cost of a frame is a median: saturated runs of hpl2002/fig2 and fig3b took
	// 1.1 to 1.2 times as long as predicted, because of ticks, interrupts and cold caches.
	// The rest lets the loop catch up after the computer was away.
	headroom = 1.4
	// lateWanted is the share of data frames that may be expected to leave later than
	// 5 % of a packet time. The verdict "exact" allows 0.02 more than the floor;
	// measured shares were up to a quarter higher than the expected ones.
	lateWanted = 0.015
	// sensible is the highest dilation that is proposed for the lateness of the
	// computer alone. A longer disturbance is a load or a stall, and ends by itself or
	// never.
	sensible = 1000

	proposeVirtual = 3 * time.Second        // at most, for the look at the whole scenario
	proposeWall    = 400 * time.Millisecond // at most, for the cost of a frame
	stretch        = unit.Millisecond       // the busiest of these is looked for
	stretches      = 100_000                // at most; in a longer scenario they are longer
)

// Dilation measures which dilation this computer needs for a scenario. speed is the doctor's
// measurement of just before.
//
// It takes three steps. First it runs the scenario over UDP at dilation 1, flat out, for a
// moment. The order is exact at any dilation, so this shows the work of a frame. Then it runs the
// scenario on the virtual clock, which shows the number of frames over time. The work of the busiest
// millisecond, times a headroom, gives ForRate. In the same pass frames leave in trains at each dilation: a
// frame waits for the kernel's call for the train before it. ForLateness follows from two shares: the data
// frames that wait for more than 5 % of their packet time, and the time in which the computer itself is late
// by more than that.
//
// It returns within four seconds or so. Of a scenario that the virtual clock does
// not get through in three, the rest is not seen, and CoveredPs is shorter. The measurement is a run of
// this process like any other, and must have the computer for itself.
func Dilation(ctx context.Context, s *scenario.Scenario, speed *doctor.Speed) (*Proposal, error) {
	weight, call := trainCost(speed)
	p := &proposer{scenario: s, speed: speed, weight: weight, callNs: call}
	if err := p.cost(ctx); err != nil {
		return nil, err
	}
	if err := p.work(ctx); err != nil {
		return nil, err
	}
	return p.propose(), nil
}

// trainCost returns the work of a data frame, in frames of other kinds, and the wall time in ns of a train,
// which hardly depends on its length.
func trainCost(speed *doctor.Speed) (weight, call float64) {
	var large float64
	for _, d := range speed.Datagrams {
		switch d.Bytes {
		case doctor.LargeDatagram:
			large = d.Ns
		case doctor.SmallDatagram:
			call = d.Ns
		}
	}
	if call <= 0 || large < call {
		return 1, max(call, large)
	}
	return min(3, large/call), large
}

// proposer measures for a proposal.
type proposer struct {
	scenario *scenario.Scenario
	speed    *doctor.Speed
	weight   float64 // of a data frame; the other kinds weigh 1
	unitNs   float64 // wall time of work for a weight of 1
	callNs   float64 // wall time of a train

	length   unit.Duration // of a stretch
	frames   []int64       // by stretch
	data     []int64       // by stretch
	covered  unit.Duration
	longest  unit.Duration // shortest packet time of the links that carry data
	replays  []replay      // by rising dilation
	allData  int64
	expected []Expectation
}

// replay is the trains of a run at one dilation, as a queue with one server. Times are wall times in ns.
type replay struct {
	dilation int64
	train    float64 // when the last train left
	free     float64 // when the loop can send the next
	late     int64   // data frames that waited for more than 5 % of T
}

// meter is a machine that reports its transmissions.
type meter struct {
	drive.Machine
	sent func(t *port.Transmission)
}

func (m meter) Poll() (*port.Transmission, bool) {
	t, ok := m.Machine.Poll()
	if ok {
		m.sent(t)
	}
	return t, ok
}

// weigh returns the weight of a frame.
func (p *proposer) weigh(t *port.Transmission) float64 {
	if t.Frame.Kind.Traffic() {
		return p.weight
	}
	return 1
}

// work counts the frames over time, and how long they would wait for one another.
func (p *proposer) work(ctx context.Context) error {
	s := p.scenario
	f, err := fabric.Build(s)
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	driven, err := assemble.New(f, assemble.Schemes{}, nil)
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	p.length = max(stretch, s.Model.Duration/stretches+1)
	p.frames = make([]int64, s.Model.Duration/p.length+1)
	p.data = make([]int64, len(p.frames))
	for _, d := range friendly() {
		p.replays = append(p.replays, replay{dilation: d})
	}
	longest := f.Longest()
	for _, flow := range f.Flows {
		for _, hop := range flow.Path.All() {
			if t := longest[hop.Wire]; p.longest == 0 || t < p.longest {
				p.longest = t
			}
		}
	}
	for i := range driven.Machines {
		ports := f.Machines[i].Ports
		driven.Machines[i] = meter{driven.Machines[i], func(t *port.Transmission) {
			k := int(unit.Duration(t.Start) / p.length)
			p.frames[k]++
			isData := t.Frame.Kind.Traffic()
			if isData {
				p.data[k]++
				p.allData++
			}
			p.replay(t.Start, isData, longest[ports[t.Port].Wire])
		}}
	}
	driven.Progress = &pace.Progress{}
	limited, cancel := context.WithTimeout(ctx, proposeVirtual)
	defer cancel()
	_, err = drive.Virtual{SkipCodec: true}.Run(limited, driven)
	if err != nil && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
		return err
	}
	p.covered = unit.Duration(driven.Progress.Now())
	return nil
}

// replay lets a frame leave at each dilation, with the train before it if that has not left yet. longest is
// the duration of the longest data frame on its link.
func (p *proposer) replay(start unit.Time, data bool, longest unit.Duration) {
	for i := range p.replays {
		r := &p.replays[i]
		due := float64(start) / 1000 * float64(r.dilation)
		if due > r.train {
			r.train = max(due, r.free)
			r.free = r.train + p.callNs
		}
		if data && r.train-due > float64(longest)/1000*float64(r.dilation)/20 {
			r.late++
		}
	}
}

// friendly returns the dilations that are proposed: numbers that people choose.
func friendly() []int64 {
	var ds []int64
	for d := int64(1); d <= 1_000_000; d *= 10 {
		ds = append(ds, d, 2*d, 5*d)
	}
	return ds
}

// roundUp returns the first friendly number that is not below v, or the last one.
func roundUp(v float64) int64 {
	ds := friendly()
	for _, d := range ds {
		if float64(d) >= v {
			return d
		}
	}
	return ds[len(ds)-1]
}

// propose chooses a dilation.
func (p *proposer) propose() *Proposal {
	out := &Proposal{CoveredPs: int64(p.covered), LongestPs: int64(p.longest)}
	busiest, most := 0, -1.0
	for k := range p.frames {
		if w := float64(p.frames[k]-p.data[k]) + p.weight*float64(p.data[k]); w > most {
			busiest, most = k, w
		}
	}
	out.BusyAtPs = int64(busiest) * int64(p.length)
	out.BusyForPs = min(int64(p.length), max(1, int64(p.covered)-out.BusyAtPs))
	out.Frames, out.DataFrames = p.frames[busiest], p.data[busiest]
	out.Busy = most * p.unitNs / (float64(out.BusyForPs) / 1000)
	if out.Frames > 0 {
		out.FrameNs = most * p.unitNs / float64(out.Frames)
	}
	out.ForRate = roundUp(out.Busy * headroom)

	for _, r := range p.replays {
		e := Expectation{Dilation: r.dilation,
			Floor: p.speed.Floor.Share(float64(p.longest) / 1000 * float64(r.dilation) / 20)}
		if p.allData > 0 {
			e.Queue = float64(r.late) / float64(p.allData)
		}
		p.expected = append(p.expected, e)
	}
	out.ForLateness, out.Steady = choose(p.expected, out.ForRate)
	out.Dilation = max(out.ForRate, out.ForLateness)
	for _, e := range p.expected {
		if e.Dilation >= out.Dilation/10 && e.Dilation <= out.Dilation*2 {
			out.Expected = append(out.Expected, e)
		}
	}
	out.Reason = out.reason(p.scenario.Model.Duration)
	return out
}

// choose returns the first dilation at which frames leave on time. If the computer itself is too late at all
// sensible dilations, it returns the first at which the frames do not wait for one another, and steady is
// false.
func choose(expected []Expectation, forRate int64) (dilation int64, steady bool) {
	own := int64(0)
	for _, e := range expected {
		if own == 0 && e.Queue <= lateWanted/2 {
			own = e.Dilation
		}
		if e.Late() <= lateWanted && e.Dilation <= max(sensible, own, forRate) {
			return e.Dilation, true
		}
	}
	if own == 0 {
		own = expected[len(expected)-1].Dilation
	}
	return own, false
}

// reason gives the reasons in sentences, for a scenario of that duration.
func (p *Proposal) reason(duration unit.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"The busiest %v begin at %v, with %d frames, %d of them data. A frame is %.2g us of work, which makes %.3g times the model time: the rate asks for a dilation of %d, with headroom.",
		unit.Duration(p.BusyForPs), unit.Duration(p.BusyAtPs), p.Frames, p.DataFrames, p.FrameNs/1e3, p.Busy, p.ForRate)
	var at, below *Expectation
	for i := range p.Expected {
		switch e := &p.Expected[i]; {
		case e.Dilation == p.Dilation:
			at = e
		case e.Dilation < p.Dilation:
			below = e
		}
	}
	if at != nil {
		fmt.Fprintf(&b,
			" At %d, 5 %% of a packet time are %.3g us: this computer is later than that %s of the time, and %s of the data frames wait longer than that for others.",
			at.Dilation, float64(p.LongestPs)/1e6*float64(at.Dilation)/20, doctor.Percent(at.Floor),
			doctor.Percent(at.Queue))
	}
	switch {
	case !p.Steady:
		fmt.Fprintf(&b,
			" That is more than the %s that are wanted, and no dilation up to %d makes it good: end other work on this computer and ask again.",
			doctor.Percent(lateWanted), max(sensible, p.Dilation))
	case below != nil:
		fmt.Fprintf(&b, " Together that may be %s", doctor.Percent(lateWanted))
		if below.Late() > lateWanted {
			fmt.Fprintf(&b, "; at %d it would be %s", below.Dilation, doctor.Percent(min(1, below.Late())))
		}
		b.WriteString(".")
	}
	if unit.Duration(p.CoveredPs) < duration {
		fmt.Fprintf(&b, " Only the first %v were looked at.", unit.Duration(p.CoveredPs))
	}
	return b.String()
}
