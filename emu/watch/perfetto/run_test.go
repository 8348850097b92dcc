package perfetto_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// starts counts the frames of a run that begin on a link, and keeps the ways of those of a
// flow: the nodes in their order, by packet.
type starts struct {
	flow uint32
	n    int
	ways map[uint32][]int32
}

func (s *starts) Record(e *trace.Event) {
	if e.Kind != trace.Start {
		return
	}
	s.n++
	if kind, _, _ := trace.FrameOf(e.A); kind == wire.Data && e.Flow == s.flow {
		s.ways[e.PSN] = append(s.ways[e.PSN], e.Node)
	}
}

// TestTracesOfRuns holds traces to what any viewer relies on: the slices of a track follow one
// another, and each has an end; and to the run: each frame on a link is there once, and the
// arrows of a packet lead along its way.
func TestTracesOfRuns(t *testing.T) {
	for _, c := range []struct {
		name, scenario, follow, waits string
		options                       emu.Options
		sets                          []string
	}{
		{"InfiniBand", "hpl2002/fig3b", "victim", "no-credit", emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}},
			[]string{"model.duration=3ms", "flows.victim.start=1ms", "flows.victim.stop=2ms"}},
		{"Ethernet", "ethernet/pause-hol", "victim", "paused", emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}, []string{"model.duration=3ms"}},
		{"the wall clock", "hpl2002/fig3b", "", "", emu.Options{Settings: emu.Settings{Link: emu.Pipe, Timing: emu.ActualTiming}, Verify: emu.VerifyOff},
			[]string{"model.duration=1ms", "flows.victim.start=0ms", "flows.victim.stop=1ms", "wall.dilation=500"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := runtest.Load(t, runtest.Text(t, c.scenario), runtest.Sets(t, c.sets...)...)
			var b bytes.Buffer
			told := &starts{ways: map[uint32][]int32{}}
			for i := range s.Flows {
				if s.Flows[i].Name == c.follow {
					told.flow = scenario.FirstQP + uint32(i)
				}
			}
			c.options.Trace, c.options.Sink = &emu.Trace{To: &b, Follow: c.follow}, told
			if _, err := emu.Run(t.Context(), s, c.options); err != nil {
				t.Fatal(err)
			}
			all := read(t, b.Bytes())
			slices.SortStableFunc(all, func(x, y happening) int { return int(int64(x.At) - int64(y.At)) })
			open, frames, arrows, waits := map[string]bool{}, 0, map[uint64]int{}, 0
			for _, h := range all {
				if h.Notes != "" && h.Notes[:6] == "frame=" && !h.LastFlow {
					frames++
				}
				if h.Name == c.waits {
					waits++
				}
				if h.Flow != 0 && !h.LastFlow {
					arrows[h.Flow]++
				}
				if h.LastFlow && arrows[h.Flow] == 0 {
					t.Errorf("arrow %x ends before it begins", h.Flow)
				}
				switch {
				case h.Kind == "begin" && open[h.Track]:
					t.Fatalf("%v: the slice before it has not ended", h)
				case h.Kind == "end" && !open[h.Track]:
					t.Fatalf("%v: no slice has begun", h)
				}
				if h.Kind == "begin" || h.Kind == "end" {
					open[h.Track] = h.Kind == "begin"
				}
			}
			for track, is := range open {
				if is {
					t.Errorf("a slice of %s has no end", track)
				}
			}
			if frames != told.n || frames == 0 {
				t.Errorf("%d frames in the trace, %d in the run", frames, told.n)
			}
			if c.waits != "" && waits == 0 {
				t.Errorf("nothing waits: %s", c.waits)
			}
			for psn, way := range told.ways {
				if got := arrows[uint64(told.flow)<<32|uint64(psn)]; got != len(way) {
					t.Errorf("packet %d has %d arrows, and is sent %d times", psn, got, len(way))
				}
			}
			if len(arrows) != len(told.ways) || c.follow != "" && len(arrows) == 0 {
				t.Errorf("%d packets are followed, %d were sent", len(arrows), len(told.ways))
			}
		})
	}
}

// TestFaultsInTraces: each fault is a slice from its start to its end, a storm that a watchdog has
// found too, and other events are instants. A window has the parts of the faults that lie in it.
func TestFaultsInTraces(t *testing.T) {
	const text = `name: x
model: {duration: 3ms}
defaults: {link: {rate: 1Gb/s, flow-control: pfc}, switch: {kind: output-queued, memory: 4MB, watchdog: {detection: 200us, restoration: 200us, poll: 100us}}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, {name: trunk, between: S - b}]
flows: [{name: x, from: a, to: b}]
events:
  - {at: 100us, endpoint: b, pause-storm: "on", priorities: [0], for: 1ms}
  - {at: 1500us, link: trunk, state: down}
  - {at: 1600us, link: trunk, state: up}
  - {at: 2ms, endpoint: b, service: 10Gb/s}
  - {at: 2500us, link: trunk, loss: 0.5}
`
	const of = "faults and events: "
	storm := []string{"100000 begin [" + of + "endpoint b: pause storm on] endpoint b: pause storm on", "1100000 end [" + of + "endpoint b: pause storm on]"}
	for _, c := range []struct {
		from, until unit.Time
		want        []string
	}{
		{0, 0, append(slices.Clone(storm),
			"1500000 begin ["+of+"link trunk down] link trunk down", "1600000 end ["+of+"link trunk down]",
			"2000000 instant ["+of+"events] endpoint b: service 10Gb/s",
			"2500000 begin ["+of+"link trunk: loss of 0.5] link trunk: loss of 0.5", "3000000 end ["+of+"link trunk: loss of 0.5]",
			"300000 begin [S: trunk.S-b watchdog, lane 0] storm", "1400000 end [S: trunk.S-b watchdog, lane 0]")},
		{unit.Time(600 * unit.Microsecond), unit.Time(1550 * unit.Microsecond), []string{
			"600000 begin [" + of + "endpoint b: pause storm on] endpoint b: pause storm on", storm[1],
			"1500000 begin [" + of + "link trunk down] link trunk down", "1550000 end [" + of + "link trunk down]",
			"600000 begin [S: trunk.S-b watchdog, lane 0] storm", "1400000 end [S: trunk.S-b watchdog, lane 0]"}},
	} {
		var b bytes.Buffer
		s := runtest.Load(t, text)
		if _, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Trace: &emu.Trace{To: &b, From: c.from, Until: c.until}}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range read(t, b.Bytes()) {
			if strings.HasPrefix(h.Track, of) || strings.Contains(h.Track, "watchdog") {
				got = append(got, h.String())
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("from %v: got\n%s\nwant\n%s", c.from, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
