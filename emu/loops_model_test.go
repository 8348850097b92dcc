package emu

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/machines"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// What things cost a loop on the wall clock, in ns, on the computer of docs/timing.md: to let
// an event happen, to send a datagram and to read one, and to hear what another loop tells.
const (
	costThink = 300
	costSend  = 2000
	costRead  = 1400
	costHear  = 200
)

// modelled plays the datagrams of a run as its loops would send and read them, from what each
// costs. It is a Tap of a run on the virtual clock.
type modelled struct {
	fabric   *fabric.Fabric
	dilation float64 // wall ns per 1000 ps
	of       []int   // by machine: its loop
	between  [][]unit.Duration
	busy     []float64     // by loop: until when, in ns of wall time
	told     [][]milestone // by loop: until when it has thought of what comes up to an instant
	left     [][]float64   // by path: when the datagrams under way have left
	unread   []int         // by loop: datagrams that wait to be read
	longest  []unit.Duration
	last     []unit.Time // by loop: of its last event

	data, late, handed, sent int
	end                      float64
}

type milestone struct {
	at   unit.Time
	wall float64
}

func (m *modelled) due(t unit.Time) float64 { return float64(t) / 1000 * m.dilation }

// begin has a loop come to an event at t: it reads while it has time, and waits for the others.
func (m *modelled) begin(loop int, t unit.Time) {
	start := max(m.busy[loop], m.due(t))
	for m.unread[loop] > 0 && m.busy[loop]+costRead <= start {
		m.busy[loop] += costRead
		m.unread[loop]--
	}
	for j := range m.told {
		reach := m.between[j][loop]
		if j == loop || reach == unit.Duration(unit.Never) {
			continue
		}
		// All of that loop must have been thought of that could still send something.
		i, _ := slices.BinarySearchFunc(m.told[j], t.Add(1-reach), func(x milestone, t unit.Time) int { return int(x.at - t) })
		if i > 0 && m.told[j][i-1].wall+costHear > start {
			start = m.told[j][i-1].wall + costHear
		}
	}
	m.busy[loop] = start
	if t > m.last[loop] {
		m.last[loop] = t
	}
}

func (m *modelled) Received(path int, _ *port.Arrival, _ wire.Body, now unit.Time, _ int64) {
	w := &m.fabric.Wires[path/2]
	loop := m.of[w.Ends[1-path%2].Machine]
	m.begin(loop, now)
	m.busy[loop] = max(m.busy[loop], m.left[path][0])
	m.left[path] = m.left[path][1:]
	if m.unread[loop] > 0 { // it needs this one now
		m.unread[loop]--
		m.busy[loop] += costRead
	}
	m.busy[loop] += costThink
	m.told[loop] = append(m.told[loop], milestone{now, m.busy[loop]})
}

func (m *modelled) Sent(path int, t *port.Transmission, _ wire.Body, now unit.Time, _, _ int64) {
	w := &m.fabric.Wires[path/2]
	loop, to := m.of[w.Ends[path%2].Machine], m.of[w.Ends[1-path%2].Machine]
	if now > m.last[loop] { // of its own accord: an event by itself
		m.begin(loop, now)
		m.busy[loop] += costThink
		m.told[loop] = append(m.told[loop], milestone{now, m.busy[loop]})
	}
	if t.Frame.Kind.Traffic() {
		m.data++
		if limit := m.due(unit.Time(m.longest[path/2])) / 20; m.busy[loop]-m.due(t.Start) > limit {
			m.late++
		}
	}
	m.busy[loop] += costSend
	m.left[path] = append(m.left[path], m.busy[loop])
	m.unread[to]++
	m.sent++
	if loop != to {
		m.handed++
	}
	m.end = max(m.end, m.busy[loop])
}

// model plays a scenario with so many loops.
func model(b *testing.B, s *scenario.Scenario, loops int) *modelled {
	f, err := fabric.Build(s)
	if err != nil {
		b.Fatal(err)
	}
	m := &modelled{
		fabric: f, dilation: float64(s.Wall.Dilation), of: make([]int, len(f.Machines)), longest: f.Longest(),
		left: make([][]float64, 2*len(f.Wires)),
	}
	if loops > 1 {
		m.of = f.Spread(loops)
	}
	m.busy, m.told, m.unread, m.last = make([]float64, loops), make([][]milestone, loops), make([]int, loops), make([]unit.Time, loops)
	for i := range m.last {
		m.last[i] = -1
	}
	m.between = make([][]unit.Duration, loops)
	for i := range m.between {
		m.between[i] = slices.Repeat([]unit.Duration{unit.Duration(unit.Never)}, loops)
	}
	for w := range f.Wires {
		for end := range f.Wires[w].Ends {
			i, j := m.of[f.Wires[w].Ends[end].Machine], m.of[f.Wires[w].Ends[1-end].Machine]
			m.between[i][j] = min(m.between[i][j], f.Least(w, end))
		}
	}
	run, err := machines.New(f, Schemes{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	run.Tap = m
	if _, err := (drive.Virtual{SkipCodec: true}).Run(context.Background(), run); err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkLoopsModel says what loops would do that never are away, on as many processors as
// there are loops, from what a datagram costs on one: the share of data frames that leave late,
// in percent, and the pace. It measures nothing: the figures are the same each time.
func BenchmarkLoopsModel(b *testing.B) {
	for _, x := range loopRuns(b, "20ms") {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				for _, loops := range []int{1, 2, 4, 8} {
					m := model(b, x.s, loops)
					b.ReportMetric(100*float64(m.late)/float64(m.data), fmt.Sprintf("late-%%@%d", loops))
					b.ReportMetric(100*math.Min(1, m.due(unit.Time(x.s.Model.Duration))/m.end), fmt.Sprintf("pace-%%@%d", loops))
					b.ReportMetric(100*float64(m.handed)/float64(m.sent), fmt.Sprintf("handed-%%@%d", loops))
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
