package live

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"fabemu/emu/fabric"
	"fabemu/emu/fabric/draw"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Scene is the unchanging part of all moments: the drawing of the fabric, its flows,
// the expectations. Times are in picoseconds of model time, rates in bytes per second.
type Scene struct {
	Name     string     `json:"name"`
	Text     string     `json:"text,omitempty"`
	Clock    mode.Clock `json:"clock"`
	Dilation int64      `json:"dilation,omitempty"`
	EndPs    int64      `json:"end_ps"`
	Over     bool       `json:"over,omitempty"`  // the run is over, and all its moments are there
	Knobs    bool       `json:"knobs,omitempty"` // the run takes changes
	Saves    bool       `json:"saves,omitempty"` // there is a capture to cut a part out of
	InBytes  bool       `json:"in_bytes"`        // buffers are counted in bytes, not in blocks of 64

	draw.Plan
	Lines  []Line         `json:"lines"`
	Flows  []Flow         `json:"flows"`
	Works  []Work         `json:"works,omitempty"`
	Equal  []Equal        `json:"equal,omitempty"`
	Checks []Check        `json:"checks"`
	Events []report.Event `json:"events"` // changes that the scenario has

	fabric *fabric.Fabric
	hops   []fabric.Hop       // of lines
	index  map[fabric.Hop]int // of hops
}

// Line is one direction of a link that some flow crosses.
type Line struct {
	Name   string  `json:"name"` // "trunk.A-B"
	From   string  `json:"from"`
	To     string  `json:"to"`
	Link   string  `json:"link"`
	Lane   int     `json:"lane"`
	Rate   float64 `json:"rate"`           // at the start of the run
	Room   float64 `json:"room,omitempty"` // of the buffer at its end, as Moment.Held; 0: not known
	Levels []Level `json:"levels,omitempty"`
	Pauses bool    `json:"pauses,omitempty"` // its flow control is PAUSE or PFC
}

// Level is a length of a queue at which something begins.
type Level struct {
	Word string  `json:"word"`
	At   float64 `json:"at"` // bytes
}

// Flow is a flow and its path.
type Flow struct {
	Name      string `json:"name"`
	Group     string `json:"group"`
	From      string `json:"from"`
	To        string `json:"to"`
	Algorithm string `json:"algorithm"`
	Path      []int  `json:"path"`              // lines
	Several   bool   `json:"several,omitempty"` // its packets take several paths at a time, of these lines
}

// Equal is the equal outputs of a switch, among which frames are divided.
type Equal struct {
	Node  string `json:"node"`
	Lines []int  `json:"lines"`
}

// Work is a workload.
type Work struct {
	Name       string `json:"name"`
	Collective bool   `json:"collective,omitempty"` // it has rounds
}

// WorkMoment is the state of a workload: the figures that the table of figures has for it, a part
// such as "slowdown.p99" under its own key. Null is not known.
type WorkMoment struct {
	Figures map[string]Figure `json:"figures"`
	Sizes   *Sizes            `json:"sizes,omitempty"`
}

// Sizes is the slowdown of the flows of a workload by their sizes, in bands of equal numbers of
// flows.
type Sizes struct {
	Each    int         `json:"each"`    // flows of a band
	Borders []Figure    `json:"borders"` // bytes: the smallest flow, and the largest one of each band
	Curves  [3][]Figure `json:"curves"`  // the median and the 95th and 99th percentile of each band
}

// sizesOf returns the picture of bands of sizes; nil of flows of one size.
func sizesOf(bands []report.SizeBand) *Sizes {
	if n := len(bands); n == 0 || bands[0].From == bands[n-1].To {
		return nil
	}
	x := &Sizes{Each: bands[0].Transfers, Borders: []Figure{Figure(bands[0].From)}}
	for i := range bands {
		b := &bands[i]
		x.Borders = append(x.Borders, Figure(b.To))
		for k, y := range [...]report.Number{b.P50, b.P95, b.P99} {
			x.Curves[k] = append(x.Curves[k], Figure(y))
		}
	}
	return x
}

// Check is an expectation.
type Check struct {
	ID       string `json:"id"`
	Claim    string `json:"claim"`
	Metric   string `json:"metric"`
	ToPs     int64  `json:"to_ps"`    // when it can be decided
	Accepted string `json:"accepted"` // the range
}

// Moment is how things are at an instant. The slices have the order of the scene's lines,
// flows and checks.
type Moment struct {
	State

	Used    []Figure `json:"used"`    // share of the link's capacity since the moment before
	Stop    []Stop   `json:"stop"`    // the cause that keeps the line now
	Stopped []Figure `json:"stopped"` // share of the time since the moment before in which flow control kept it
	Queue   []Figure `json:"queue"`   // bytes that wait for the link
	Held    []Figure `json:"held"`    // bytes, or blocks, that came by it and are still in the node at its end

	Rate   []Figure `json:"rate"`
	Limit  []Figure `json:"limit"`
	Target []Figure `json:"target"`
	// Feedback is the number of messages that each source took in since the moment before.
	Feedback []Figure `json:"feedback"`

	Figures map[string][]Figure `json:"figures,omitempty"` // further ones, of lines or flows, of rows that a program has added

	Works []WorkMoment `json:"works,omitempty"`

	Waits []Wait `json:"waits"`
	// Labels are the labels of links whose rate has changed, by the first lane of the link.
	Labels map[int]string `json:"labels,omitempty"`
	Done   []string       `json:"done,omitempty"` // changes from outside, as lines of a scenario's events
}

// Stop is a cause that keeps a line from sending.
type Stop int

// The causes.
const (
	Goes Stop = iota
	NoCredit
	Paused
	Down
)

// Wait is a line that is stopped since the node at its end holds frames for another.
type Wait struct {
	Line int `json:"line"`
	For  int `json:"for"`
}

// Figure is a number of which a picture shows four digits. NaN and the infinities are null.
type Figure float64

func (f Figure) known() bool { return report.Number(f).Known() }

// MarshalJSON writes four digits, or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, v, 'g', 4, 64), nil
}

// UnmarshalJSON reads the output of MarshalJSON.
func (f *Figure) UnmarshalJSON(b []byte) error {
	n := report.Missing()
	err := json.Unmarshal(b, &n)
	*f = Figure(n)
	return err
}

// NewScene lays a scenario out for a page.
func NewScene(s *scenario.Scenario, f *fabric.Fabric) *Scene {
	c := &Scene{
		Name: s.Name, Text: s.Description, EndPs: int64(s.Model.Duration), Plan: *draw.NewPlan(s, f),
		Flows: []Flow{}, Checks: []Check{}, Events: []report.Event{}, fabric: f, index: map[fabric.Hop]int{},
	}
	largest := f.Largest()
	for i := range c.Lanes {
		for k, h := range c.Lanes[i].Hops {
			c.index[h], c.hops = c.Lanes[i].Lines[k], append(c.hops, h)
			c.Lines = append(c.Lines, newLine(f, h, i, largest))
		}
	}
	for i := range f.Flows {
		w := &f.Flows[i]
		flow := Flow{Name: w.Name, Group: w.Group, From: w.From, To: w.To, Algorithm: w.Control.Algorithm}
		for _, level := range f.Levels(w) {
			flow.Several = flow.Several || len(level) > 1
			for _, h := range level {
				flow.Path = append(flow.Path, c.index[h])
			}
		}
		c.Flows = append(c.Flows, flow)
		c.InBytes = c.InBytes || w.Family == wire.Ethernet
	}
	for _, choice := range f.Choices() {
		e := Equal{Node: f.Nodes[choice.Node].Name}
		for _, h := range choice.Hops {
			if i, crossed := c.index[h]; crossed {
				e.Lines = append(e.Lines, i)
			}
		}
		if len(e.Lines) > 1 {
			c.Equal = append(c.Equal, e)
		}
	}
	for i := range s.Workloads {
		c.Works = append(c.Works, Work{s.Workloads[i].Name, s.Workloads[i].Collective != ""})
	}
	for i := range s.Expect {
		e := &s.Expect[i]
		accepted := (&report.Check{Metric: e.Metric,
			Judged: report.Judged{Low: report.Number(e.Low), High: report.Number(e.High)}}).Accepted()
		c.Checks = append(c.Checks,
			Check{ID: e.ID, Claim: e.Claim, Metric: e.Metric, ToPs: int64(e.During[1]), Accepted: accepted})
	}
	for _, e := range s.Events {
		c.Events = append(c.Events, report.Event{AtPs: int64(e.At), What: e.Text()})
	}
	return c
}

// newLine describes a direction of a wire, on a lane of the drawing.
func newLine(f *fabric.Fabric, h fabric.Hop, lane int, largest fabric.Sizes) Line {
	w := &f.Wires[h.Wire]
	from, to := &f.Nodes[w.Ends[h.From].Node], &f.Nodes[w.Ends[1-h.From].Node]
	l := Line{Name: f.LinkName(h), From: from.Name, To: to.Name, Link: w.Name, Lane: lane,
		Rate: w.Link.Rate.BytesPerSecond(), Pauses: w.Link.Family() == wire.Ethernet}
	switch {
	case !l.Pauses:
		l.Room = float64(largest.Room(w.Link.Buffer) * w.Link.Lanes.Count())
	case to.Endpoint != nil:
		l.Room = float64(to.Endpoint.High)
	case to.Switch.Alpha > 0:
		l.Room = float64(to.Switch.SharesAt(1))
	case to.Switch.High > 0:
		l.Room = float64(to.Switch.High)
	default:
		l.Room = float64(to.Switch.Memory.Total(len(to.Ports))) / float64(len(to.Ports))
	}
	if from.Switch == nil {
		return l
	}
	for _, level := range cp.TraitsOf(from.Switch.Marking.Params).Levels {
		l.Levels = append(l.Levels, Level{Word: level.Key, At: float64(level.At.Size(largest.Length))})
	}
	return l
}

// line returns the index of a direction of a wire, -1 if no flow crosses it.
func (c *Scene) line(h fabric.Hop) int {
	if i, ok := c.index[h]; ok {
		return i
	}
	return -1
}

// labels returns the labels of links whose rate has changed, as they are at an instant. A pile of
// links keeps its label.
func (c *Scene) labels(s *scenario.Scenario, now unit.Time) map[int]string {
	type change struct {
		at   unit.Duration
		rate unit.Rate
	}
	rates := map[string]change{} // the latest by link
	for i := range s.Events {
		e := &s.Events[i]
		if rate := e.Touch().Rate; rate > 0 && unit.Time(e.At) <= now && rates[e.Link].at <= e.At {
			rates[e.Link] = change{e.At, rate}
		}
	}
	all := map[int]string{}
	for i := range c.Lanes {
		if links := c.Lanes[i].Links; len(rates) > 0 && len(links) == 1 {
			if l := *c.fabric.Wires[links[0]].Link; rates[l.Name].rate > 0 {
				l.Rate = rates[l.Name].rate
				all[i] = c.Label(&l)
			}
		}
	}
	return all
}

// findRoots finds the roots of the lines that wait in a moment.
func (c *Scene) findRoots(m *Moment) {
	output := func(line int) observe.Output {
		o := observe.Output{Hop: c.hops[line]}
		if c.fabric.Wires[o.Hop.Wire].Link.FlowControl.ByPriority() {
			if i := slices.IndexFunc(c.Flows, func(w Flow) bool { return slices.Contains(w.Path, line) }); i >= 0 {
				o.Class = c.fabric.Flows[i].Priority
			}
		}
		return o
	}
	var stalls []observe.Stall
	for l, stop := range m.Stop {
		s := observe.Stall{Output: output(l), Block: port.NoCredit, Since: -1}
		if stop == Paused {
			s.Block = port.Paused
		}
		far := c.fabric.Wires[s.Hop.Wire].Ends[1-s.Hop.From].Node
		for _, w := range m.Waits {
			if w.Line == l {
				s.For = append(s.For, observe.Cause{Node: far, Next: output(w.For)})
			}
		}
		if s.For != nil {
			stalls = append(stalls, s)
		}
	}
	flows := make([]metrics.FlowState, len(c.Flows))
	for i := range flows {
		flows[i].Active = m.Rate[i] > 0 || m.Stop[c.Flows[i].Path[0]] != Goes
	}
	m.addRoots(c.fabric, observe.Trees(c.fabric, stalls, flows))
}
