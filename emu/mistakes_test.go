package emu_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
)

// mistakes returns what is wrong with the text of a scenario.
func mistakes(t *testing.T, text string) []scenario.Error {
	t.Helper()
	_, err := resolve.Load("x.yaml", []byte(text), nil, resolve.CheckMetrics(metrics.Checker()))
	if err == nil {
		return nil
	}
	var list *scenario.Errors
	if !errors.As(err, &list) {
		t.Fatalf("%T: %v", err, err)
	}
	return list.List
}

// What follows from a mistake is not reported; each use of a name that does not exist is.
func TestWhatFollowsFromAMistake(t *testing.T) {
	const whole = `name: roce
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pfc}
  switch: {kind: output-queued, memory: 1MB per port, marking: {scheme: ecn, min: 5KB, max: 50KB}}
  flow: {packet: 1024B, transport: rocev2, control: {algorithm: dcqcn}}
switches: {S: {}, T: {}}
endpoints: [a, b, c]
links:
  - a - S
  - {name: trunk, between: S - T}
  - {name: out, between: T - b}
  - c - T
flows:
  - {name: f, from: a, to: b}
  - {name: g, from: c, to: b}
  - {name: h, from: c, to: a}
events:
  - {at: 100us, link: out, rate: 5Gb/s}
  - {at: 200us, link: out, rate: 1Gb/s}
  - {at: 300us, endpoint: c, pause-storm: "on"}
expect:
  - {id: E1, metric: out.T-b.utilisation, during: [0us, 500us], low: 0, high: 1}
  - {id: E2, metric: out.T-b.queue, during: [0us, 500us], low: 0, high: 1e9}
  - {id: E3, metric: g.rate, during: [0us, 500us], low: 0, high: 1e9}
short:
  duration: 600us
  expect:
    - {id: E1, during: [0us, 500us]}
`
	if list := mistakes(t, whole); len(list) > 0 {
		t.Fatal(list)
	}
	for _, c := range []struct {
		was, is string
		want    []string // every message, in order
	}{
		{"  - c - T\n", "", []string{"endpoint c has no link"}},
		{"  - {name: out, between: T - b}\n", "", []string{"endpoint b has no link", `there is no link named "out"`, `there is no link named "out"`}},
		{"  - {name: trunk, between: S - T}\n", "", []string{"flow f has no path", "flow h has no path"}},
		{"flow-control: pfc", "flow-control: pcf", []string{`"pcf" is not one of`}},
		{"flow-control: pfc", "flow-contrl: pfc", []string{`unknown key "flow-contrl" (did you mean "flow-control"?)`}},
		{"rate: 10Gb/s", "rate: 10", []string{`"10" has no unit`}},
		{"rate: 10Gb/s", "rat: 10Gb/s", []string{`unknown key "rat"`}},
		{"  link: {rate: 10Gb/s, flow-control: pfc}", "  links: {rate: 10Gb/s, flow-control: pfc}", []string{`unknown key "links" (did you mean "link"?)`}},
		{"kind: output-queued, ", "", []string{"switch S at its end is input-buffered"}},
		{"kind: output-queued", "kind: output", []string{`"output" is not one of`}},
		{"transport: rocev2", "transport: roce", []string{`"roce" is not one of`}},
		{"name: out", "nme: out", []string{`unknown key "nme"`}},
		{"between: T - b", "betwen: T - b", []string{`unknown key "betwen"`}},
		{"switches: {S: {}, T: {}}", "switches: {S: {}}", []string{`there is no node named "T"`, `there is no node named "T"`, `there is no node named "T"`}},
		{"endpoints: [a, b, c]", "endpoints: [a, b]", []string{`there is no node named "c"`, `there is no endpoint named "c"`, `there is no endpoint named "c"`, `there is no endpoint named "c"`}},
		{"name: out, ", "name: exit, ", []string{`there is no link named "out"`, `there is no link named "out"`,
			`nothing in this fabric is called "out.T-b"`, `nothing in this fabric is called "out.T-b"`}},
		{"name: g", "name: k", []string{`nothing in this fabric is called "g"`}},
		{"metric: g.rate", "metrik: g.rate", []string{`unknown key "metrik"`}},
		{"duration: 1ms", "duration:1ms", []string{"a space is missing"}},
		{"max: 50KB", "max: 50", []string{`"50" has no unit`}},
		{"    - {id: E1,", "    - {id: E9,", []string{`there is no check with the id "E9"`}},
		{"from: c, to: b", "from: c, to: b, window: 3", []string{"a window here is for InfiniBand"}},
		{"marking: {scheme: ecn, min: 5KB, max: 50KB}", "marking: {scheme: ecn, min: 5, max: 50}", []string{`"5" has no unit`, `"50" has no unit`}},
		{"from: a, to: b}\n  - {name: g", "from: x, to: b, start: 1}\n  - {nam: g", []string{`there is no endpoint named "x"`, `"1" has no unit`, `unknown key "nam"`}},
	} {
		list := mistakes(t, strings.Replace(whole, c.was, c.is, 1))
		ok := len(list) == len(c.want)
		for i := 0; ok && i < len(list); i++ {
			ok = strings.Contains(list[i].Message, c.want[i])
		}
		if !ok {
			t.Errorf("%q in place of %q: want %q, got %v", c.is, c.was, c.want, list)
		}
	}
}

// A check that cannot be read is refused, and nothing more is asked of it.
func TestCheckThatWasNotRead(t *testing.T) {
	list := mistakes(t, `name: m
model: {duration: 2ms}
defaults: {link: {rate: 1GB/s}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, b - S]
flows: [{name: f, from: a, to: b}]
expect: [{<<: {}, id: x, metric: f.rate, during: [1ms, 2ms], low: 0, high: 1}]
`)
	if len(list) != 1 || !strings.Contains(list[0].Message, "merge keys") {
		t.Error(list)
	}
}

// A key that is misspelt is all that is wrong with a scenario, whichever it is.
func TestModelMisspeltKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	key := regexp.MustCompile(`[a-z][a-z-]+(: |:\n)`)
	for _, name := range []string{"hpl2002/fig3b", "ethernet/leaf-spine", "e2cm/hotspot", "roce/ecn", "qcn/basic", "guest/mixed"} {
		src, err := builtin.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(src)
		for _, at := range key.FindAllStringIndex(text, -1) {
			line := text[strings.LastIndexByte(text[:at[0]], '\n')+1 : at[1]]
			if strings.ContainsAny(line, `"#'`) || strings.HasPrefix(line, "switches: {") && at[0] > strings.Index(text, line)+8 { // words and names of people
				continue
			}
			colon := at[0] + strings.IndexByte(text[at[0]:at[1]], ':')
			list := mistakes(t, text[:colon]+"x"+text[colon:])
			if len(list) != 1 || !strings.Contains(list[0].Message, "unknown key") {
				t.Errorf("%s, %sx: %v", name, text[at[0]:colon], list)
			}
		}
	}
}

// A file that is far too long, here of a terabyte without blocks, is refused before it is read.
func TestHugeScenario(t *testing.T) {
	name := filepath.Join(t.TempDir(), "huge.yaml")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skip(err)
	}
	if _, err := emu.Open(name); err == nil || !strings.Contains(err.Error(), "at most 16777216 are read") {
		t.Error(err)
	}
}
