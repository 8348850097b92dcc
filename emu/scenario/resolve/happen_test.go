package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// TestFlapsAreNoSingleEvent: a running fabric refuses flaps at any time, and near the end of the
// run too, where the link would go down once and no more.
func TestFlapsAreNoSingleEvent(t *testing.T) {
	s := load(t, `name: x
model: {duration: 10ms}
defaults: {link: {rate: 1GB/s}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, {name: trunk, between: S - b}]
flows: [{name: x, from: a, to: b}]
`)
	for _, at := range []unit.Duration{0, 5 * unit.Millisecond, 9500 * unit.Microsecond} {
		_, _, err := resolve.Happen(s, "link: trunk, flap: 1ms, period: 2ms", at)
		if err == nil || !strings.Contains(err.Error(), "several events") {
			t.Errorf("at %v: got %v, want a mistake with several events", at, err)
		}
		if _, e, err := resolve.Happen(s, "link: trunk, state: down", at); err != nil || e.At != at {
			t.Errorf("down at %v: %v, %v", at, e, err)
		}
	}
}

// trunk is a fabric whose watermarks leave no more than the headroom of its links at 10 Gb/s.
const trunk = `name: x
model: {duration: 10ms}
defaults:
  link: {rate: 10Gb/s, propagation: %s, flow-control: pfc}
  switch: {kind: output-queued, memory: 50KB per port}
  flow: {packet: 1500B}
switches: {S: {}, T: {}}
endpoints: [a, b]
links: [a - S, {name: trunk, between: S - T}, T - b]
flows: [{name: x, from: a, to: b}, {name: y, from: b, to: a}]
%s
`

// TestLowerRateOfARunningLink: a slower line needs no more headroom, where the return path of a
// PAUSE frame is longer than a frame: 5 µs and 1.2 µs. On a shorter link a frame that had begun at
// the higher rate may come on top: of 1500 bytes at a tenth of the rate 1.2 µs less 100 ns at 9
// Gb/s, 1237.5 bytes. A higher rate again needs the bytes of the time of a slow frame.
func TestLowerRateOfARunningLink(t *testing.T) {
	const now = 5 * unit.Millisecond
	long := load(t, fmt.Sprintf(trunk, "5us", ""))
	slow, e, err := resolve.Happen(long, "link: trunk, rate: 1Gb/s", now)
	if err != nil || e.Touch().Rate != 1_000_000_000 {
		t.Fatalf("%v, %v", e, err)
	}
	if slower, _, err := resolve.Happen(slow, "link: trunk, rate: 500Mb/s", now+unit.Millisecond); err != nil || len(slower.Events) != 2 {
		t.Errorf("slower still: %v", err)
	}
	src, err := resolve.Text(slow)
	if err != nil {
		t.Fatal(err)
	}
	if again := load(t, string(src)); again.Switches[0].High != long.Switches[0].High {
		t.Errorf("the high watermark is %v, and was %v", again.Switches[0].High, long.Switches[0].High)
	}
	for _, tc := range []struct {
		s          *scenario.Scenario
		text, want string
	}{
		{slow, "link: trunk, rate: 10Gb/s", "at 10Gb/s, the highest rate of the link,"},
		{slow, "link: trunk, rate: 500Mb/s", "438B of a frame"}, // it may be the same PAUSE frame
		{load(t, fmt.Sprintf(trunk, "100ns", "")), "link: trunk, rate: 1Gb/s", "1238B of a frame that started before the rate became lower"},
	} {
		if _, _, err := resolve.Happen(tc.s, tc.text, now); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", tc.text, err, tc.want)
		}
	}
}

// TestMistakesOfHandsNameTheirWords: the message about a change has the keys of the change, and
// events of the scenario by their text: a number in a list that the user has not written means
// nothing.
func TestMistakesOfHandsNameTheirWords(t *testing.T) {
	s := load(t, fmt.Sprintf(trunk, "5us", "events: [{at: 1ms, link: trunk, loss: 0.1}]"))
	for text, want := range map[string]string{
		"link: trunk, loss: 2":             `event {link: trunk, loss: 2}: loss: 2 is out of range: it is a number above 0 to 1`,
		"link: trunk":                      `event {link: trunk}: this event changes nothing: give one of`,
		"link: tunk, state: down":          `event {link: tunk, state: down}: link: there is no link named "tunk"`,
		"link: trunk, state: down, no: 1":  `event {link: trunk, state: down, no: 1}: `,
		"link: trunk, loss: 0.1, from: a":  `event {link: trunk, loss: 0.1, from: a}: from: link trunk does not end at a`,
		"link: trunk, buffer: 0.01":        `event {link: trunk, buffer: 0.01}: buffer: switch T could lose a frame`,
		"endpoint: S, sink: stopped":       `event {endpoint: S, sink: stopped}: endpoint: S is a switch`,
		"link: trunk, repeat: 0.1":         `event {link: trunk, repeat: 0.1}: the ends of flows take frames that arrive out of order for a mistake of the fabric`,
		"link: trunk, loss: 0.1, at: 6ms":  `event {link: trunk, loss: 0.1, at: 6ms}: it happens now: leave out at`,
		"link: trunk, loss: 0.1, burst: 0": `event {link: trunk, loss: 0.1, burst: 0}: burst: 0 is out of range`,
	} {
		_, _, err := resolve.Happen(s, text, 5*unit.Millisecond)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "events[") {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestPartOfABufferThatIsLeft: the part that an earlier event leaves of a buffer follows from the
// headroom. A change with which it would have been smaller comes too late.
func TestPartOfABufferThatIsLeft(t *testing.T) {
	s := load(t, strings.Replace(fmt.Sprintf(trunk, "1us", "events: [{at: 1ms, link: trunk, buffer: 0.5}]"), "memory: 50KB per port", "memory: 50KB per port, high: 20KB", 1))
	const want = "with it {at: 1ms, link: trunk, buffer: 0.5} would leave less of the buffer: put the event into the scenario"
	if _, _, err := resolve.Happen(s, "link: trunk, rate: 20Gb/s", 5*unit.Millisecond); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
	if _, _, err := resolve.Happen(s, "link: trunk, rate: 10Gb/s", 5*unit.Millisecond); err != nil {
		t.Errorf("the same rate: %v", err)
	}
}

// TestSharedMemoryIsThatOfTheStart: with alpha the shared memory follows from the headroom, too.
func TestSharedMemoryIsThatOfTheStart(t *testing.T) {
	s := load(t, strings.Replace(fmt.Sprintf(trunk, "1us", ""), "memory: 50KB per port", "memory: 500KB per port, sharing: pooled, alpha: 1", 1))
	if _, _, err := resolve.Happen(s, "link: trunk, rate: 20Gb/s", 5*unit.Millisecond); err == nil || !strings.Contains(err.Error(), "put the event into the scenario") {
		t.Error(err)
	}
	if _, e, err := resolve.Happen(s, "link: trunk, rate: 10Gb/s", 5*unit.Millisecond); err != nil {
		t.Errorf("%v: %v", e, err)
	}
}

// TestSettingsOfARunningSwitch: a change has all values that count from then on. A low watermark
// that is not given is two frames below the high one, and parameters of the watchdog that are not
// given are those of the event before it, or of the switch. What would be refused in a scenario is
// refused with its message.
func TestSettingsOfARunningSwitch(t *testing.T) {
	s := load(t, strings.Replace(fmt.Sprintf(trunk, "1us", ""), "switches: {S: {}, T: {}}",
		"switches: {S: {watchdog: {detection: 800us, restoration: 900us, poll: 100us}}, T: {}}", 1))
	at := unit.Duration(0)
	for _, tc := range []struct{ text, want, wrong string }{
		{text: "switch: S, high: 20KB", want: "{at: 1ms, switch: S, high: 20KB, low: 17KB}"},
		{text: "switch: S, high: 2KB", want: "{at: 2ms, switch: S, high: 2KB, low: 1KB}"},
		{text: `{"switch":"S","high":"20KB","low":"5KB"}`, want: "{at: 3ms, switch: S, high: 20KB, low: 5KB}"},
		{text: "switch: S, watchdog: {detection: 700us}",
			want: "{at: 4ms, switch: S, watchdog: {action: drop, detection: 700us, restoration: 900us, poll: 100us, strict: false}}"},
		{text: "switch: S, watchdog: forward",
			want: "{at: 5ms, switch: S, watchdog: {action: forward, detection: 700us, restoration: 900us, poll: 100us, strict: false}}"},
		{text: "switch: T, watchdog: {strict: true}",
			want: "{at: 6ms, switch: T, watchdog: {action: drop, detection: 400ms, restoration: 2s, poll: 200ms, strict: true}}"},
		{text: "switch: S, high: 49KB", wrong: "high: switch S could lose a frame that arrives over link a - S: the high watermark, 49KB, and the headroom, 7062B, are 56062B, more than the part of an input, 50KB"},
		{text: "switch: S, high: 20KB, low: 21KB", wrong: "low: the low watermark of switch S, 21KB, is not below the high one, 20KB"},
		{text: "switch: S, watchdog: {poll: 1ms}", wrong: "watchdog: the watchdog of switch S looks every 1ms"},
		{text: "switch: S, watchdog: drop, high: 20KB", wrong: "high and watchdog are given: an event changes one thing"},
	} {
		at += unit.Millisecond
		then, e, err := resolve.Happen(s, tc.text, at)
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: %v; want %s", tc.text, err, tc.wrong)
			}
			at -= unit.Millisecond
			continue
		}
		if err != nil || e.Text() != tc.want {
			t.Fatalf("%s: %s, %v; want %s", tc.text, e.Text(), err, tc.want)
		}
		s = then
	}
	src, err := resolve.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	if again := load(t, string(src)); !slices.Equal(again.Events, s.Events) || again.Loses() {
		t.Errorf("got %v, want %v; it loses frames: %v", again.Events, s.Events, again.Loses())
	}
}

// TestSettingsCountByTheirTime: the order of the lines does not matter for what a later event
// keeps.
func TestSettingsCountByTheirTime(t *testing.T) {
	s := load(t, fmt.Sprintf(trunk, "1us", `events:
  - {at: 2ms, switch: S, watchdog: forward}
  - {at: 1ms, switch: S, watchdog: {detection: 700us, restoration: 900us, poll: 100us}}`))
	if w := s.Events[0].Act.(scenario.WatchdogChange).Watchdog; w.Detection != 700*unit.Microsecond || w.Poll != 100*unit.Microsecond {
		t.Errorf("the later one has %v", w)
	}
}

// TestCongestionControlOfARunningFabric: an event has all parameters of CCA, reads back, and is
// described with the beginning of its table.
func TestCongestionControlOfARunningFabric(t *testing.T) {
	s := load(t, `name: x
model: {duration: 10ms}
defaults: {link: {rate: 1GB/s}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, S - b]
flows: [{name: x, from: a, to: b, sl: 3}]
`)
	for _, tc := range []struct{ text, want, wrong string }{
		{text: "switch: S, marking: {threshold: 8, victim-mask: 0x6}",
			want: "switch S: marking {threshold: 8, packet-size: 8, marking-rate: 1, marking-gaps: geometric, victim-mask: \"0x6\", credit-mask: none, credit-starvation-threshold: 0, credit-starvation-return-delay: \"0:0\"}"},
		{text: `endpoint: a, control: {cct: "0:0,0:100,0:200,0:300,0:400,0:500,0:600,0:700", sl: 3}`,
			want: `endpoint a: control {cct: "0:0,0:100,0:200,0:300,0:400,0:500,0:600,...", ccti-limit: 7, ccti-increase: 1, ccti-timer: 150, timer-start: idle, ccti-min: 0, trigger-threshold: 0, port-control: qp, sl: 3}`},
		{text: "endpoint: a, control: {ccti-timer: 9}", wrong: "control: endpoint a sends no flow of service level 0"},
		{text: "endpoint: a, control: {sl: 3, ccti-min: 200}", wrong: "control.ccti-min: flow x: the least CCTI is 200, and the limit 127"},
		{text: "endpoint: a, marking: {threshold: 9}", wrong: "marking changes a switch"},
	} {
		then, _, err := resolve.Happen(s, tc.text, 5*unit.Millisecond)
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: %v; want %s", tc.text, err, tc.wrong)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", tc.text, err)
		}
		s = then
		if all := s.Changes(); all[len(all)-1].What != tc.want {
			t.Errorf("%s, want %s", all[len(all)-1].What, tc.want)
		}
	}
	src, err := resolve.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	if again := load(t, string(src)); len(s.Events) != 2 || !slices.Equal(again.Events, s.Events) {
		t.Errorf("got %v, want %v", again.Events, s.Events)
	}
}
