package drive

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// planner is a node that puts what comes by its first port on the link of its second one, 10 ns
// apart, and takes the last frames back at a change. It keeps those, and what comes by the second.
type planner struct {
	player
	lines port.Lines
	out   port.Outbox
	line  int32 // of the second port
	last  unit.Time
	n     int // on the link, at most
	back  []string
}

func (p *planner) Slots() int                             { return 1 }
func (p *planner) Share(*agenda.Agenda, int) *port.Outbox { return &p.out }
func (p *planner) Deadline() unit.Time                    { return unit.Never }
func (p *planner) Plan(lines port.Lines) bool {
	var one, two bool
	p.lines = lines
	p.line, one = lines.Takes(1)
	_, two = lines.Takes(2)
	return one && !two
}
func (p *planner) Back(id port.ID, f *wire.Frame)        { p.back = append(p.back, fmt.Sprint(id, f.PSN)) }
func (p *planner) Apply(unit.Time, port.ID, port.Change) { p.lines.TakeBack(1, p.n, p) }
func (p *planner) Pass(now unit.Time, id port.ID, a *port.Arrival) (int32, unit.Time, bool) {
	if id != 0 {
		p.back = append(p.back, fmt.Sprint(id, a.Frame.PSN))
		return 0, 0, false
	}
	p.last = max(now, p.last).Add(10 * unit.Nanosecond)
	return p.line, p.last, true
}

// Frames that pass come in their order at the end of the link that a node has put them on, each
// when it is due; those that are taken back do not, and what it does not pass stays there.
func TestFramesPassThrough(t *testing.T) {
	at := func(n ...int) (list []unit.Time) {
		for _, n := range n {
			list = append(list, unit.Time(n)*unit.Time(unit.Nanosecond))
		}
		return list
	}
	for _, c := range []struct {
		back int
		end  []string // what happens at the end
		kept []string
	}{
		{0, []string{"end 11ns: port 0: 0", "end 21ns: port 0: 1000", "end 31ns: port 0: 2000", "end 50ns: port 0: 39000"}, []string{"1 5000"}},
		{1, []string{"end 11ns: port 0: 0", "end 21ns: port 0: 1000", "end 50ns: port 0: 39000"}, []string{"1 5000", "1 2000"}},
		{2, []string{"end 11ns: port 0: 0", "end 50ns: port 0: 39000"}, []string{"1 5000", "1 1000", "1 2000"}},
	} {
		story := &[]string{}
		middle := &planner{player: player{name: "middle", story: story}, n: c.back}
		f := &Setup{
			Nodes: []Node{&player{name: "begin", story: new([]string), ports: 1, at: at(0, 1, 2, 39)}, middle, &player{name: "end", story: story, ports: 1, at: at(5)}},
			Wires: [][2]port.End{{{Node: 0}, {Node: 1}}, {{Node: 1, Port: 1}, {Node: 2}}},
			// When the first is at the end.
			Changes: []Change{{At: at(15)[0], Node: 1, Makes: port.LinkDown{}}},
			End:     at(100)[0],
		}
		hops, err := Virtual{SkipCodec: true}.Run(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(*story, func(s string) bool { return s == "end 5ns: advance" })
		if !slices.Equal(got, c.end) || !slices.Equal(middle.back, c.kept) || hops != int64(5+len(c.end)) {
			t.Errorf("%d taken back: at the end %q, want %q; kept %q, want %q; %d hops", c.back, got, c.end, middle.back, c.kept, hops)
		}
	}
}
