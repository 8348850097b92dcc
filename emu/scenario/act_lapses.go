package scenario

import (
	"cmp"

	"fabemu/emu/scenario/paths"
	"fabemu/node/traffic"
	"fabemu/wire/fault"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Repeat has a share of the frames of a link leave twice.
type Repeat struct {
	Hits
	// Share of frames that leave twice. The port sends the copy as any frame: with credit, unless
	// it is paused, and while the link carries nothing else.
	Repeat float64 `key:"repeat" low:"above 0" high:"1" also:"duplicate|duplication|dup" values:"a share such as 0.001"`
	// How long after the frame its copy leaves, at the earliest; by default right behind it.
	After unit.Duration `key:"after" low:"above 0s" omit:"usual"`
	// Maximum random extra time per frame.
	Jitter unit.Duration `key:"jitter" low:"above 0s" omit:"usual"`
	Selection
	Bursts
}

// Overtake has frames of a link go ahead of a share of them.
type Overtake struct {
	Hits
	// Share of frames that the port keeps back, while frames behind them go first. They then leave
	// as any frame. after is required.
	Overtake float64 `key:"overtake" low:"above 0" high:"1" also:"reorder|reordering|disorder" values:"a share such as 0.001"`
	// How long the port keeps a frame back, at least.
	After unit.Duration `key:"after" low:"above 0s" omit:"usual"`
	// Maximum random extra time per frame.
	Jitter unit.Duration `key:"jitter" low:"above 0s" omit:"usual"`
	Selection
	Bursts
}

// Row implements Act.
func (Repeat) Row() Row { return Row{Key: "repeat", On: OnLink, Every: true} }

// Row implements Act.
func (Overtake) Row() Row { return Row{Key: "overtake", On: OnLink, Every: true} }

func (a Repeat) check(x *entered) {
	a.Bursts.check(x, a.Repeat)
	a.Selection.checkLapse(x)
}

func (a Overtake) check(x *entered) {
	a.Bursts.check(x, a.Overtake)
	a.Selection.checkLapse(x)
	if a.After == 0 {
		x.refuseWhole("overtake needs after: how long the port keeps a frame back while others go first")
	}
}

// checkLapse refuses frames that a port sends by itself.
func (s Selection) checkLapse(x *entered) {
	if s.Frames != 0 && s.Frames.Uncredited() {
		x.refuse("frames", "%v frames are flow control of the link: it is frames of nodes that leave twice or are overtaken", s.Frames)
	}
}

func (a Repeat) fit(x *entered) Act   { return x.fitLapse(a.From, "leave twice") }
func (a Overtake) fit(x *entered) Act { return x.fitLapse(a.From, "be overtaken") }

// fitLapse refuses a fault of transfers whose packets nothing puts in order and counts once.
func (x *entered) fitLapse(from, what string) Act {
	for i := range x.Flows {
		f := &x.Flows[i]
		if i < x.Own && f.Traffic != traffic.Transfers || f.Transport.Acks() || f.Transport.Streams() || f.Window > 0 && f.Timeout > 0 {
			continue
		}
		crosses := false
		x.VisitPaths(i, func(at int, step paths.Step, _ bool) {
			l := &x.Links[step.Link]
			there := l.A
			if x.Paths.Index[l.B] == at {
				there = l.B
			}
			crosses = crosses || l.Name == x.Link && (from == "" || from == there)
		})
		if crosses {
			x.refuseWhole("packets of transfers of %s may %s on link %s, and nothing recognises that: give it a transport such as rocev2 or tcp, or on InfiniBand a window and a timeout",
				f.Name, what, x.Link)
			break
		}
	}
	return nil
}

// Course implements Act.
func (a Repeat) Course(e *Event) Course { return a.course(e, a.Selection, "repeat", a.Repeat) }

// Course implements Act.
func (a Overtake) Course(e *Event) Course { return a.course(e, a.Selection, "overtake", a.Overtake) }

// Touch implements Act.
func (a Repeat) Touch(*Event) Touch { return Touch{Reorders: true, From: a.From} }

// Touch implements Act.
func (a Overtake) Touch(*Event) Touch { return Touch{Reorders: true, From: a.From} }

// Seen implements Act.
func (a Repeat) Seen(_ *Event, l *Link) [2]bool { return a.sending(l) }

// Seen implements Act.
func (a Overtake) Seen(_ *Event, l *Link) [2]bool { return a.sending(l) }

// sending returns the ends of a link that send in the affected direction.
func (h Hits) sending(l *Link) [2]bool {
	return [2]bool{cmp.Or(h.From, l.A) == l.A, cmp.Or(h.From, l.B) == l.B}
}

// Begin implements Act.
func (a Repeat) Begin(e *Event, m *Making) {
	a.lapse(e, m, a.Bursts.config(fault.Config{Fate: fault.Repeated, Share: a.Repeat, Delay: a.After, Jitter: a.Jitter}), a.Selection)
}

// Begin implements Act.
func (a Overtake) Begin(e *Event, m *Making) {
	a.lapse(e, m, a.Bursts.config(fault.Config{Fate: fault.Overtaken, Share: a.Overtake, Delay: a.After, Jitter: a.Jitter}), a.Selection)
}

// lapse gives a fault to the ends that send.
func (h Hits) lapse(e *Event, m *Making, c fault.Config, s Selection) {
	for side, end := range m.Ends(e.Link) {
		if h.From == "" || end.Node == m.Node(h.From) {
			m.Change(e.At, end, port.FaultStart{Last: h.last(), Fault: h.config(c, s, m, side), Out: true})
		}
	}
}
