package dump_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/capture/dump"
)

// Captures of runs of both families, cut to headers, prove that credit and pauses
// are kept and that nothing is missing but what is dropped, or goes another way.
func TestModelRunsAreProvedRight(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, c := range []struct {
		name, duration string // or that links have a response
		shows          dump.Kind
		drops          bool
	}{
		{"hpl2002/fig3b", "2ms", dump.Credit, false},
		{"hpl2002/fig2", "2ms", dump.Credit, false},
		{"infiniband/lash-ring", "", dump.Credit, false},
		{"ethernet/pause-hol", "", dump.PauseKept, false},
		{"ethernet/pfc-hol", "", dump.PauseKept, false},
		{"ethernet/pfc-hol", "response", dump.PauseKept, false},
		{"ethernet/incast-drops", "", dump.Sequence, true},
		{"ethernet/failover", "", dump.Sequence, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sets []scenario.Set
			switch c.duration {
			case "":
			case "response":
				sets = append(sets, set(t, "defaults.link.response=67 quanta"))
			default:
				sets = append(sets, set(t, "model.duration="+c.duration), set(t, "flows.victim.start=1ms"), set(t, "flows.victim.stop=2ms"))
			}
			s, err := emu.Open(c.name, sets...)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			prove := func(both bool) *dump.Summary {
				var b bytes.Buffer
				if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &b, Snap: 64, Both: both}}); err != nil {
					t.Fatal(err)
				}
				out.Reset()
				sum, err := dump.Dump(&out, dump.Options{Check: true, Quiet: true}, &b)
				if err != nil {
					t.Fatal(err)
				}
				return sum
			}
			twice, sum := prove(true), prove(false)
			if once := sum.Packets; !c.drops && (once*2 < twice.Packets || once*2 > twice.Packets*11/10) {
				t.Errorf("%d records of each frame once, %d of both ends", once, twice.Packets)
			}
			// But for the FCTBS of flow control packets, the same is proved.
			if k := dump.PauseKept; sum.Checked[k] != twice.Checked[k] || sum.Checked[dump.Credit] < twice.Checked[dump.Credit]-sum.Gaps[dump.NoTally] || sum.Gaps[dump.NoCredit] > 0 {
				t.Errorf("%v and %v, of both ends %v", sum.Checked, sum.Gaps, twice.Checked)
			}
			if sum.Checked[c.shows] < 100 {
				t.Errorf("%d of %s", sum.Checked[c.shows], c.shows)
			}
			if dropped := sum.Gaps[dump.Dropped] > 0; dropped != c.drops || dropped != (twice.Gaps[dump.Dropped] > 0) || sum.Problems()+twice.Problems() > 0 {
				t.Errorf("%v %v, %v %v\n%.2000s", sum.Found, sum.Gaps, twice.Found, twice.Gaps, out.String())
			}
		})
	}
}

// The lines of packets have their virtual lane and their service level.
func TestLanesAreShown(t *testing.T) {
	s, err := emu.Open("infiniband/vl-arbitration", set(t, "model.duration=100us"), set(t, "flows.three.ack-sl=6"), set(t, "flows.high.start=0us"))
	if err != nil {
		t.Fatal(err)
	}
	var b, out bytes.Buffer
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &b}}); err != nil {
		t.Fatal(err)
	}
	if _, err := dump.Dump(&out, dump.Options{}, &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"data flow=one psn=0 lane=0 src=h1 dst=sink", "data flow=three psn=0 lane=1 src=h2 dst=sink sl=1", "data flow=high psn=0 lane=2 src=h3 dst=sink sl=2",
		"ack flow=one psn=0 lane=4 src=sink", "ack flow=three psn=0 lane=2 src=sink dst=h2 sl=6"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line has %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%.2000s", out.String())
	}
}

// A capture also contains what becomes of links and switches: a pause ends with its link,
// credit begins again. Frames dropped with them are missing only if they are not retransmitted.
func TestModelRunsWithEventsAreProvedRight(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const fabric = `
switches: {A: {}, B: {}}
endpoints: ["A[1-3]", "B[1-3]"]
links: ["A[1-3] - A", "B[1-3] - B", {name: trunk, between: A - B}]
flows: [{name: f, from: "A[1-3]", to: "B[1-3]"}]
events:
  - {at: 1ms, switch: A, restart: 300us}
  - {at: 2ms, link: trunk, state: down}
  - {at: 3ms, link: trunk, state: up}
  - {at: 3500us, link: trunk, rate: 2GB/s}
  - {at: 4ms, link: trunk, rate: 0.5GB/s}
`
	for _, c := range []struct {
		name, text string
		shows      dump.Kind
		lost       bool
	}{
		{"infiniband", "name: events\nmodel: {duration: 5ms}\ndefaults: {link: {rate: 1GB/s}, flow: {timeout: 300us, window: 4}}" + fabric, dump.Credit, false},
		{"ethernet", "name: events\nmodel: {duration: 5ms}\ndefaults: {link: {rate: 1GB/s, flow-control: pause}, switch: {kind: output-queued}, flow: {packet: 1500B}}" + fabric, dump.PauseKept, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := resolve.Load(c.name, []byte(c.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			var b, out bytes.Buffer
			if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &b, Snap: 64}}); err != nil {
				t.Fatal(err)
			}
			sum, err := dump.Dump(&out, dump.Options{Check: true}, bytes.NewReader(b.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			// To Wireshark a record without a frame is one whose bytes were not captured.
			tsharkFinds(t, b.Bytes(), map[string]int{"_ws.malformed": 0, "frame.cap_len == 0 && _ws.short": strings.Count(out.String(), "no frame")})
			if sum.Checked[c.shows] < 100 {
				t.Errorf("%d of %s", sum.Checked[c.shows], c.shows)
			}
			if lost := sum.Gaps[dump.Dropped] > 0; lost != c.lost || sum.Problems() > 0 {
				t.Errorf("%v %v", sum.Found, sum.Gaps)
			}
			for _, want := range []string{"event   no frame  # link-down", "event   no frame  # restart", "event   no frame  # rate-change 2GB/s", "# dropped: restarted"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no line has %q", want)
				}
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
