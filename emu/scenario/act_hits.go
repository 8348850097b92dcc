package scenario

import (
	"cmp"
	"fmt"

	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Hits is a part of acts that hit frames of a link: in which direction, and for how long.
type Hits struct {
	Plain
	// End of the link that sends in the affected direction; by default both.
	From string `key:"from" form:"node" omit:"usual" also:"direction"`
	Lasting
}

// Selection is a part of acts that hit some frames only.
type Selection struct {
	// Only frames of this kind; ack includes NAKs.
	Frames wire.Kind `key:"frames" omit:"usual"`
	// Only the n-th such frame; with every, from it on.
	Nth int `key:"nth" low:"1" high:"2147483648" omit:"usual"`
	// Only every n-th such frame.
	Every int `key:"every" low:"1" high:"2147483648" omit:"usual"`
}

// Bursts is a part of acts that hit a share of the frames.
type Bursts struct {
	// Hits occur in bad periods of this mean length in frames (Gilbert-Elliott). The share remains
	// the overall mean.
	Burst float64 `key:"burst" low:"1" high:"1000000000" omit:"usual" values:"a number of frames such as 20"`
	// With burst: share of frames hit within bad periods; by default all.
	Within float64 `key:"within" low:"above 0" high:"1" omit:"usual" values:"a share such as 0.5"`
	// The share rises linearly from zero over this time, as on a fading optical link.
	Rise unit.Duration `key:"rise" low:"above 0s" omit:"usual" also:"fade"`
}

// Loss has a share of the frames of a link lost. It is drawn from the seed of the scenario, as
// other faults of links are.
type Loss struct {
	Hits
	// Share of frames lost on the link.
	Loss float64 `key:"loss" low:"above 0" high:"1" also:"lose|drop" values:"a share such as 0.001"`
	Selection
	Bursts
}

// Corruption has a share of the frames of a link corrupted.
type Corruption struct {
	Hits
	// Share of frames corrupted; the receiving port discards them as fcs-error.
	Corruption float64 `key:"corruption" low:"above 0" high:"1" also:"corrupt|ber" values:"a share such as 0.001"`
	Selection
	Bursts
}

// Delay has frames of a link come late.
type Delay struct {
	Hits
	// Extra delay; frames stay in order.
	Delay unit.Duration `key:"delay" low:"above 0s" also:"latency"`
	// Maximum random extra delay per frame.
	Jitter unit.Duration `key:"jitter" low:"above 0s" omit:"usual"`
	Selection
}

// Row implements Act.
func (Loss) Row() Row { return Row{Key: "loss", On: OnLink, Every: true} }

// Row implements Act.
func (Corruption) Row() Row { return Row{Key: "corruption", On: OnLink, Every: true} }

// Row implements Act.
func (Delay) Row() Row { return Row{Key: "delay", On: OnLink, Every: true} }

func (a Loss) check(x *entered)       { a.Bursts.check(x, a.Loss) }
func (a Corruption) check(x *entered) { a.Bursts.check(x, a.Corruption) }

// check refuses a share that is not possible in bursts.
func (b Bursts) check(x *entered, share float64) {
	most := 1.0
	if b.Burst > 0 {
		most = fault.MostInBursts(b.Burst, cmp.Or(b.Within, 1))
	}
	switch {
	case b.Within > 0 && b.Burst == 0:
		x.refuse("within", "within is a share of the frames in bursts: it needs burst")
	case share > most:
		x.refuseWhole("a share of %v in bursts of %v frames is impossible: with one frame between two bursts it is %v, the maximum",
			share, b.Burst, float(most))
	}
}

// Course implements Act.
func (a Loss) Course(e *Event) Course { return a.losing(e, a.Selection, "loss", a.Loss) }

// Course implements Act.
func (a Corruption) Course(e *Event) Course {
	return a.losing(e, a.Selection, "corruption", a.Corruption)
}

// Course implements Act.
func (a Delay) Course(e *Event) Course { return a.course(e, a.Selection, "delay", a.Delay) }

// losing is the course of a fault after which frames are missing.
func (h Hits) losing(e *Event, s Selection, word string, much any) Course {
	c := h.course(e, s, word, much)
	c.Loses = fmt.Sprintf("link %s has a %s", e.Link, h.text(s, word, much))
	return c
}

func (h Hits) course(e *Event, s Selection, word string, much any) Course {
	return Course{Begins: fmt.Sprintf("link %s: %s", e.Link, h.text(s, word, much)),
		Ends: fmt.Sprintf("link %s: no %s any more", e.Link, word), Last: h.For}
}

// text describes a fault: "loss of 0.001 of pfc frames from A".
func (h Hits) text(s Selection, word string, much any) string {
	text := fmt.Sprintf("%s of %v", word, much)
	if s.Frames != 0 {
		text += fmt.Sprintf(" of %v frames", s.Frames)
	}
	if h.From != "" {
		text += " from " + h.From
	}
	return text
}

// Touch implements Act.
func (a Loss) Touch(*Event) Touch {
	return Touch{Loses: true, Drops: trace.LostOnLink, From: a.From}
}

// Touch implements Act.
func (a Corruption) Touch(*Event) Touch {
	return Touch{Loses: true, Drops: trace.BadFCS, From: a.From}
}

// Touch implements Act.
func (a Delay) Touch(*Event) Touch { return Touch{Late: a.Delay + a.Jitter, From: a.From} }

// Seen implements Act.
func (Hits) Seen(*Event, *Link) [2]bool { return [2]bool{true, true} }

// Begin implements Act.
func (a Loss) Begin(e *Event, m *Making) {
	a.begin(e, m, a.Bursts.config(fault.Config{Fate: fault.Lost, Share: a.Loss}), a.Selection)
}

// Begin implements Act.
func (a Corruption) Begin(e *Event, m *Making) {
	a.begin(e, m, a.Bursts.config(fault.Config{Fate: fault.Corrupted, Share: a.Corruption}), a.Selection)
}

// Begin implements Act.
func (a Delay) Begin(e *Event, m *Making) {
	a.begin(e, m, fault.Config{Share: 1, Delay: a.Delay, Jitter: a.Jitter, Within: 1}, a.Selection)
}

// config completes a fault that hits a share of the frames.
func (b Bursts) config(c fault.Config) fault.Config {
	c.Burst, c.Within, c.Rise = b.Burst, cmp.Or(b.Within, 1), b.Rise
	return c
}

// begin gives a fault to both ends of each direction that has it.
func (h Hits) begin(e *Event, m *Making, c fault.Config, s Selection) {
	ends := m.Ends(e.Link)
	for side, from := range ends {
		if h.From != "" && from.Node != m.Node(h.From) {
			continue
		}
		own := h.config(c, s, m, side)
		for other, end := range ends {
			m.Change(e.At, end, port.FaultStart{Last: h.last(), Fault: own, Out: other == side})
		}
	}
}

// config completes a fault of one direction.
func (h Hits) config(c fault.Config, s Selection, m *Making, side int) *fault.Config {
	c.Frames, c.Nth, c.Every, c.Seed, c.Stream = s.Frames, s.Nth, s.Every, m.Seed, m.Stream(side)
	return &c
}

// last returns how long the fault lasts.
func (h Hits) last() unit.Duration { return cmp.Or(h.For, unit.Duration(unit.Never)) }
