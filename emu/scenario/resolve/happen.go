package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Happen adds an event to a scenario that is running, and returns the scenario with the event. The
// text is an item of events without its time, "link: trunk, rate: 5Gb/s", in braces or not; at is
// an instant within the run. Happen checks the event like one in the file. It also refuses an event
// with which the fabric would have been laid out differently from the start: with more headroom, or
// other ways.
func Happen(s *scenario.Scenario, text string, at unit.Duration) (*scenario.Scenario, scenario.Event, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	wrong := func(format string, args ...any) (*scenario.Scenario, scenario.Event, error) {
		return nil, scenario.Event{}, fmt.Errorf("event {%s}: "+format, append([]any{text}, args...)...)
	}
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return nil, scenario.Event{}, fmt.Errorf("event %q: expected one line, such as {link: trunk, rate: 5Gb/s}", text)
	}
	now := *s
	now.Events = nil
	src, err := Text(&now)
	if err != nil {
		return nil, scenario.Event{}, err
	}
	events := "events:\n"
	for _, e := range s.Events {
		events += fmt.Sprintf("  - %s\n", e.Text())
	}
	events += fmt.Sprintf("  - {at: %v, %s}\n", at, text)
	then, err := reload(s, "event", strings.Replace(string(src), "\nevents: []\n", "\n"+events, 1))
	if list := (*scenario.Errors)(nil); errors.As(err, &list) {
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
		if what := s.Events[i].Act.Altered(then.Events[i].Act); what != "" {
			return wrong("with it %s would %s: put the event into the scenario", s.Events[i].Text(), what)
		}
	}
	// Near the end of the run flaps may be one event only: the link goes down and stays there.
	flaps := strings.Contains(text, "flap") && strings.Contains(text, "period")
	if n != len(s.Events) || !slices.Equal(then.Events[:n], s.Events) || flaps && then.Events[n].Touch().Down {
		return wrong("give one event, without a time, because it happens now, and without flaps, because they are several events: bring a link down, and later up")
	}
	e := then.Events[n]
	if x := e.Touch(); (x.Down || x.Up) && s.Routing.Recompute > 0 {
		return wrong("with routing.recompute the paths around a link that is down are computed before the run: put the event into the scenario")
	}
	if e.Touch().Reorders && !s.Disorders() {
		return wrong("the ends of flows take frames that arrive out of order for a mistake of the fabric, unless the scenario has such a fault: put the event into the scenario")
	}
	same := *then
	same.Events = nil
	if part := scenario.FirstDifference(&now, &same); part != "" {
		return wrong("with it the %s would be different from the start: put the event into the scenario", part)
	}
	return s.With(e), e, nil
}
