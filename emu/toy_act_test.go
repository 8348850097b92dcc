package emu_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/scenario/schema"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// blink is an act of this file alone: a link goes down for a moment.
type blink struct {
	scenario.Plain
	Blink unit.Duration `key:"blink" low:"above 0s" doc:"The link is down for this long, once."`
	Again unit.Duration `key:"again" low:"above 0s" omit:"usual" also:"repeat-after" doc:"It goes down again so much later."`
}

// Row implements scenario.Act.
func (blink) Row() scenario.Row {
	return scenario.Row{Key: "blink", On: scenario.OnLink, Every: true}
}

// Course implements scenario.Act.
func (b blink) Course(e *scenario.Event) scenario.Course {
	return scenario.Course{Begins: "link " + e.Link + " blinks", Ends: "link " + e.Link + " is back", Last: b.Blink,
		Loses: fmt.Sprintf("link %s blinks at %v", e.Link, e.At)}
}

// Touch implements scenario.Act.
func (b blink) Touch(e *scenario.Event) scenario.Touch {
	return scenario.Touch{Down: true, Until: e.At + b.Blink, Loses: true}
}

// Begin implements scenario.Act.
func (b blink) Begin(e *scenario.Event, m *scenario.Making) {
	for _, at := range []unit.Duration{e.At, e.At + b.Again}[:1+min(1, b.Again)] {
		m.AtEnds(at, e.Link, port.LinkDown{})
		m.AtEnds(at+b.Blink, e.Link, port.LinkUp{})
	}
}

// A fault is one file and one row: from its struct and its row follow what a scenario writes,
// prints and refuses, --set, the schema, the reference, the list of changes, and the run.
func TestAFaultIsOneFile(t *testing.T) {
	tables := toyTables()
	tables.Acts = append(tables.Acts, blink{})
	load := func(fault string, sets ...scenario.Set) (*scenario.Scenario, error) {
		return resolve.Load("toy.yaml", []byte(toy+"faults: ["+fault+"]\n"), sets, resolve.WithSchemes(tables))
	}
	s, err := load("{name: b, at: 1ms, link: root, blink: 20us}", scenario.Set{Path: "faults.b.blink", Value: "30us"})
	if err != nil {
		t.Fatal(err)
	}
	src, err := resolve.Text(s)
	if text := "{at: 1ms, link: root, blink: 30us}"; err != nil || !strings.Contains(string(src), "\n  - "+text+"\n") {
		t.Errorf("%v; the resolved scenario has no %s", err, text)
	}
	back, err := resolve.Load("back.yaml", src, nil, resolve.WithSchemes(tables))
	if err != nil || !slices.Equal(back.Events, s.Events) {
		t.Errorf("it reads back as %v (%v)", back, err)
	}
	for fault, want := range map[string]string{
		"{link: root, blink: 0s}":                     `faults[0].blink: "0s" is zero: it must be above zero`,
		"{switch: s, blink: 1us}":                     "blink changes a link: name that, and nothing else",
		"{link: root, rate: 1Gb/s, again: 1ms}":       "again is a detail of blink, not of rate",
		"{link: root, blink: 1us, from: c}":           "from is a detail of",
		"{link: root, blink: 1us, state: down}":       "state and blink are given",
		"{link: root, blnk: 1us}":                     `did you mean "blink"?`,
		"{link: root, blink: 1us, repeat-after: 1us}": `did you mean "again"?`,
		"{link: root}":                                "buffer, blink (of the link)",
	} {
		if _, err := load(fault); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", fault, err, want)
		}
	}
	if all, err := load(`{link: "*", blink: 1us}`); err != nil || len(all.Events) != 3 {
		t.Errorf("on all links: %v", err)
	}
	language := scenario.LanguageOf(tables)
	if !strings.Contains(string(schema.JSON(language)), `"blink": {`) {
		t.Error("it is not in the schema")
	}
	page := schema.Markdown(language, tables.Algorithms, tables.Points)
	for _, want := range []string{"| **`blink`** | The link is down for this long, once. |", "| **`again`** | blink: It goes down again so much later. |", "stuck, buffer, blink. |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the reference has no %s", want)
		}
	}
	if _, e, err := resolve.Happen(s, "link: root, blink: 5us, again: 9us", 2*unit.Millisecond); err != nil || e.Text() != "{at: 2ms, link: root, blink: 5us, again: 9us}" {
		t.Errorf("by hand: %s, %v", e.Text(), err)
	}

	run := func(o emu.Options) (*emu.Result, string) {
		r, events, _ := runOf(t, s, o)
		return r, events
	}
	r, events := run(emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Digest: true})
	var changes []string
	for _, e := range r.Events {
		changes = append(changes, fmt.Sprintf("%d %s", e.AtPs/1_000_000, e.What))
	}
	if got := strings.Join(changes, ", "); got != "1000 link root blinks, 1030 link root is back" {
		t.Errorf("the report lists: %s", got)
	}
	for _, want := range []string{ // down and up at both ends
		`{"time_ps":1000000000,"node":"s",.*"event":"control","port":"root.s-c","a":2,`,
		`{"time_ps":1000000000,"node":"c",.*"event":"control","port":"root.c-s","a":2,`,
		`{"time_ps":1030000000,"node":"s",.*"event":"control","port":"root.s-c","a":3,`,
		`{"time_ps":1030000000,"node":"c",.*"event":"control","port":"root.c-s","a":3,`,
	} {
		if !regexp.MustCompile(want).MatchString(events) {
			t.Errorf("the event log has no %s", want)
		}
	}
	if wall, _ := run(emu.Options{Settings: emu.Settings{Clock: emu.WallClock, Link: emu.Pipe}, Verify: emu.VerifyOff}); wall.Digest != r.Digest {
		t.Errorf("on the wall clock the digest is %s, on the virtual clock %s", wall.Digest, r.Digest)
	}
}
