package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/wire/fault"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// change has the keys of the changes that an event can make to an object.
type change struct {
	of   string // the key of the object
	keys []string
}

var changes = [...]change{
	{"link", []string{"rate", "state", "loss", "corruption", "delay", "flap", "stuck", "buffer"}},
	{"endpoint", []string{"service", "pause-storm", "pauses", "sink", "control"}},
	{"switch", []string{"restart", "high", "watchdog", "marking"}},
}

// details has the further keys of a change, each with the changes that it belongs to.
var details = [...]struct {
	key  string
	with []string
}{
	{"from", []string{"loss", "corruption", "delay", "stuck", "buffer"}},
	{"for", []string{"loss", "corruption", "delay", "flap", "buffer", "pause-storm", "pauses", "sink"}},
	{"frames", []string{"loss", "corruption", "delay"}}, {"nth", []string{"loss", "corruption", "delay"}},
	{"every", []string{"loss", "corruption", "delay"}}, {"jitter", []string{"delay"}},
	{"burst", []string{"loss", "corruption"}}, {"within", []string{"loss", "corruption"}},
	{"rise", []string{"loss", "corruption"}}, {"period", []string{"flap", "pause-storm"}},
	{"gap", []string{"pause-storm"}}, {"priorities", []string{"pause-storm"}}, {"invalid", []string{"pause-storm"}}, {"low", []string{"high"}},
}

// everyLink stands for all links in a fault.
const everyLink = "*"

// mostFlaps is the most events that flaps stand for.
const mostFlaps = 10_000

// resolveEvent checks an event and enters it, or the events that it stands for.
func (r *resolver) resolveEvent(n *node, v view) {
	v.of = r.tables.section("events") // an item of faults also has a name
	e := build[Event](v)
	e.Classes = prioritiesOf(v, "priorities", 0)
	if n.get("marking") != nil {
		e.Marking = build[CCAMarking](v.sub("marking"))
	}
	if n.get("control") != nil {
		e.Control = build[CCAControl](v.sub("control"))
	}
	late := r.leaves(n, e.At, e.Link+e.Endpoint+e.Switch, "the event is at %v, but %s")
	if !r.checkChange(n) || late {
		return
	}
	r.checkFault(n, &e)
	if e.Endpoint != "" {
		r.checkEndpointEvent(n.get("endpoint"), &e)
	}
	if e.Link != everyLink {
		r.addEvents(n, e)
		return
	}
	if e.Loss+e.Corruption == 0 && e.Delay == 0 && e.Flap == 0 {
		r.add(n.get("link").spot, `"*" means all links and is for loss, corruption, delay and flap only: name one link`)
		return
	}
	for i := range r.s.Links {
		e.Link = r.s.Links[i].Name
		r.addEvents(n, e)
	}
}

// addEvents enters an event; flaps are links that go down and up.
func (r *resolver) addEvents(n *node, e Event) {
	end := r.s.Model.Duration
	if e.Flap == 0 || e.Period <= 0 {
		switch {
		case e.Buffer > 0:
			r.cuts = append(r.cuts, placed{n, len(r.s.Events)})
		case e.High > 0 || n.get("watchdog") != nil || e.marks() || e.controls():
			r.settings = append(r.settings, placed{n, len(r.s.Events)})
		}
		r.s.Events = append(r.s.Events, e)
		return
	}
	if e.For > 0 {
		end = min(end, e.At+e.For)
	}
	if (end-e.At)/e.Period >= mostFlaps {
		r.add(n.spot, "the link would flap more than %d times until %v: give a longer period, or an end with for",
			mostFlaps, end)
		return
	}
	for at := e.At; at < end; at += e.Period {
		r.s.Events = append(r.s.Events, Event{At: at, Link: e.Link, State: Down})
		if up := at + e.Flap; up < r.s.Model.Duration {
			r.s.Events = append(r.s.Events, Event{At: up, Link: e.Link, State: Up})
		}
	}
}

// insteadOf says what to write instead of a state for a time; empty for all else.
func insteadOf(n *node, detail, of string) string {
	if detail != "for" || of != "state" {
		return ""
	}
	time := n.get(detail).text
	return fmt.Sprintf(": a link that is down for a time is two events, state: down and state: up, or flap: %s with a longer period, and for: that period", time)
}

// checkFault refuses a fault that cannot be.
func (r *resolver) checkFault(n *node, e *Event) {
	i := slices.IndexFunc(r.s.Links, func(l Link) bool { return l.Name == e.Link })
	if from := n.get("from"); from != nil {
		switch {
		case i < 0:
			r.add(from.spot, "from names an end of one link, but this fault is on all links: leave from out")
		case e.From != r.s.Links[i].A && e.From != r.s.Links[i].B:
			r.add(from.spot, "link %s does not end at %s: it joins %s and %s", e.Link, e.From, r.s.Links[i].A, r.s.Links[i].B)
		}
	}
	share, most := e.Loss+e.Corruption, 1.0
	if e.Burst > 0 {
		most = fault.MostInBursts(e.Burst, cmp.Or(e.Within, 1))
	}
	switch {
	case e.Stuck > 0 && e.From == "":
		r.add(n.spot, "stuck needs from: the end of the link whose output is stuck")
	case e.Within > 0 && e.Burst == 0:
		r.add(n.get("within").spot, "within is a share of the frames in bursts: it needs burst")
	case share > most:
		r.add(n.spot, "a share of %v in bursts of %v frames is impossible: with one frame between two bursts it is %v, the maximum",
			share, e.Burst, float(most))
	case e.Flap > 0 && e.Period == 0, e.Gap > 0 && e.Period == 0, e.Period > 0 && e.Flap+e.Gap == 0:
		r.add(n.spot, "flap and gap need a period, and a period needs one of them")
	case e.Period > 0 && e.Flap+e.Gap >= e.Period:
		r.add(n.get("period").spot, "the period of %v must be longer than the %v in it", e.Period, e.Flap+e.Gap)
	case e.For > 0 && (e.PauseStorm == StormOff || e.Pauses == Obeyed || e.Sink == SinkRunning || e.Buffer == 1):
		r.add(n.get("for").spot, "for is how long a fault lasts, but this event ends one: leave for out")
	case e.PauseStorm == StormOff && e.Gap > 0:
		r.add(n.get("gap").spot, "a storm that ends has no gaps: leave gap out")
	}
}

// checkEndpointEvent reports a change that an endpoint cannot make.
func (r *resolver) checkEndpointEvent(n *node, e *Event) {
	control := r.s.Links[r.nodes[e.Endpoint].links[0]].FlowControl
	switch {
	case e.PauseStorm != "" && control == port.Credits:
		r.add(n.spot,
			"the link of %s has flow-control: credit: pause storms exist on Ethernet only", e.Endpoint)
	case e.PauseStorm != "" && !control.Pauses():
		r.add(n.spot, "%s cannot pause its peer: its link has flow-control: %s", e.Endpoint, control)
	case e.Classes != 0 && control != port.PriorityPauseFrames:
		r.add(n.spot, "the link of %s does not have flow-control: pfc: only PFC pauses priorities", e.Endpoint)
	case e.Invalid != "" && control != port.PriorityPauseFrames:
		r.add(n.spot, "the link of %s does not have flow-control: pfc: invalid frames are those that a port with PFC ignores", e.Endpoint)
	case e.Invalid != "" && e.Classes != 0:
		r.add(n.spot, "invalid frames stop no priority: leave out priorities, or invalid")
	case e.Pauses != "" && !control.Pauses():
		r.add(n.spot, "the link of %s has neither flow-control: pause nor pfc: there are no PAUSE frames to ignore",
			e.Endpoint)
	}
}

// checkChange reports whether an event is one change of one object, with the details of that
// change.
func (r *resolver) checkChange(n *node) bool {
	before := len(r.list)
	var all []string
	var of string
	for _, c := range changes {
		for _, key := range c.keys {
			if n.get(key) != nil {
				all, of = append(all, key), c.of
			}
		}
	}
	others := slices.ContainsFunc(changes[:], func(c change) bool { return c.of != of && n.get(c.of) != nil })
	switch {
	case len(all) == 0:
		r.add(n.spot,
			"this event changes nothing: give one of %s", possible())
	case len(all) > 1:
		r.add(n.spot, "%s are given: an event changes one thing; for two changes give two events at the same time",
			strings.Join(all, " and "))
	case n.get(of) == nil || others:
		article := "a"
		if of == "endpoint" {
			article = "an"
		}
		r.add(n.spot, "%s changes %s %s: name that, and nothing else", all[0], article, of)
	default:
		for _, d := range details {
			if n.get(d.key) != nil && !slices.Contains(d.with, all[0]) {
				r.add(n.get(d.key).spot, "%s is a detail of %s, not of %s%s", d.key, someOf(d.with), all[0], insteadOf(n, d.key, all[0]))
			}
		}
	}
	return len(r.list) == before
}

// noFault returns why a link cannot have a fault; empty if there is no reason.
func noFault(key string) string {
	const cable = "frames on a cable or a fibre arrive in order"
	switch key {
	case "duplication", "duplicate", "dup":
		return cable + ", each once"
	case "reordering", "reorder", "disorder":
		return cable + "; with routing.recompute frames on different paths overtake one another"
	}
	return ""
}

// possible lists the changes by their objects.
func possible() string {
	var all []string
	for _, c := range changes {
		all = append(all, fmt.Sprintf("%s (of the %s)", strings.Join(c.keys, ", "), c.of))
	}
	return strings.Join(all, ", ")
}

// Change is an instant at which an event changes the fabric.
type Change struct {
	At    unit.Time
	What  string // a description: "link trunk down"
	Event int    // index of the event
	Fault string // the fault that begins or ends, the same text for both; empty: the change is no fault
	Ends  bool   // the fault ends
}

// Changes returns the changes of the fabric by the events of s, by time. An event that takes its
// change back, such as a restart, makes two.
func (s *Scenario) Changes() []Change {
	var all []Change
	for i := range s.Events {
		e := &s.Events[i]
		begins, ends, last := "", "", e.For
		fault, over := fmt.Sprint(i, "."), false // unless another event can end it
		switch {
		case e.Restart != 0:
			begins, ends, last = fmt.Sprintf("switch %s restarts", e.Switch), fmt.Sprintf("switch %s is back", e.Switch), e.Restart
		case e.High > 0:
			begins, fault = fmt.Sprintf("switch %s: high %v, low %v", e.Switch, e.High, e.Low), ""
		case e.marks():
			begins, fault = fmt.Sprintf("switch %s: marking %v", e.Switch, e.Marking), ""
		case e.controls():
			begins, fault = fmt.Sprintf("endpoint %s: control %v", e.Endpoint, e.Control.brief()), ""
		case e.Switch != "":
			begins, fault = fmt.Sprintf("switch %s: watchdog %s", e.Switch, param.Of(e.Watchdog).Mapping(e.Watchdog)), ""
		case e.State != "":
			begins = fmt.Sprintf("link %s %s", e.Link, e.State)
			fault, over = "link "+e.Link, e.State == Up
		case e.PauseStorm != "":
			name := strings.TrimSpace(fmt.Sprintf("pause storm %s", e.Invalid))
			begins = fmt.Sprintf("endpoint %s: %s %s", e.Endpoint, name, e.PauseStorm)
			ends = fmt.Sprintf("endpoint %s: %s off", e.Endpoint, name)
			fault, over = fmt.Sprintf("storm of %s ", e.Endpoint), e.PauseStorm == StormOff
			if e.Classes != 0 {
				fault += e.Classes.String()
			}
		case e.Pauses != "":
			begins = fmt.Sprintf("endpoint %s: PAUSE is %s", e.Endpoint, e.Pauses)
			ends = fmt.Sprintf("endpoint %s: PAUSE is obeyed", e.Endpoint)
			fault, over = "pauses of "+e.Endpoint, e.Pauses == Obeyed
		case e.Sink != "":
			begins = fmt.Sprintf("endpoint %s: sink %s", e.Endpoint, e.Sink)
			ends = fmt.Sprintf("endpoint %s: sink running", e.Endpoint)
			fault, over = "sink of "+e.Endpoint, e.Sink == SinkRunning
		case e.Stuck > 0:
			begins, last = fmt.Sprintf("link %s: output of %s stuck", e.Link, e.From), e.Stuck
			ends = fmt.Sprintf("link %s: output of %s free", e.Link, e.From)
		case e.Loss+e.Corruption > 0 || e.Delay > 0:
			begins = fmt.Sprintf("link %s: %s", e.Link, e.LinkFault.text())
			ends = fmt.Sprintf("link %s: no %s any more", e.Link, e.LinkFault.word())
		case e.Buffer > 0:
			of := "of its buffers"
			if e.From != "" {
				of = "of the buffer for frames from " + e.From
			}
			begins = fmt.Sprintf("link %s: %v %s", e.Link, e.Buffer, of)
			ends = fmt.Sprintf("link %s: all %s", e.Link, of)
			fault, over = fmt.Sprintf("buffer of %s %s", e.Link, e.From), e.Buffer == 1
			if over {
				begins = ends
			}
		case e.Service != 0:
			begins, fault = fmt.Sprintf("endpoint %s: service %s", e.Endpoint, builtIn().section("events").Find("service").Text(*e)), ""
		default:
			begins, fault = fmt.Sprintf("link %s at %v", e.Link, e.Rate), ""
		}
		all = append(all, Change{unit.Time(e.At), begins, i, fault, over})
		if last > 0 && !over {
			all = append(all, Change{unit.Time(e.At + last), ends, i, fault, true})
		}
	}
	all = slices.DeleteFunc(all, func(c Change) bool { return c.At >= unit.Time(s.Model.Duration) })
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return all
}

// Settles reports whether a change takes the place of a fault that an earlier one has begun: it
// ends the fault, or begins it again. A storm that ends without priorities ends for all of them.
func (c *Change) Settles(begun *Change) bool {
	return c.Fault != "" && c.Fault == begun.Fault || c.Ends && strings.HasSuffix(c.Fault, " ") && strings.HasPrefix(begun.Fault, c.Fault)
}

// Active returns the faults that last at an instant, of the changes of a scenario: each as the
// change that has begun it, by time.
func Active(changes []Change, at unit.Time) (active []Change) {
	for i := range changes {
		c := &changes[i]
		if c.At > at || c.Fault == "" {
			continue
		}
		active = slices.DeleteFunc(active, func(a Change) bool { return c.Settles(&a) })
		if !c.Ends {
			active = append(active, *c)
		}
	}
	return active
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

// Loses returns why frames on a link may be lost by an event: "link trunk goes down at 2ms"; empty
// if none are.
func (e *Event) Loses(l *Link) string {
	switch {
	case e.State == Down && e.Link == l.Name:
		return fmt.Sprintf("link %s goes down at %v", l.Name, e.At)
	case e.Loss+e.Corruption > 0 && e.Link == l.Name:
		return fmt.Sprintf("link %s has a %s", l.Name, e.LinkFault.text())
	case e.Restart > 0 && (e.Switch == l.A || e.Switch == l.B):
		return fmt.Sprintf("switch %s is restarted at %v", e.Switch, e.At)
	}
	return ""
}

// Happen adds an event to a scenario that is running, and returns the scenario with the event. The
// text is an item of events without its time, "link: trunk, rate: 5Gb/s", in braces or not; at is
// an instant within the run. Happen checks the event like one in the file. It also refuses an event
// with which the fabric would have been laid out differently from the start: with more headroom, or
// other ways.
func (s *Scenario) Happen(text string, at unit.Duration) (*Scenario, Event, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	wrong := func(format string, args ...any) (*Scenario, Event, error) {
		return nil, Event{}, fmt.Errorf("event {%s}: "+format, append([]any{text}, args...)...)
	}
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return nil, Event{}, fmt.Errorf("event %q: expected one line, such as {link: trunk, rate: 5Gb/s}", text)
	}
	now := *s
	now.Events = nil
	src, err := now.Resolved()
	if err != nil {
		return nil, Event{}, err
	}
	p := &printer{tables: s.tables()}
	p.line("events:")
	for _, e := range s.Events {
		p.line("  - %s", e.Text())
	}
	p.line("  - {at: %v, %s}", at, text)
	then, err := s.reload("event", strings.Replace(string(src), "\nevents: []\n", "\n"+p.String(), 1))
	if list := (*Errors)(nil); errors.As(err, &list) {
		var all []string
		for _, e := range list.List {
			path := strings.TrimPrefix(e.Path, fmt.Sprintf("events[%d]", len(s.Events))) // the user has not written it in a list
			path = strings.TrimPrefix(path, ".")
			for i := range s.Events {
				if rest, ok := strings.CutPrefix(path, fmt.Sprintf("events[%d]", i)); ok {
					path = s.Events[i].Text() + rest
				}
			}
			if strings.HasPrefix(e.Message, `duplicate key "at"`) {
				return wrong("it happens now: leave out at")
			}
			all = append(all, strings.TrimPrefix(path+": "+e.Message, ": "))
		}
		return wrong("%s", strings.Join(all, "; "))
	} else if err != nil {
		return wrong("%v", err)
	}
	n := len(then.Events) - 1
	for i := range min(n, len(s.Events)) {
		if then.Events[i].Left != s.Events[i].Left {
			return wrong("with it %s would leave less of the buffer: put the event into the scenario", s.Events[i].Text())
		}
	}
	// Near the end of the run flaps may be one event only: the link goes down and stays there.
	flaps := strings.Contains(text, "flap") && strings.Contains(text, "period")
	if n != len(s.Events) || !slices.Equal(then.Events[:n], s.Events) || flaps && then.Events[n].State == Down {
		return wrong("give one event, without a time, because it happens now, and without flaps, because they are several events: bring a link down, and later up")
	}
	e := then.Events[n]
	if (e.State != "" || e.Restart > 0) && s.Routing.Recompute > 0 {
		return wrong("with routing.recompute the paths around a link that is down are computed before the run: put the event into the scenario")
	}
	same := *then
	same.Events = nil
	if part := differs(&now, &same); part != "" {
		return wrong("with it the %s would be different from the start: put the event into the scenario", part)
	}
	with := *s
	with.Events, with.loaded = append(slices.Clone(s.Events), e), nil
	return &with, e, nil
}

// Reroutes reports whether frames of a flow may change their path or their lane.
func (s *Scenario) Reroutes() bool { return s.Managed || s.Rerouted() }

// Rerouted reports whether the scenario says that routes or lanes change.
func (s *Scenario) Rerouted() bool {
	return s.Routing.Recompute > 0 || slices.ContainsFunc(s.Routes, func(r Route) bool { return r.Since > 0 }) ||
		slices.ContainsFunc(s.LaneRules, func(r LaneRule) bool { return r.Since > 0 })
}

// Opened returns s as a scenario that may receive events while it runs. Frames that these lose
// break no promise.
func (s *Scenario) Opened() *Scenario {
	open := *s
	open.Open = true
	return &open
}

// Text returns an event as it is in a list of events: "{at: 2s, link: trunk, rate: 5Gb/s}".
func (e Event) Text() string {
	return builtIn().section("events").Mapping(e)
}
