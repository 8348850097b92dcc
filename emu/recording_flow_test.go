package emu_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/run/feedback"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// A recording of a reaction point that changes with ACKs only makes another one set the same rates
// at the same instants, and both clocks record the same.
func TestModelRecordingMakesTheSameRates(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	text := map[emu.Clock]string{}
	for _, o := range []emu.Options{
		{Settings: emu.Settings{Clock: emu.VirtualClock}},
		{Settings: emu.Settings{Clock: emu.WallClock, Link: emu.Pipe}, Verify: emu.VerifyOn},
	} {
		s, err := emu.Open("../docs/examples/incast.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s.Wall.Dilation = 20
		var b bytes.Buffer
		o.Recordings = map[string]io.Writer{"incast.sender3": &b}
		if _, err := emu.Run(context.Background(), s, o); err != nil {
			t.Fatal(err)
		}
		text[o.Clock] = b.String()
		r, err := feedback.Parse("recording.txt", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if r.Algorithm != "lipd" || r.Line != 1e10 || r.Packet != 2068 || r.End != unit.Time(s.Model.Duration) {
			t.Errorf("%+v", r.Head)
		}
		algorithm := s.Algorithm(&s.Flows[2])
		c, err := algorithm.New(s.Flows[2].Control.Params, rp.Site{Line: r.Line, Length: r.Packet, Random: unit.NewRandom(1, 1)})
		if err != nil {
			t.Fatal(err)
		}
		rates := 0
		for _, e := range r.Entries {
			if e.Input.Kind != rp.NoInput {
				c.Take(e.At, &e.Input)
				continue
			}
			if want := int64(c.Rate()); e.Limit.Value != want {
				t.Fatalf("at %v the rate is %v, and another algorithm of the kind has %v", e.At, e.Limit.Value, want)
			}
			rates++
		}
		if rates < 50 {
			t.Errorf("%d rates", rates)
		}
	}
	if text[emu.WallClock] != text[emu.VirtualClock] {
		t.Error("on the wall clock the recording differs")
	}
}

// A flow that does not exist, or has no feedback of its own, is refused.
func TestRecordingMistakes(t *testing.T) {
	for _, tc := range []struct{ scenario, flow, want string }{
		{"../docs/examples/incast.yaml", "incast.sender33", `there is no flow "incast.sender33" (did you mean "incast.sender3"?): there are incast.sender1, `},
		{"qcn/single-limiter", "", "shares its rate limiter (control.shared)"},
	} {
		s, err := emu.Open(tc.scenario)
		if err != nil {
			t.Fatal(err)
		}
		if tc.flow == "" {
			tc.flow = s.Flows[0].Name
		}
		_, err = emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Recordings: map[string]io.Writer{tc.flow: io.Discard}})
		var m *emu.Mistake
		if !errors.As(err, &m) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
	o := emu.Options{Recordings: map[string]io.Writer{"x": io.Discard}, Settings: emu.Settings{Placement: emu.InProcesses}}
	if err := o.Check(); err == nil || !strings.Contains(err.Error(), "placement goroutine") {
		t.Errorf("%v", err)
	}
}
