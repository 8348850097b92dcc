package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Words make lines of events, or a message that lists the possible words.
func TestCommand(t *testing.T) {
	for _, x := range []struct{ words, want, wrong string }{
		{words: "link trunk rate 1Gb/s", want: "link: trunk, rate: 1Gb/s"},
		{words: "link trunk down", want: "link: trunk, state: down"},
		{words: "link trunk loss 0.01 from A for 2ms", want: "link: trunk, loss: 0.01, from: A, for: 2ms"},
		{words: "storm h3 priority 3 for 10ms", want: `endpoint: h3, pause-storm: "on", priorities: [3], for: 10ms`},
		{words: "storm h3 off", want: `endpoint: h3, pause-storm: "off"`},
		{words: "storm h3 priorities [3,4]", want: `endpoint: h3, pause-storm: "on", priorities: [3,4]`},
		{words: "endpoint h3 sink stopped", want: "endpoint: h3, sink: stopped"},
		{words: "switch S restart 100us", want: "switch: S, restart: 100us"},
		{words: "switch S high 50KB low 40KB", want: "switch: S, high: 50KB, low: 40KB"},
		{words: "switch S watchdog forward", want: "switch: S, watchdog: forward"},
		{words: "link *", want: `link: "*"`},
		{words: "{link:trunk}", want: "{link:trunk}"},
		{words: "", wrong: "there is no command \"\": possible are storm, link, endpoint, switch"},
		{words: "lnk trunk down", wrong: "did you mean \"link\"?"},
		{words: "link", wrong: "its name is missing, as in link trunk rate 1Gb/s"},
		{words: "switch S reset 1ms", wrong: "possible are down and up of a link, and restart"},
		{words: "link trunk down for 10us", wrong: "link trunk down for 10us: it lasts until the opposite: give link trunk down, and later link trunk up; in a scenario, flap: 10us with a period brings a link down for a time"},
		{words: "link trunk rate", wrong: "rate has no value, as in link trunk rate 1Gb/s"},
	} {
		got, err := scenario.Command(strings.Fields(x.words))
		if got != x.want || x.wrong == "" && err != nil || x.wrong != "" && (err == nil || !strings.Contains(err.Error(), x.wrong)) {
			t.Errorf("%s: got %q, %v", x.words, got, err)
		}
	}
	for words, want := range map[string]string{"": "storm", "link trunk": "", "link trunk rate": "", "link": "", "link trunk rate 1Gb/s ": ""} {
		if got := scenario.CommandWords(strings.Fields(words)); want == "" && len(got) > 0 && len(strings.Fields(words))%2 == 1 || want != "" && !slices.Contains(got, want) {
			t.Errorf("after %q: %v", words, got)
		}
	}
}

// A fault lasts until its end, whether that is its own or another event.
func TestActiveFaults(t *testing.T) {
	s := load(t, `name: x
model: {duration: 10ms}
defaults: {link: {rate: 1GB/s, flow-control: pfc}, switch: {kind: output-queued, memory: 10MB}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, {name: trunk, between: S - b}]
flows: [{name: x, from: a, to: b}]
events:
  - {at: 1ms, link: trunk, state: down}
  - {at: 1ms, link: trunk, rate: 0.5GB/s}
  - {at: 2ms, link: trunk, state: up}
  - {at: 3ms, endpoint: b, pause-storm: "on", priorities: [3], for: 1ms}
  - {at: 3ms, endpoint: b, pause-storm: "on", priorities: [4]}
  - {at: 5ms, endpoint: b, pause-storm: "off"}
  - {at: 6ms, link: trunk, loss: 0.1, for: 1ms}
  - {at: 6ms, link: trunk, loss: 0.2, from: S}
  - {at: 8ms, switch: S, restart: 1ms}
  - {at: 9500us, endpoint: b, sink: stopped}
`)
	const storm, lost = "endpoint b: pause storm on", "link trunk: loss of 0.2 from S"
	for at, want := range map[unit.Duration]string{
		999 * unit.Microsecond: "", unit.Millisecond: "link trunk down", 2 * unit.Millisecond: "",
		3 * unit.Millisecond: storm + "; " + storm, 4 * unit.Millisecond: storm, 5 * unit.Millisecond: "",
		6 * unit.Millisecond: "link trunk: loss of 0.1; " + lost, 7 * unit.Millisecond: lost,
		8 * unit.Millisecond: lost + "; switch S restarts", 9 * unit.Millisecond: lost,
		9900 * unit.Microsecond: lost + "; endpoint b: sink stopped",
	} {
		var got []string
		for _, c := range scenario.Active(s.Changes(), unit.Time(at)) {
			got = append(got, c.What)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("at %v: %q, not %q", at, got, want)
		}
	}
}
