package dump_test

import (
	"bytes"
	"context"
	"testing"

	"fabemu/emu"
	"fabemu/emu/dump"
	"fabemu/emu/scenario"
)

// Captures of runs of both families, cut to headers, prove that credit and pauses
// are kept and that nothing is missing; where a fabric drops, it shows.
func TestRunsAreProvedRight(t *testing.T) {
	for _, c := range []struct {
		name, duration string
		shows          dump.Kind
		drops          bool
	}{
		{"hpl2002/fig3b", "2ms", dump.Credit, false},
		{"hpl2002/fig2", "2ms", dump.Credit, false},
		{"ethernet/pause-hol", "", dump.PauseKept, false},
		{"ethernet/pfc-hol", "", dump.PauseKept, false},
		{"ethernet/incast-drops", "", dump.Sequence, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sets []scenario.Set
			if c.duration != "" {
				sets = append(sets, set(t, "model.duration="+c.duration), set(t, "flows.victim.start=1ms"), set(t, "flows.victim.stop=2ms"))
			}
			s, err := emu.Open(c.name, sets...)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock, Capture: &emu.Capture{To: &b, Snap: 64}}); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			sum, err := dump.Dump(&out, &b, dump.Options{Check: true, Quiet: true})
			if err != nil {
				t.Fatal(err)
			}
			if sum.Checked[c.shows] < 100 {
				t.Errorf("%d of %s", sum.Checked[c.shows], c.shows)
			}
			if dropped := sum.Found[dump.Sequence] > 0; dropped != c.drops || sum.Problems() != sum.Found[dump.Sequence] {
				t.Errorf("%v\n%.2000s", sum.Found, out.String())
			}
		})
	}
}

func set(t *testing.T, text string) scenario.Set {
	t.Helper()
	s, err := scenario.ParseSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
