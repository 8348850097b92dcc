package limiters

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/run/feedback"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters/bench"
)

// recording runs an example and returns what a flow was told.
func recording(t *testing.T) *feedback.Recording {
	t.Helper()
	s, err := emu.Open("../../../docs/examples/incast.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Recordings: map[string]io.Writer{"incast.sender1": &b}}); err != nil {
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
		if e.Frame.Kind == 0 {
			want = append(want, bench.Step{At: e.At, Rate: e.Rate})
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
