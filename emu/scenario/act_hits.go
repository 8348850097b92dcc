package scenario

import (
	"cmp"
	"fmt"

	"fabemu/wire/fault"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// hitAct has frames of a link lost, corrupted or late: what its word says.
type hitAct struct {
	always
	word string
}

// hitKeys returns the further keys of each of the three, and some.
func hitKeys(more ...string) []string {
	return append([]string{"from", "for", "frames", "nth", "every"}, more...)
}

func (a hitAct) of(e *Event) bool {
	return (e.Loss+e.Corruption > 0 || e.Delay > 0) && e.word() == a.word
}

func (hitAct) check(x *entered) {
	share, most := x.Loss+x.Corruption, 1.0
	if x.Burst > 0 {
		most = fault.MostInBursts(x.Burst, cmp.Or(x.Within, 1))
	}
	switch {
	case x.Within > 0 && x.Burst == 0:
		x.refuse("within", "within is a share of the frames in bursts: it needs burst")
	case share > most:
		x.Add(x.node.Spot, "a share of %v in bursts of %v frames is impossible: with one frame between two bursts it is %v, the maximum",
			share, x.Burst, float(most))
	}
}

func (a hitAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("link %s: %s", e.Link, e.text()),
		ends: fmt.Sprintf("link %s: no %s any more", e.Link, a.word), last: e.For}
}

func (hitAct) touch(e *Event) Touch {
	if e.Delay > 0 {
		return Touch{Late: e.Delay + e.Jitter}
	}
	return Touch{Loses: true}
}

func (hitAct) loses(e *Event) string {
	if e.Delay > 0 {
		return ""
	}
	return fmt.Sprintf("link %s has a %s", e.Link, e.text())
}

func (f *LinkFault) word() string {
	switch {
	case f.Loss > 0:
		return "loss"
	case f.Corruption > 0:
		return "corruption"
	}
	return "delay"
}

// text describes a fault: "loss of 0.001 of pfc frames from A".
func (f *LinkFault) text() string {
	text := fmt.Sprintf("%s of %v", f.word(), f.Loss+f.Corruption)
	if f.Delay > 0 {
		text = fmt.Sprintf("delay of %v", f.Delay)
	}
	if f.Frames != 0 {
		text += fmt.Sprintf(" of %v frames", f.Frames)
	}
	if f.From != "" {
		text += " from " + f.From
	}
	return text
}

// begin gives the fault to both ends of each direction that has it.
func (hitAct) begin(e *Event, m *Making) {
	ends := m.Ends(e.Link)
	for side, from := range ends {
		if e.From != "" && from.Node != m.Node(e.From) {
			continue
		}
		c := &fault.Config{
			Frames: e.Frames, Share: cmp.Or(e.Loss+e.Corruption, 1), Delay: e.Delay, Jitter: e.Jitter, Nth: e.Nth,
			Every: e.Every, Burst: e.Burst, Within: cmp.Or(e.Within, 1), Rise: e.Rise,
			Seed: m.Seed, Stream: m.Stream(side),
		}
		switch {
		case e.Loss > 0:
			c.Fate = fault.Lost
		case e.Corruption > 0:
			c.Fate = fault.Corrupted
		}
		last := cmp.Or(e.For, unit.Duration(unit.Never))
		for other, end := range ends {
			m.Change(e.At, end, port.FaultStart{Last: last, Fault: c, Out: other == side})
		}
	}
}
