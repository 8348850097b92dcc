package emu

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/program"
	"fabemu/emu/scenario"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// halver is the algorithm of the scripts here: a marked ACK, or a CNP, halves its rate, which is a
// quarter of the line's at least, and a deadline of a millisecond gives it all back.
type halver struct {
	rate, line unit.Rate
	due        unit.Time
}

func (h *halver) Sent(unit.Time, unit.Size) {}
func (h *halver) Feedback(now unit.Time, f wire.Frame) {
	if f.Kind == wire.Ack && f.BECN || f.Kind == wire.CNP {
		h.rate, h.due = max(h.rate/2, h.line/4), now.Add(unit.Millisecond)
	}
}
func (h *halver) Advance(now unit.Time) {
	if h.due <= now {
		h.rate, h.due = h.line, unit.Never
	}
}
func (h *halver) Rate() unit.Rate     { return h.rate }
func (h *halver) Deadline() unit.Time { return h.due }

// halverScript is the same in sh, for one flow, or for several with their numbers in the names of
// variables. It ends badly where fifty flows or more have not ended.
const halverScript = `#!/bin/sh
while read -r w a b c; do
	f=
	case $w in flow) f=$a; set -- $b $c; w=$1; a=$2; b=$3; c=" $4 $5 $6 $7 " ;; *) c=" $c " ;; esac
	case $w in
	hello) open=$((open + 1)); eval "line$f=$b rate$f=$b due$f=never"; echo algorithm $b never halver; continue ;;
	end) open=$((open - 1)); echo ok; continue ;;
	feedback)
		case "$b$c" in ack*" marked=1 "* | cnp*)
			eval "rate=\$rate$f line=\$line$f"
			rate=$((rate / 2)); [ $rate -ge $((line / 4)) ] || rate=$((line / 4))
			eval "rate$f=$rate due$f=$((a + 1000000000))" ;;
		esac ;;
	advance) eval "rate$f=\$line$f due$f=never" ;;
	esac
	eval "echo \$rate$f \$due$f"
done
[ $open -lt 50 ]
`

// script writes an executable file and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "algorithm")
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// executed returns a short incast whose flows have an algorithm in a program.
func executed(t *testing.T, path string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := Open("../docs/examples/exec.yaml", runtest.Sets(t, append([]string{"model.duration=1ms", "wall.dilation=2000",
		"defaults.flow.control.program=" + path}, sets...)...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An algorithm in a program gives the run that the same algorithm gives in this one: with a process
// for each flow, with one for all, without the questions about starts, and on the wall clock.
func TestAlgorithmInAProgram(t *testing.T) {
	path := script(t, halverScript)
	run := func(t *testing.T, s *scenario.Scenario, o Options) (string, *Result) {
		t.Helper()
		var log bytes.Buffer
		o.Events, o.Digest, o.Verify = &log, true, VerifyOn
		r, err := Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		return log.String(), r
	}
	virtual := Settings{Clock: VirtualClock}
	want, twin := run(t, executed(t, path), Options{Settings: virtual, Schemes: Schemes{
		Reaction: func(_ *Flow, line unit.Rate) rp.Reaction {
			return rp.Reaction{Controller: &halver{rate: line, line: line, due: unit.Never}}
		}}})
	if twin.Questions != nil {
		t.Errorf("the algorithm of the calling program has asked %d questions", twin.Questions.Count)
	}
	least := int64(0)
	for _, tc := range []struct {
		name string
		set  Settings
		sets []string
	}{
		{"without starts", virtual, []string{"defaults.flow.control.starts=false"}},
		{"each", virtual, nil},
		{"one", virtual, []string{"defaults.flow.control.process=shared"}},
		{"codec", Settings{Clock: VirtualClock, Codec: true}, nil},
		{"wall", Settings{Link: Pipe}, []string{"defaults.flow.control.process=shared"}},
		{"actual", Settings{Link: Pipe, Timing: ActualTiming}, []string{"defaults.flow.control.process=shared"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log, r := run(t, executed(t, path, tc.sets...), Options{Settings: tc.set})
			if tc.set.Timing != ActualTiming && log != want {
				t.Errorf("the event log differs from that of the algorithm in Go")
			}
			if tc.set.Clock != VirtualClock && r.Verdict.Verify != "equal" {
				t.Errorf("the repetition on the virtual clock: %q", r.Verdict.Verify)
			}
			if r.Questions == nil || r.Questions.Count <= least || r.Questions.Seconds <= 0 {
				t.Errorf("questions: %+v; want more than %d", r.Questions, least)
			} else if tc.name == "without starts" {
				least = r.Questions.Count // the others ask more
			}
			if len(r.Warnings) != len(twin.Warnings)-1 { // the twin's reaction points are given by the calling program
				t.Errorf("warnings: %q, and of the twin %q", r.Warnings, twin.Warnings)
			}
		})
	}
}

// Transfers of a workload come and go in one process, which is told of their ends.
func TestAlgorithmOfAWorkload(t *testing.T) {
	const text = `
name: work
model: {duration: 2ms}
defaults:
  link: {rate: 10Gb/s, buffer: 4 packets}
  switch: {marking: {scheme: input-output, threshold: 6}}
  flow: {packet: 2048B, control: {algorithm: exec, program: PATH, process: shared}}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
workload: [{name: w, over: "h[1-4]", size: 8KB, load: 0.7}]
`
	s := runtest.Load(t, strings.ReplaceAll(text, "PATH", script(t, halverScript)))
	run := func(own Schemes) *Result {
		t.Helper()
		r, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}, Schemes: own, Digest: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	made := 0
	twin := run(Schemes{Reaction: func(_ *Flow, line unit.Rate) rp.Reaction {
		made++
		return rp.Reaction{Controller: &halver{rate: line, line: line, due: unit.Never}}
	}})
	if r := run(Schemes{}); r.Digest != twin.Digest || made < 100 {
		t.Errorf("the digest is %s, of the twin %s, with %d reaction points", r.Digest, twin.Digest, made)
	}
}

// Destinations answer marked packets of RoCEv2 by CNPs where the program needs them.
func TestAlgorithmWithCNPs(t *testing.T) {
	const text = `
name: cnps
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pause}
  switch: {kind: output-queued, memory: 1MB, marking: {scheme: ecn, min: 5KB, max: 10KB}}
  flow: {transport: rocev2, control: {algorithm: exec, program: PATH, feedback: cnps}}
switches: {S: {}}
endpoints: ["h[1-3]"]
links: ["h[1-3] - S"]
flows: [{name: f, from: "h[1-2]", to: h3}]
`
	s := runtest.Load(t, strings.ReplaceAll(text, "PATH", script(t, halverScript)))
	run := func(own Schemes) (told string) {
		t.Helper()
		var b bytes.Buffer
		if _, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}, Schemes: own,
			Recordings: map[string]io.Writer{"f.h1": &b}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := run(Schemes{Reaction: func(_ *Flow, line unit.Rate) rp.Reaction {
		return rp.Reaction{Controller: &halver{rate: line, line: line, due: unit.Never}}
	}})
	if got := run(Schemes{}); got != want {
		t.Errorf("the recording is\n%s\nand of the twin\n%s", got, want)
	}
	if n := strings.Count(want, " feedback cnp "); n < 2 || n > 20 {
		t.Errorf("%d CNPs came to a source in a millisecond, and one in 50us may", n)
	}
}

// A program that dies, answers wrongly, is a limiter or does not start ends the run, with its line.
func TestAlgorithmThatFails(t *testing.T) {
	const hello = "#!/bin/sh\nread x; echo algorithm 1000000000 never mine\n"
	const begins = "algorithm algorithm of flow incast.sender1: "
	for _, tc := range []struct {
		name, script, want string
		result             bool
		sets               []string
	}{
		{"dies", hello + "read x; exit 3", "does not answer any more: exit status 3; the last line to it was", true, nil},
		{"answers wrongly", hello + "while read x; do echo fast; done", `answers with something else than "RATE DEADLINE"; its line is "fast"`, true, nil},
		{"asks for the past", hello + "while read x; do echo 1000 1; done", `gives a deadline that is not after the instant that it was sent; its line is "1000 1"`, true, nil},
		{"ends badly", hello + "while read x; do echo 1000000000 never; done; exit 5", "has ended: exit status 5", true, nil},
		{"a limiter", "#!/bin/sh\nread x; echo limiter 3000 mine\nread x", `its line is "limiter 3000 mine"`, false, nil},
		{"no interpreter", "#!/nowhere\n", "no such file or directory", false, nil},
		{"one for all", hello + "while read x; do echo fast; done", `its line is "fast"`, false, []string{"defaults.flow.control.process=shared"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := executed(t, script(t, tc.script), tc.sets...)
			t.Parallel() // from here on programs are started, which would hold a file that is being written
			r, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}})
			begins := begins
			if tc.sets != nil {
				begins = "algorithm algorithm of the flows: "
			}
			if !errors.As(err, new(*program.Failed)) || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), begins) {
				t.Fatalf("%v; want %q", err, tc.want)
			}
			if (r != nil) != tc.result {
				t.Errorf("the result: %v, want one: %v", r != nil, tc.result)
			}
			if r != nil && r.Verdict.Level.Strict() {
				t.Errorf("the verdict is %s: %s", r.Verdict.Level, r.Verdict.Reason)
			}
		})
	}
}

// TestHPCCInPython: a program with telemetry and a window does what the algorithm of this program
// does: both logs are the same, with a process for each flow and with one for all.
func TestHPCCInPython(t *testing.T) {
	runtest.NeedTools(t, "python3")
	run := func(sets ...string) (string, *Result) {
		t.Helper()
		return programLog(t, "testdata/telemetry.yaml", sets...)
	}
	want, _ := run("defaults.flow.control.algorithm=hpcc", "defaults.flow.control.exact=true", "defaults.flow.control.base-rtt=2us")
	exec := []string{"defaults.flow.control.algorithm=exec", "defaults.flow.control.program=../docs/examples/hpcc.py",
		"defaults.flow.control.arguments=2000000", "defaults.flow.control.feedback=telemetry"}
	for _, process := range []string{"per-flow", "shared"} {
		got, r := run(append(exec, "defaults.flow.control.process="+process)...)
		if got != want {
			t.Errorf("%s: logs of %d bytes here and %d in Python differ", process, len(want), len(got))
		}
		if r.Questions == nil || r.Questions.Count < 1000 {
			t.Errorf("%s: %+v questions", process, r.Questions)
		}
	}
	if n := strings.Count(want, "rate"); n < 100 {
		t.Errorf("the rate changes %d times", n)
	}
}

// programLog returns the log and the result of a scenario with changes, on the virtual clock.
func programLog(t *testing.T, scenario string, sets ...string) (string, *Result) {
	t.Helper()
	s, err := Open(scenario, runtest.Sets(t, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}, Events: &log})
	if err != nil {
		t.Fatal(err)
	}
	return log.String(), r
}

// TestNSCCInPython: a program with UET hears of each trimmed packet and each timeout, and does what
// the algorithm of this program does.
func TestNSCCInPython(t *testing.T) {
	runtest.NeedTools(t, "python3")
	losses := map[string]int{"trimmed": 50, "timeout": 5}
	for _, sets := range [][]string{nil, {"defaults.switch.trim=none"}, {"defaults.switch.marking.scheme=ecn", "defaults.switch.marking.min=4KB", "defaults.switch.marking.max=16KB"}} {
		sets = append(sets, "model.duration=1ms", "defaults.flow.transport.window=none")
		want, _ := programLog(t, "uet/trimming", append(sets, "defaults.flow.control.algorithm=nscc", "defaults.flow.control.base-rtt=5us")...)
		got, r := programLog(t, "uet/trimming", append(sets, "defaults.flow.control.algorithm=exec", "defaults.flow.control.program=../docs/examples/nscc.py",
			"defaults.flow.control.arguments=5000000 4076", "defaults.flow.control.feedback=delays", "defaults.flow.control.process=shared")...)
		if got != want {
			t.Errorf("%q: logs of %d bytes here and %d in Python differ: %s", sets, len(want), len(got), runtest.FirstDifference(want, got))
		}
		if r.Questions == nil || r.Questions.Count < 500 {
			t.Errorf("%q: %+v questions", sets, r.Questions)
		}
		losses["trimmed"] -= strings.Count(want, `"reason":"trimmed"`)
		losses["timeout"] -= strings.Count(want, `"event":"timeout"`)
	}
	for what, lack := range losses {
		if lack > 0 {
			t.Errorf("%d more of %s would be enough", lack, what)
		}
	}
}

// TestSwiftInPython: a program that measures delays and has a window does what the algorithm of
// this program does, with windows below a packet and losses, too.
func TestSwiftInPython(t *testing.T) {
	runtest.NeedTools(t, "python3")
	want, _ := programLog(t, "testdata/swift.yaml", "defaults.flow.control.algorithm=swift")
	got, r := programLog(t, "testdata/swift.yaml", "defaults.flow.control.algorithm=exec", "defaults.flow.control.program=../docs/examples/swift.py",
		"defaults.flow.control.arguments=2", "defaults.flow.control.feedback=delays", "defaults.flow.control.process=shared")
	if got != want {
		t.Errorf("logs of %d bytes here and %d in Python differ", len(want), len(got))
	}
	if r.Questions == nil || r.Questions.Count < 1000 {
		t.Errorf("%+v questions", r.Questions)
	}
	small := 0
	for _, m := range regexp.MustCompile(`"cwnd":(\d+)`).FindAllStringSubmatch(want, -1) {
		if n, _ := strconv.Atoi(m[1]); n < 1000 {
			small++
		}
	}
	if lost := strings.Count(want, `"event":"timeout"`); lost < 10 || small < 10 {
		t.Errorf("%d timeouts and %d windows below a packet: the scenario does not try them", lost, small)
	}
}
