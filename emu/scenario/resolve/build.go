package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// linkOf returns a link without ends.
func linkOf(v yaml.View) scenario.Link {
	l, sub := yaml.Build[scenario.Link](v), v.Sub("cbfc")
	l.Lanes = lanesOf(v, &l)
	if l.FlowControl != port.ChannelCredits {
		return l
	}
	l.CBFC = yaml.Build[scenario.CBFC](sub)
	l.CBFC.Carry = prioritiesOf(sub, "lossless", scenario.AllPriorities)
	l.CBFC.Lossless = uint8(l.CBFC.Carry)
	for class := range l.CBFC.Channels {
		l.CBFC.Channels[class] = l.CBFC.First + uint8(class)
	}
	return l
}

// switchOf returns a switch.
func switchOf(name string, v yaml.View, t scenario.Tables) scenario.Switch {
	s := yaml.Build[scenario.Switch](v)
	s.Name, s.Marking = name, markingOf(v, t)
	if s.Kind == scenario.InputBuffered {
		return s
	}
	s.Lossless = prioritiesOf(v, "lossless", s.Lossless)
	if sub := v.Sub("watchdog"); sub.Present() {
		s.Watchdog = yaml.Build[switchd.Watchdog](sub)
	}
	if sub := v.Sub("trim"); sub.Present() {
		if t := yaml.Build[switchd.Trimming](sub); t.Size > 0 {
			s.Trim = t
		}
	}
	for _, w := range yaml.BuildAll[scenario.Weight](v, "ets") {
		s.ETS[w.Priority&7] = w.Weight
	}
	return s
}

// flowOf returns a flow without ends, start and jitter.
func flowOf(name string, v yaml.View, t scenario.Tables) scenario.Flow {
	f := yaml.Build[scenario.Flow](v)
	f.Name = name
	f.Control.Algorithm, f.Control.Params = chosen(t.Algorithms, v, "control", nil)
	f.Transport.Kind, f.Transport.Params = chosen(t.Transports, v, "transport", nil)
	if f.Group == "" {
		f.Group = name
	}
	return f
}

// retryOf returns the retry of a link; the fitted values are not computed yet.
func retryOf(v yaml.View) (r scenario.Retry) {
	sub := v.Sub("retry")
	if sub.Present() {
		r = yaml.Build[scenario.Retry](sub)
		r.Unprotected = prioritiesOf(sub, "unprotected", 0)
		r.Eligible = uint8(^r.Unprotected)
	}
	return r
}

// guestOf returns the guest that an endpoint is, if it is one. The guest has the address of the
// first member of a range.
func guestOf(v yaml.View) (g scenario.Guest) {
	sub := v.Sub("guest")
	if sub.Present() {
		g = yaml.Build[scenario.Guest](sub)
		g.DSCP = dscpOf(sub)
		if g.Card() && !g.Address.IsValid() {
			g.Address = scenario.NoAddress()
		}
		if g.Card() && sub.Node("kind") == nil {
			g.Kind = scenario.Tap
		}
	}
	return g
}

// dscpOf returns the table of priorities in a mapping.
func dscpOf(v yaml.View) (all scenario.DSCP) {
	for _, d := range yaml.BuildAll[scenario.DSCPItem](v, "dscp") {
		all[d.DSCP&63] = d.Priority + 1
	}
	return all
}

// markingOf returns the marking of a switch with these fields.
func markingOf(v yaml.View, t scenario.Tables) (m scenario.Marking) {
	m.Scheme, m.Params = chosen(t.Points, v, "marking", func(pointer any) {
		if c, ok := pointer.(cp.SwitchFitter); ok {
			c.FitSwitch(scenario.Crossbar(yaml.Get[string](v, "crossbar")) == scenario.SingleOutput,
				yaml.Get[unit.Size](v, "output-limit"), v.Sub("marking").Given)
		}
	})
	return m
}

// lanesOf returns the lanes of a link on InfiniBand, zero unless the file gives some.
func lanesOf(v yaml.View, l *scenario.Link) (lanes scenario.Lanes) {
	if sub := v.Sub("lanes"); l.FlowControl == port.Credits && sub.Present() {
		lanes = yaml.Build[scenario.Lanes](sub)
	}
	return lanes
}

// A scheme is the object that chooses a scheme for an item.
type scheme struct {
	yaml.View
	By string     // the key of the choice
	Of place.Spot // of the item
}

// spotOf returns the spot of a key, or else of the choice, or else of the item.
func (s scheme) spotOf(key string) place.Spot { return s.Spot(key, s.Spot(s.By, s.Of)) }
