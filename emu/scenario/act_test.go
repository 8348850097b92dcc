package scenario

import (
	"slices"
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// events has an event of each row, on link l, endpoint e or switch s, and what it does to l, which
// joins e and s.
var events = map[string]struct {
	Event
	touch Touch
}{
	"rate":        {Event{Link: "l", Act: RateChange{Rate: 5e9}}, Touch{Rate: 5e9}},
	"state":       {Event{Link: "l", Act: StateChange{State: Down}}, Touch{Down: true, Loses: true}},
	"loss":        {Event{Link: "l", Act: Loss{Loss: 0.1}}, Touch{Loses: true, Drops: trace.LostOnLink}},
	"corruption":  {Event{Link: "l", Act: Corruption{Corruption: 0.1, Hits: Hits{From: "e"}}}, Touch{Loses: true, Drops: trace.BadFCS, From: "e"}},
	"delay":       {Event{Link: "l", Act: Delay{Delay: 3, Jitter: 4}}, Touch{Late: 7}},
	"repeat":      {Event{Link: "l", Act: Repeat{Repeat: 0.1}}, Touch{Reorders: true}},
	"overtake":    {Event{Link: "l", Act: Overtake{Overtake: 0.1, After: 5, Hits: Hits{From: "e"}}}, Touch{Reorders: true, From: "e"}},
	"flap":        {Event{Link: "l", Act: Flap{Flap: 1, Periodic: Periodic{Period: 2}}}, Touch{}},
	"stuck":       {Event{Link: "l", Act: Stuck{Stuck: 1, From: "e"}}, Touch{}},
	"buffer":      {Event{Link: "l", Act: BufferCut{Buffer: 0.5}}, Touch{}},
	"service":     {Event{Endpoint: "e", Act: ServiceChange{Service: 1e9}}, Touch{Service: 1e9}},
	"pause-storm": {Event{Endpoint: "e", Act: PauseStorm{State: StormOn}}, Touch{}},
	"pauses":      {Event{Endpoint: "e", Act: PauseChange{Pauses: Ignored}}, Touch{Loses: true}},
	"sink":        {Event{Endpoint: "e", Act: SinkChange{Sink: SinkStopped}}, Touch{Stops: true}},
	"control":     {Event{Endpoint: "e", Act: ControlChange{}}, Touch{}},
	"restart":     {Event{At: 5, Switch: "s", Act: Restart{Restart: 2}}, Touch{Down: true, Until: 7, Loses: true, Empties: true}},
	"high":        {Event{Switch: "s", Act: WatermarksChange{High: 1000}}, Touch{High: 1000}},
	"watchdog":    {Event{Switch: "s", Act: WatchdogChange{}}, Touch{}},
	"marking":     {Event{Switch: "s", Act: MarkingChange{}}, Touch{Marks: cp.CCAParams{}}},
	"congestion":  {Event{Switch: "s", Act: CongestionReport{Congestion: Reported}}, Touch{}},
}

// Each row has words for its event, says whom it touches, and prints it so that it is recognised.
func TestActs(t *testing.T) {
	l, other := Link{Name: "l", A: "e", B: "s"}, Link{Name: "m", A: "f", B: "u"}
	if len(events) != len(Acts()) {
		t.Errorf("%d events, %d rows", len(events), len(Acts()))
	}
	for _, a := range Acts() {
		row := a.Row()
		e := events[row.Key]
		if got := e.Act.Row(); got != row {
			t.Errorf("the event of %s has the row %+v", row.Key, got)
		}
		if got := e.Touches(&l); got != e.touch || (e.Loses() != "") != got.Loses {
			t.Errorf("%s touches its link with %+v, want %+v; loses %q", row.Key, got, e.touch, e.Loses())
		}
		if got := e.Touches(&other); got != (Touch{}) {
			t.Errorf("%s touches another link: %+v", row.Key, got)
		}
		if c := e.Act.Course(&e.Event); row.Key != "flap" && !strings.Contains(c.Begins, string(row.On)+" ") {
			t.Errorf("%s begins as %q", row.Key, c.Begins)
		}
		if text := e.Text(); !strings.Contains(text, ", "+row.Key+": ") || !strings.Contains(text, ", "+string(row.On)+": ") {
			t.Errorf("%s is printed as %s", row.Key, text)
		}
	}
}

// The reference says of each object what events change, and of a key that several acts have, which.
func TestKeysOfActs(t *testing.T) {
	section := builtIn().Section("events")
	for key, want := range map[string]string{
		"link":     "; for rate, state, loss, corruption, delay, repeat, overtake, flap, stuck, buffer.",
		"endpoint": "Endpoint; for service, pause-storm, pauses, sink, control.",
		"switch":   "Switch; for restart, high, watchdog, marking, congestion.",
		"period":   "flap, pause-storm: Time from one start to the next.",
		"rate":     "New rate in both directions, from the next frame on.",
	} {
		if doc := section.Find(key).Doc; !strings.HasSuffix(doc, want) {
			t.Errorf("%s: %q does not end with %q", key, doc, want)
		}
	}
}

// An event without an act, which only a program can make, does nothing.
func TestNothing(t *testing.T) {
	e := Event{At: 3, Link: "l"}
	if got := e.Touches(&Link{Name: "l"}); got != (Touch{}) || e.Text() != "{at: 3ps, link: l}" {
		t.Errorf("%+v, %s", got, e.Text())
	}
}

// Outages of links come by time, with the end of a restart.
func TestOutages(t *testing.T) {
	s := Scenario{Links: []Link{{Name: "l", A: "e", B: "s"}, {Name: "m", A: "f", B: "u"}},
		Events: []Event{{At: 5, Switch: "s", Act: Restart{Restart: 2}}, {At: 6, Link: "m", Act: StateChange{State: Down}}, {At: 1, Link: "l", Act: RateChange{Rate: 7}}}}
	want := []Outage{{5, 0, true}, {6, 1, true}, {7, 0, false}}
	if got := s.Outages(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if least, most := s.Rates(&s.Links[0]); least != 0 || most != unit.Rate(7) || !s.Restarts() || !s.Loses() {
		t.Errorf("rates from %v to %v, restarts %v, loses %v", least, most, s.Restarts(), s.Loses())
	}
}
