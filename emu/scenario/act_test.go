package scenario

import (
	"slices"
	"strings"
	"testing"

	"fabemu/switchd"
	"fabemu/wire/unit"
)

// events has an event of each row, on link l, endpoint e or switch s, and what it does to l, which
// joins e and s.
var events = map[string]struct {
	Event
	touch Touch
}{
	"rate":        {Event{Link: "l", Rate: 5e9}, Touch{Rate: 5e9}},
	"state":       {Event{Link: "l", State: Down}, Touch{Down: true, Loses: true}},
	"loss":        {Event{Link: "l", LinkFault: LinkFault{Loss: 0.1}}, Touch{Loses: true}},
	"corruption":  {Event{Link: "l", LinkFault: LinkFault{Corruption: 0.1}}, Touch{Loses: true}},
	"delay":       {Event{Link: "l", LinkFault: LinkFault{Delay: 3, Jitter: 4}}, Touch{Late: 7}},
	"flap":        {Event{Link: "l", LinkFault: LinkFault{Flap: 1}, Period: 2}, Touch{}},
	"stuck":       {Event{Link: "l", LinkFault: LinkFault{Stuck: 1, From: "e"}}, Touch{}},
	"buffer":      {Event{Link: "l", LinkFault: LinkFault{Buffer: 0.5}}, Touch{}},
	"service":     {Event{Endpoint: "e", Service: 1e9}, Touch{}},
	"pause-storm": {Event{Endpoint: "e", PauseStorm: StormOn}, Touch{}},
	"pauses":      {Event{Endpoint: "e", Pauses: Ignored}, Touch{Loses: true}},
	"sink":        {Event{Endpoint: "e", Sink: SinkStopped}, Touch{}},
	"control":     {Event{Endpoint: "e", Control: CCAControl{}}, Touch{}},
	"restart":     {Event{At: 5, Switch: "s", Restart: 2}, Touch{Down: true, Until: 7, Loses: true}},
	"high":        {Event{Switch: "s", High: 1000}, Touch{}},
	"watchdog":    {Event{Switch: "s", Watchdog: switchd.Watchdog{}}, Touch{}},
	"marking":     {Event{Switch: "s", Marking: CCAMarking{}}, Touch{}},
}

// Each row recognises its event and no other does, has words for it, and says whom it touches.
func TestActs(t *testing.T) {
	l, other := Link{Name: "l", A: "e", B: "s"}, Link{Name: "m", A: "f", B: "u"}
	for i := range acts {
		x, e := acts[i], events[acts[i].key]
		switch x.key { // zero is no value of theirs
		case "control":
			e.Control.Timer = 1
		case "marking":
			e.Marking.Threshold = 1
		}
		var of []string
		for k := range acts {
			if acts[k].of(&e.Event) {
				of = append(of, acts[k].key)
			}
		}
		if !slices.Equal(of, []string{x.key}) || e.row().key != x.key {
			t.Errorf("%s: the event is one of %v", x.key, of)
		}
		if got := e.Touches(&l); got != e.touch || (e.Loses() != "") != got.Loses {
			t.Errorf("%s touches its link with %+v, want %+v; loses %q", x.key, got, e.touch, e.Loses())
		}
		if got := e.Touches(&other); got != (Touch{}) {
			t.Errorf("%s touches another link: %+v", x.key, got)
		}
		if c := x.course(&e.Event); x.key != "flap" && !strings.Contains(c.begins, string(x.on)+" ") {
			t.Errorf("%s begins as %q", x.key, c.begins)
		}
	}
}

// The rows have all keys of events, and the reference says of each object what events change.
func TestKeysOfActs(t *testing.T) {
	section := builtIn().section("events")
	known := append(details(), "at")
	for _, on := range targets() {
		keys := keysOn(on)
		known = append(append(known, string(on)), keys...)
		if doc, want := section.Find(string(on)).Doc, "for "+strings.Join(keys, ", ")+"."; !strings.HasSuffix(doc, want) {
			t.Errorf("%s: %q does not end with %q", on, doc, want)
		}
	}
	keys := section.Keys()
	slices.Sort(keys)
	slices.Sort(known)
	if !slices.Equal(keys, known) {
		t.Errorf("events have the keys %v, and the rows %v", keys, known)
	}
}

// Outages of links come by time, with the end of a restart.
func TestOutages(t *testing.T) {
	s := Scenario{Links: []Link{{Name: "l", A: "e", B: "s"}, {Name: "m", A: "f", B: "u"}},
		Events: []Event{{At: 5, Switch: "s", Restart: 2}, {At: 6, Link: "m", State: Down}, {At: 1, Link: "l", Rate: 7}}}
	want := []Outage{{5, 0, true}, {6, 1, true}, {7, 0, false}}
	if got := s.Outages(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if least, most := s.Rates(&s.Links[0]); least != 0 || most != unit.Rate(7) || !s.Restarts() || !s.Loses() {
		t.Errorf("rates from %v to %v, restarts %v, loses %v", least, most, s.Restarts(), s.Loses())
	}
}
