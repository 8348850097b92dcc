package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/wire/unit"
)

// Happen reads an event that comes to a scenario while it runs, and returns the scenario with
// it, and the event. The text is an item of events without its time, "link: trunk, rate:
// 5Gb/s", in braces or not; the event is at an instant within the run. It is checked like one
// that stands in the file, and refused, with all that is wrong, where the fabric would have
// been laid out differently with it from the start: with more headroom, or other ways.
func (s *Scenario) Happen(text string, at unit.Duration) (*Scenario, Event, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	wrong := func(format string, args ...any) (*Scenario, Event, error) {
		return nil, Event{}, fmt.Errorf("event {%s}: "+format, append([]any{text}, args...)...)
	}
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return nil, Event{}, fmt.Errorf("event %q: one line is wanted, such as {link: trunk, rate: 5Gb/s}", text)
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
		p.item(fieldsOf(p.tables.section("events"), e, ", "))
	}
	p.line("  - {at: %v, %s}", at, text)
	var opts []Option
	if s.Schemes != nil {
		opts = append(opts, WithSchemes(*s.Schemes))
	}
	then, err := Load("event", []byte(strings.Replace(string(src), "\nevents: []\n", "\n"+p.String(), 1)), nil, opts...)
	if list := (*Errors)(nil); errors.As(err, &list) {
		var all []string
		for _, e := range list.List {
			all = append(all, strings.TrimPrefix(e.Path+": "+e.Message, ": "))
		}
		return wrong("%s", strings.Join(all, "; "))
	} else if err != nil {
		return wrong("%v", err)
	}
	n := len(then.Events) - 1
	if n != len(s.Events) || !slices.Equal(then.Events[:n], s.Events) {
		return wrong("one event is wanted, without a time: it happens now")
	}
	e := then.Events[n]
	if (e.State != "" || e.Restart > 0) && s.Routing.Recompute > 0 {
		return wrong("with routing.recompute the ways around what is down are computed before the run: have it stand in the scenario")
	}
	same := *then
	same.Events = nil
	if what := differs(&now, &same); what != "" {
		return wrong("with it the %s would be different from the start: have it stand in the scenario", what)
	}
	with := *s
	with.Events, with.loaded = append(slices.Clone(s.Events), e), nil
	return &with, e, nil
}

// Opened returns s as one to which events may come while it runs: what they may lose is then
// no broken promise.
func (s *Scenario) Opened() *Scenario {
	open := *s
	open.Open = true
	return &open
}

// Text returns an event as it stands in a list of events: "{at: 2s, link: trunk, rate: 5Gb/s}".
func (e Event) Text() string {
	p := &printer{tables: builtIn()}
	p.item(fieldsOf(p.tables.section("events"), e, ", "))
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(p.String()), "- "))
}
