package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
)

// A rate without the end of its unit, or with the name that InfiniBand has for it, is guessed.
func TestGuessesForUnits(t *testing.T) {
	for value, want := range map[string]string{
		"10G": `did you mean "10Gb/s"?`, "hdr": `did you mean "200Gb/s"?`, "100m": `did you mean "100Mb/s"?`, "10Gbps": `did you mean "Gb/s"?`,
	} {
		_, err := resolve.Load("fuzz.yaml", []byte("name: n\nmodel: {duration: 1ms}\ndefaults: {link: {rate: "+value+"}}\nendpoints: [A, B]\nlinks: [A - B]\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}

// A word that another field has is guessed, and a key has those of its own scheme beside it.
func TestGuessesForFields(t *testing.T) {
	const text = `name: n
model: {duration: 1ms}
defaults:
  link: {rate: 1GB/s, flow-control: pfc}
  switch: {kind: output-queued, memory: 10MB, marking: {scheme: ecn}}
  flow: {transport: rocev2}
switches: {S: {}}
endpoints: [h1, h2]
links: [h1 - S, {name: trunk, between: S - h2}]
flows: [{name: f, from: h1, to: h2, control: {algorithm: dcqcn}}]
workload: [{name: load, over: "h[1-2]", load: 0.5}]
`
	for set, want := range map[string]string{
		"workload.load.size=websearch":          `(did you mean "web-search"?)`,
		"workload.load.size=all-to-all":         `(did you mean "pattern: all-to-all"?)`,
		"workload.load.pattern=web-search":      `(did you mean "size: web-search"?)`,
		"workload.load.pattern=permutaton":      `incast (did you mean "permutation"?)`,
		"defaults.switch.marking.kmin=5KB":      `has no field "kmin" (did you mean "min"?): it has min, max, max-p, per, at, cell, scheme, preset`,
		"defaults.switch.marking.kmn=5KB":       `has no field "kmn" (did you mean "min"?): it has scheme, preset, min, max, max-p, per, at, cell`,
		"switches.S.marking.zzzz=5KB":           `has no field "zzzz": it has scheme, preset, min, max, max-p, per, at, cell`, // by the defaults
		"flows.f.control.kk=1":                  `has no field "kk": it has algorithm, `,
		"defaults.flow.transport.kind=datagrms": `did you mean "datagrams"?`,
	} {
		s, err := scenario.ParseSet(set)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = resolve.Load("fuzz.yaml", []byte(text), []scenario.Set{s}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "qeq") {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
	for old, by := range map[string][2]string{
		"scheme: ecn":      {"scheme: ecn, kmin: 5KB", `unknown key "kmin" (did you mean "min"?): allowed here are min, max, max-p, per, at, cell, scheme, preset`},
		"flows: [":         {"events: [{at: 1us, link: trunk, state: down, for: 10us}]\nflows: [", "for is a detail of loss, corruption, delay, repeat, overtake, flap, buffer, pause-storm, pauses, sink, congestion, not of state: a link that is down for a time is two events, state: down and state: up, or flap: 10us with a longer period, and for: that period"},
		"algorithm: dcqcn": {"algorithm: timely, kmin: 5KB", `unknown key "kmin": allowed here are `},
	} {
		_, err := resolve.Load("fuzz.yaml", []byte(strings.Replace(text, old, by[0], 1)), nil)
		if err == nil || !strings.Contains(err.Error(), by[1]) {
			t.Errorf("%s: %v, want %s", by[0], err, by[1])
		}
	}
	// What the last message proposes is right.
	if _, err := resolve.Load("fuzz.yaml", []byte(strings.Replace(text, "flows: [", "events: [{at: 1us, link: trunk, flap: 10us, period: 20us, for: 20us}]\nflows: [", 1)), nil); err != nil {
		t.Error(err)
	}
}

// An unknown key of an event is explained by the keys of what the event does, or else of what can
// be done to its object. All keys are listed where the event does several things, or where its
// object is unknown.
func TestGuessesForEvents(t *testing.T) {
	const text = `name: n
model: {duration: 1ms}
defaults: {link: {rate: 1GB/s}}
endpoints: [A, B]
links: [{name: l, between: A - B}]
flows: [{name: f, from: A, to: B}]
%s: [{%s}]
`
	for event, want := range map[string]string{
		"at: 0s, link: l, rate: 1Gb/s, fro: A":             `unknown key "fro": allowed here are at, link, rate`,
		"at: 0s, link: l, buffer: 0.5, form: A":            `unknown key "form" (did you mean "for"?): allowed here are for, from, at, link, buffer`,
		"at: 0s, link: l, sate: down":                      `unknown key "sate" (did you mean "state"?): allowed here are `,
		"at: 0s, endpoint: A, sing: stopped":               `unknown key "sing" (did you mean "sink"?): allowed here are `,
		"at: 0s, endpoint: A, colour: red":                 `unknown key "colour": allowed here are at, endpoint, for, period, service, pause-storm, priorities, invalid, xon, gap, pauses, sink, control` + "\n",
		"at: 0s, colour: red":                              `unknown key "colour": allowed here are at, link, endpoint, switch, rate, state, `,
		"at: 0s, link: l, rate: 1Gb/s, loss: 0.1, colour:": `unknown key "colour": allowed here are at, link, endpoint, switch, rate, state, `,
	} {
		_, err := resolve.Load("x.yaml", []byte(fmt.Sprintf(text, "events", event)), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", event, err, want)
		}
	}
	_, err := resolve.Load("x.yaml", []byte(fmt.Sprintf(text, "faults", "link: l, rate: 1Gb/s, colour: red")), nil)
	if want := `unknown key "colour": allowed here are name, at, link, rate`; err == nil || !strings.Contains(err.Error(), want+"\n") {
		t.Errorf("%v, want %s", err, want)
	}
}
