package limiters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/feedback"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// recording runs an example and returns what a flow was told.
func recording(t *testing.T) *feedback.Recording {
	t.Helper()
	return recordingOf(t, "../../../docs/examples/incast.yaml", "incast.sender1")
}

// recordingOf runs a scenario and returns what a flow was told.
func recordingOf(t *testing.T, scenario, flow string, sets ...string) *feedback.Recording {
	t.Helper()
	s, err := emu.Open(scenario, runtest.Sets(t, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Recordings: map[string]io.Writer{flow: &b}}); err != nil {
		t.Fatal(err)
	}
	r, err := feedback.Parse("recording.txt", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A reaction point that hears nothing but ACKs does in the replay what it did in the run; a
// limiter is set to the same rates, and judged; one in another program does as its like in
// this one.
func TestReplay(t *testing.T) {
	ctx, r := context.Background(), recording(t)
	var want []bench.Step
	for _, e := range r.Entries {
		if e.Input.Kind == rp.NoInput {
			want = append(want, bench.Step{At: e.At, Rate: unit.Rate(e.Limit.Value)})
		}
	}
	packets := map[string]int{}
	subjects, err := Named([]string{"lipd", "inter-packet-delay", "fixed"}, true)
	if err != nil {
		t.Fatal(err)
	}
	halves := &program.Program{Command: []string{"sh", "-c", `while read w a b rest; do case "$w" in hello) echo algorithm 5000000000 never half;; *) echo 2500000000 never; esac; done`}}
	for _, s := range append(subjects, InProgram(halves)) {
		result, err := Replay(ctx, r, s, 0, Options{})
		if err != nil || !result.Good() || len(result.Cases) != 1 {
			t.Fatalf("%s: %v, %+v", s.Name, err, result)
		}
		packets[s.Name] = result.Cases[0].Packets
		got := result.Cases[0].trace.c.Rates
		switch s.Name {
		case "lipd", "inter-packet-delay":
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d rates are set, want the %d of the recording", s.Name, len(got), len(want))
			}
		case "half":
			if len(got) != 2 || got[0].Rate != 5e9 || got[1].Rate != 25e8 {
				t.Errorf("half: %v", got)
			}
		}
	}
	if packets["lipd"] < 300 || packets["lipd"] != packets["inter-packet-delay"] || packets["fixed"] < 4*packets["half"]*9/10 {
		t.Errorf("%v", packets)
	}
}

// An algorithm that measures delays, or counts credit, has in a replay the rates, windows and
// credit of the run, and an algorithm in another program, too; others have not.
func TestReplayOfMeasurements(t *testing.T) {
	for _, c := range []struct {
		scenario, flow, algorithm string
		sets                      []string
		limits                    int
		program                   string // its twin in Python
	}{
		{"uet/trimming", "f.S1", "nscc", nil, 200, "nscc.py"},
		{"uet/trimming", "f.S1", "rccc", nil, 500, ""},
		{"uet/trimming", "f.S1", "nscc-rccc", nil, 500, ""},
		{"uet/trimming", "f.S1", "nscc", []string{"defaults.switch.trim=none", "defaults.switch.marking.scheme=ecn", "defaults.switch.marking.min=8KB", "defaults.switch.marking.max=20KB"}, 30, "nscc.py"},
		{"../../testdata/swift.yaml", "f.a1", "swift", nil, 20, ""},
		{"../../testdata/telemetry.yaml", "f.a1", "hpcc", []string{"defaults.flow.control.exact=true"}, 100, ""},
	} {
		r := recordingOf(t, c.scenario, c.flow, append(c.sets, "defaults.flow.control.algorithm="+c.algorithm)...)
		n := 0
		for _, e := range r.Entries {
			if e.Input.Kind == rp.NoInput {
				n++
			}
		}
		if n < c.limits {
			t.Errorf("%s: %d limits: the scenario does not try it", c.algorithm, n)
		}
		subjects, err := Named([]string{c.algorithm, "timely"}, true)
		if err != nil {
			t.Fatal(err)
		}
		if c.program != "" {
			if _, err := exec.LookPath("python3"); err == nil {
				twin := []string{"python3", "../../../docs/examples/" + c.program, fmt.Sprint(int64(r.Trip)), fmt.Sprint(int64(r.Payload))}
				subjects = slices.Insert(subjects, 1, InProgram(&program.Program{Command: twin}))
			}
		}
		for i, s := range subjects {
			result, err := Replay(context.Background(), r, s, 0, Options{})
			if err != nil || len(result.Cases) != 1 {
				t.Fatalf("%s: %v, %+v", s.Name, err, result)
			}
			if same := strings.Contains(result.Cases[0].Said, "its limits changed as recorded"); same != (i < len(subjects)-1) {
				t.Errorf("%s: %s", s.Name, result.Cases[0].Said)
			}
		}
	}
}

// What a program does wrong in a replay is its verdict, and ends the run.
func TestReplayVerdict(t *testing.T) {
	ctx, r := context.Background(), recording(t)
	for script, want := range map[string]string{
		`read x; echo algorithm 1000000000 never mine; read x || exit 0; echo NaN never`: `gives a rate that is not a whole number of bits per second; its line is "NaN never"`,
		`read x; echo algorithm -1 never mine`:                                           "gives a rate that is negative",
		`read x; echo limiter 5 mine; read x || exit 0; echo ok; read x; exit 3`:         "exit status 3",
	} {
		s := InProgram(&program.Program{Command: []string{"sh", "-c", script}})
		result, err := Replay(ctx, r, s, 0, Options{})
		if err != nil || result.Good() || !strings.Contains(result.Verdict, want) {
			t.Errorf("%v, %+v; want %q", err, result, want)
		}
	}
	_, err := Named([]string{"qcm"}, true)
	var m *errs.Mistake
	if !errors.As(err, &m) || !strings.Contains(err.Error(), `there is no limiter "qcm" (did you mean "qcn"?): there are inter-packet-delay, token-bucket, fixed, `) {
		t.Errorf("%v", err)
	}
}
