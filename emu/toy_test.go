package emu_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu"
	"fabemu/emu/result/compare"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/scenario/schema"
	"fabemu/emu/study/papers"
	"fabemu/node/rp"
)

// toyTables are those of the program and the two rows of the toy: a notifier that answers
// each hundredth frame (toy_point_test.go), and an algorithm that halves (toy_algorithm_test.go).
func toyTables() scenario.Schemes {
	t := scenario.BuiltIn()
	t.Algorithms, t.Points = append(t.Algorithms, halveAlgorithm()), append(t.Points, everyPoint())
	return t
}

const toy = `
name: toy
model: {duration: 5ms}
wall: {dilation: 50}
defaults:
  link: {rate: 1Gb/s, flow-control: pause}
  switch: {kind: output-queued, memory: 300KB, forwarding-delay: 1us, marking: {scheme: every, each: 50}}
  flow: {packet: 1500B, control: {algorithm: halve, lowest: 20Mb/s}}
switches: {s: {}}
endpoints: [a, b, c]
links: ["a - s", "b - s", {name: root, between: s - c}]
flows:
  - {name: x, from: a, to: c}
  - {name: y, from: b, to: c}
expect:
  - {id: told, claim: messages come, metric: x.notifications, during: [0us, 5ms], low: 1, high: 1000}
`

func runToy(t *testing.T, o emu.Options, sets ...scenario.Set) (*emu.Result, string, string) {
	t.Helper()
	s, err := resolve.Load("toy.yaml", []byte(toy), sets, resolve.WithSchemes(toyTables()))
	if err != nil {
		t.Fatal(err)
	}
	return runOf(t, s, o)
}

// runOf runs a scenario, and returns its result, its event log and the folder of its files.
func runOf(t *testing.T, s *scenario.Scenario, o emu.Options) (*emu.Result, string, string) {
	t.Helper()
	var events bytes.Buffer
	o.Events = &events
	r, err := emu.Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, report.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	log := report.NewFile(file)
	_, err = log.Write(events.Bytes())
	if err := errors.Join(err, r.Record(log), r.Write(dir, summary.Pictures)); err != nil {
		t.Fatal(err)
	}
	return r, events.String(), dir
}

// A scheme is two files and two rows: its own code runs from YAML on both
// clocks, and is in the event log and in what compares two runs.
func TestASchemeIsTwoFilesAndTwoRows(t *testing.T) {
	r, events, dir := runToy(t, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}, Digest: true})
	wall, _, _ := runToy(t, emu.Options{Settings: emu.Settings{Clock: emu.WallClock, Link: emu.Pipe}, Verify: emu.VerifyOn})
	if wall.Digest != r.Digest || wall.Verdict.Verify == "differs" {
		t.Errorf("on the wall clock the digest is %s, on the virtual clock %s", wall.Digest, r.Digest)
	}
	for _, want := range []string{
		`"event":"message","port":"s-a","flow":"x","psn":0,"value":`,    // of the congestion point
		`"event":"message","port":"a-s","flow":"x","psn":1,"value":`,    // a probe
		`"event":"message","port":"root.c-s","flow":"x","psn":2,"value`, // its echo
		`"event":"feedback","flow":"x","psn":2,`,
		`"frame":"message"`,
	} {
		if !strings.Contains(events, want) {
			t.Errorf("the event log has no %s", want)
		}
	}
	if told := float64(r.Checks[0].Value); told < 30 || told > 100 {
		t.Errorf("the source of x took in %v messages", told)
	}
	slow, _, other := runToy(t, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}, scenario.Set{Path: "defaults.switch.marking.each", Value: "5"})
	if slow.Flows[0].Bytes*2 > r.Flows[0].Bytes {
		t.Errorf("%d bytes with ten times the messages, %d without: they halve nothing", slow.Flows[0].Bytes, r.Flows[0].Bytes)
	}
	c, err := compare.Dirs(dir, other)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(c.OnlyB, "\n"), "each: 5}") || c.Log.State != compare.LogsPart {
		t.Errorf("compare has %q of the second alone, and the logs are %s", c.OnlyB, c.Log.State)
	}
}

// The language of a scenario has the parameters of the toy: the schema, the reference, and
// what is wrong with a value.
func TestTheLanguageHasTheScheme(t *testing.T) {
	language := scenario.LanguageOf(toyTables())
	for name, text := range map[string]string{"schema": string(schema.JSON(language)), "reference": schema.Markdown(language, toyTables().Algorithms, toyTables().Points)} {
		for _, want := range []string{"halve", "every", "The source of each so-manieth frame is told.", "Between two probes", "10Mb/s"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s does not say %q", name, want)
			}
		}
	}
	for _, c := range []struct{ path, value, want string }{
		{"defaults.switch.marking.each", "0", "each"},
		{"defaults.flow.control.probe", "none", "probe"},
		{"defaults.flow.control.algorithm", "halved", `did you mean "halve"`},
	} {
		_, err := resolve.Load("toy.yaml", []byte(toy), []scenario.Set{{Path: c.path, Value: c.value}}, resolve.WithSchemes(toyTables()))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.path, c.value, err, c.want)
		}
	}
}

// The processes of a placement know the schemes of fabemu alone.
func TestSchemesOfAProgramStayInItsProcess(t *testing.T) {
	s, err := resolve.Load("toy.yaml", []byte(toy), nil, resolve.WithSchemes(toyTables()))
	if err != nil {
		t.Fatal(err)
	}
	var mistake *emu.Mistake
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Placement: emu.InProcesses}}); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "require placement goroutine") {
		t.Errorf("in processes: %v", err)
	}
}

// What answers a flow has no frames on InfiniBand: a scenario says so, where it says it.
func TestAnswersAreOfEthernet(t *testing.T) {
	tables := toyTables()
	for i := range tables.Algorithms {
		if l := &tables.Algorithms[i]; l.Name == "halve" {
			l.Feedback = rp.Nothing
		}
	}
	text := "name: x\nmodel: {duration: 1ms}\nendpoints: [a, b]\ndefaults: {link: {rate: 1GB/s}}\nlinks: [a - b]\nflows: [{name: x, from: a, to: b, control: {algorithm: halve}}]\n"
	_, err := resolve.Load("x.yaml", []byte(text), nil, resolve.WithSchemes(tables))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:6:56: flows.x.control.algorithm: halve needs answers from the receiver") {
		t.Errorf("an algorithm that is answered, on InfiniBand: %v", err)
	}
}

// A scheme is on the bench by being in the tables.
func TestModelTheBenchHasTheScheme(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	tables := toyTables()
	tables.Algorithms = slices.DeleteFunc(tables.Algorithms, func(l rp.Algorithm) bool { return l.Name != "fixed" && l.Name != "halve" })
	p := papers.CompareSchemes(tables)
	i := slices.IndexFunc(p.Figures, func(f papers.Figure) bool { return f.Name == "transfers" })
	r, err := papers.Do(context.Background(), p, []*papers.Figure{&p.Figures[i]}, papers.Options{Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range r.Figures[0].Matrix.Rows {
		names = append(names, row.Kind+": "+row.Name)
		if row.Name != "halve" {
			continue
		}
		if utilisation, feedback := row.Cells[0].Value, row.Cells[len(row.Cells)-1].Value; !(utilisation > 0.1) || !(feedback > 0.5) {
			t.Errorf("under the toy the link is full to %v, and there are %v messages to a megabyte", utilisation, feedback)
		}
		if !strings.Contains(row.Command, "--set defaults.switch.marking.scheme=every --set defaults.switch.marking.each=50 --set defaults.flow.control.algorithm=halve") {
			t.Errorf("its command is %s", row.Command)
		}
	}
	if diff := cmp.Diff([]string{"InfiniBand: none", "Ethernet: none", "Ethernet: dctcp", "Ethernet: halve"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
