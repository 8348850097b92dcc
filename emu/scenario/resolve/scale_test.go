package resolve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// Each form in which a rate or a time can be given, and each place where a default is missing.
// tenth is the same at a tenth of the rate, written by hand.
const unscaled = `# of Ängström's lab
name: forms   # the name
model:
  duration: 10ms
wall: {dilation: 20}
defaults:
  link:
    rate: 10Gb/s # of all
    flow-control: pfc
  flow: {packet: 1500B, control: {algorithm: qcn, hyper-increase: "40Mb/s"}}
switches:
  S: {kind: output-queued, marking: {scheme: qcn, octets: 14}}
endpoints: ["a[1-2]", {name: b, service: unlimited}, c]
links:
  - "a[1-2] - S"
  - {name: out, between: S - b, rate: 1GB/s, propagation: 2us}
  - between: S - c
flows:
  - {name: two, from: "a[1-2]", to: b, start: "1us + 500ns", stop: end, limiter: {kind: token-bucket, rate: 1Gb/s, depth: 3KB}}
  - name: stream
    from: c
    to: b
    control: {algorithm: fixed}
    transport: tcp
    traffic: poisson
    load: 0.5
events:
  - {at: 4ms, link: out, rate: 0.5GB/s}
expect:
  - {id: x, metric: two.rate, during: [1ms, 2ms], low: 1000, high: 2e9}
  - {id: y, metric: two.rate / stream.rate, during: [1ms, 2ms], low: 0, high: 2}
short: {duration: 1ms, dilation: 7, expect: [{id: x, during: [0s, 1ms]}, {id: y, during: [0s, 1ms]}], events: []}
`

const tenth = `# of Ängström's lab
name: forms-scaled   # the name
model:
  duration: 100ms
wall: {dilation: 1}
defaults:
  switch: {forwarding-delay: 400ns}
  link:
    propagation: 10ns
    rate: 1Gb/s # of all
    flow-control: pfc
  flow: {packet: 1500B, control: {timer: 150ms, active-increase: 500kb/s, min-rate: 500kb/s, algorithm: qcn, hyper-increase: "4Mb/s"}}
switches:
  S: {kind: output-queued, marking: {scheme: qcn, octets: 14}}
endpoints: ["a[1-2]", {name: b, service: unlimited}, c]
links:
  - "a[1-2] - S"
  - {name: out, between: S - b, rate: 100MB/s, propagation: 20us}
  - between: S - c
flows:
  - {name: two, from: "a[1-2]", to: b, start: "10us + 5us", stop: end, limiter: {kind: token-bucket, rate: 100Mb/s, depth: 3KB}}
  - name: stream
    from: c
    to: b
    control: {algorithm: fixed}
    transport: {kind: tcp, delayed-ack: 400ms, initial-rto: 10s, min-rto: 10s, max-rto: 600s}
    traffic: poisson
    load: 0.5
events:
  - {at: 40ms, link: out, rate: 50MB/s}
expect:
  - {id: x, metric: two.rate, during: [10ms, 20ms], low: 100, high: 200000000}
  - {id: y, metric: two.rate / stream.rate, during: [10ms, 20ms], low: 0, high: 2}
short: {duration: 10ms, dilation: 1, expect: [{id: x, during: [0s, 10ms]}, {id: y, during: [0s, 10ms]}], events: []}
`

// timeOf knows the metrics of these scenarios.
func timeOf(metric string) int {
	if strings.HasSuffix(metric, ".rate") && !strings.Contains(metric, " / ") {
		return -1
	}
	return 0
}

// loadForms reads a scenario.
func loadForms(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := resolve.Load("forms.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScale(t *testing.T) {
	first := loadForms(t, unscaled)
	x, err := resolve.Scale(first, 1e9, nil, timeOf)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(printed(t, loadForms(t, tenth)), string(x.Text)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if x.Num != 1 || x.Den != 10 || len(x.Left) != 0 || x.Name != "forms-scaled" {
		t.Errorf("%s, %d/%d, not in proportion: %q", x.Name, x.Num, x.Den, x.Left)
	}
	// There and back again the scenario is what it was, but for its name and its dilation.
	back, err := resolve.Scale(x.Scenario, 10e9, nil, timeOf)
	if err != nil {
		t.Fatal(err)
	}
	back.Name, back.Wall.Dilation = first.Name, first.Wall.Dilation
	if d := cmp.Diff(printed(t, first), printed(t, back.Scenario)); d != "" {
		t.Errorf("there and back (-want +got):\n%s", d)
	}
}

func printed(t *testing.T, s *scenario.Scenario) string {
	b, err := resolve.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is rounded is said, and what has no value in proportion is refused.
func TestScaleSaysWhatItCannot(t *testing.T) {
	for _, c := range []struct {
		rate    unit.Rate
		change  [2]string
		left    string // what is said
		refused string
	}{
		{3e9, [2]string{}, "model.duration is rounded to 33.333333333ms", ""},
		{1e9, [2]string{"out, rate: 0.5GB/s", "out, rate: 4000000007b/s"}, "events[0].rate is rounded to 400.000001Mb/s", ""},
		{1e9, [2]string{"events:", "programs: []\nevents:"}, "", ""},
		{1, [2]string{}, "", "flows.two.a1.rate-limit: 1Gb/s: it has no rate in proportion"},
		{1, [2]string{}, "", " more"},
		{0, [2]string{}, "", "a rate of 0b/s: it is above zero"},
		{1, [2]string{}, "", "model.duration: 10ms: it would be longer than 9223372.036854775807s"},
		{1e18, [2]string{}, "", "makes a scenario that is not right:\n"},
	} {
		x, err := resolve.Scale(loadForms(t, strings.Replace(unscaled, c.change[0], c.change[1], 1)), c.rate, nil, timeOf)
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v, %q: error %v, want %q", c.rate, c.change[1], err, c.refused)
			}
		case err != nil:
			t.Errorf("%v, %q: %v", c.rate, c.change[1], err)
		case !strings.Contains(strings.Join(x.Left, "\n"), c.left):
			t.Errorf("%v, %q: not in proportion: %q, want %q", c.rate, c.change[1], x.Left, c.left)
		}
	}
}
