package cp_test

import (
	"math"
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The congestion control of InfiniBand at a switch. What each parameter is says opensm where
// it writes them down (opensm/osm_subnet.c, the comments of osm_subn_output_conf).

// outputs is a switch of which some outputs have no credit.
type outputs struct {
	cp.Switch
	blocked map[int]bool
}

func (o outputs) Blocked(output int) bool { return o.blocked[output] }

// ccaOf returns the congestion points of a switch whose ports 0 and 1 lead to switches, and
// 2 and 3 to endpoints.
func ccaOf(t *testing.T, change func(p *cp.CCAParams)) *cp.CCA {
	t.Helper()
	p := param.Defaults(cp.CCAParams{})
	p.MarkingRate = 0
	change(&p)
	c, err := cp.NewCCA(p, cp.Site{Ports: 4, Hosts: []bool{false, false, true, true}, Random: unit.NewRandom(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ccaMarks reports whether a frame of this many bytes is marked that leaves this many credits
// behind it for an output, of which a buffer has 132.
func ccaMarks(c *cp.CCA, s cp.Switch, output, credits int, payload uint32) bool {
	f := wire.Frame{Kind: wire.Data, Payload: payload}
	why := c.Dequeue(0, &f, cp.Queue{Output: output, Leaving: true, Bytes: unit.Size(credits) * wire.BlockSize, Room: 132 * wire.BlockSize, Switch: s})
	if f.FECN != (why == trace.OverThreshold) {
		panic("a mark without its reason")
	}
	return f.FECN
}

// "Threshold - value indicating aggressiveness of congestion marking: 0x0 - none, 0x1 - loose,
// ..., 0xF - aggressive": ours is (16 - threshold)/16 of the buffer, which has to be exceeded.
func TestCCAThreshold(t *testing.T) {
	free := outputs{}
	for threshold := 1; threshold <= 15; threshold++ {
		c := ccaOf(t, func(p *cp.CCAParams) { p.Threshold = threshold })
		at := 132 * (16 - threshold) / 16
		if ccaMarks(c, free, 2, at, 2048) || !ccaMarks(c, free, 2, at+1, 2048) {
			t.Errorf("threshold %d: marks with %d credits: %t, with one more: %t", threshold, at, ccaMarks(c, free, 2, at, 2048), ccaMarks(c, free, 2, at+1, 2048))
		}
	}
	if c := ccaOf(t, func(p *cp.CCAParams) { p.Threshold = 0 }); ccaMarks(c, free, 2, 1<<20, 2048) {
		t.Error("threshold 0 marks")
	}
}

// "Packet Size - any packet less than this size will not be marked with a FECN; units are in
// credits".
func TestCCAPacketSize(t *testing.T) {
	c := ccaOf(t, func(p *cp.CCAParams) { p.PacketSize = 8 })
	least := uint32(7*wire.BlockSize + 4 - 26) // 26 bytes of headers and CRCs: the first that takes 8 credits, on whole words
	for payload := least - 12; payload < least+8; payload += 4 {
		f := wire.Frame{Kind: wire.Data, Payload: payload}
		if got, want := ccaMarks(c, outputs{}, 2, 132, payload), f.Blocks() >= 8; got != want {
			t.Errorf("%d bytes, %d credits: marked %t", payload, f.Blocks(), got)
		}
	}
}

// A port is the root of congestion while it has credit, and a victim without (Annex A10).
// "Victim Mask - 256 bit mask representing switch ports, mark packets with FECN whether they are
// the source or victim of congestion: bit 0 - port 0 (enhanced port), bit 1 - port 1".
func TestCCAVictims(t *testing.T) {
	starved := outputs{blocked: map[int]bool{0: true, 1: true, 2: true, 3: true}}
	for mask, want := range map[cp.PortMask][4]bool{
		"none": {}, "hosts": {false, false, true, true}, "all": {true, true, true, true},
		"0x0": {}, "0x1": {}, "0x2": {true}, "0x12": {true, false, false, true}, "0x1fffffffff": {true, true, true, true},
		cp.PortMask("0x" + strings.Repeat("f", 64)): {true, true, true, true},
	} {
		c := ccaOf(t, func(p *cp.CCAParams) { p.VictimMask = mask })
		for output := range 4 {
			if got := ccaMarks(c, starved, output, 132, 2048); got != want[output] {
				t.Errorf("mask %s: output %d without credit marks: %t", mask, output, got)
			}
			if !ccaMarks(c, outputs{}, output, 132, 2048) {
				t.Errorf("mask %s: output %d with credit, a root, does not mark", mask, output)
			}
			if ccaMarks(c, starved, output, 0, 2048) {
				t.Errorf("mask %s: output %d marks below the threshold", mask, output)
			}
		}
	}
}

// "Marking Rate - mean number of packets between markings".
func TestCCAMarkingRate(t *testing.T) {
	const frames = 100_000
	for _, rate := range []int{0, 1, 7, 15} {
		for _, gaps := range []string{cp.GeometricCCAGaps, cp.FixedCCAGaps} {
			c := ccaOf(t, func(p *cp.CCAParams) { p.MarkingRate, p.MarkingGaps = rate, gaps })
			last, marked, lengths := -1, 0, map[int]bool{}
			for i := range frames {
				if !ccaMarks(c, outputs{}, 2, 132, 2048) {
					continue
				}
				if marked++; last >= 0 {
					lengths[i-last-1] = true
				}
				last = i
			}
			between := float64(frames-marked) / float64(marked)
			if math.Abs(between-float64(rate)) > 0.03*float64(rate) {
				t.Errorf("%s, rate %d: %.3f frames between two marks", gaps, rate, between)
			}
			if gaps == cp.FixedCCAGaps && len(lengths) != 1 || gaps == cp.GeometricCCAGaps && rate > 0 && len(lengths) < 10 {
				t.Errorf("%s, rate %d: %d lengths of gaps", gaps, rate, len(lengths))
			}
			if p := param.Defaults(cp.CCAParams{}); rate == p.MarkingRate && math.Abs(p.Traits().Share-float64(marked)/frames) > 0.01 {
				t.Errorf("%d of %d are marked, and the share is %v", marked, frames, p.Traits().Share)
			}
		}
	}
}

// Frames that are not marked for another reason are not between two marks; each output counts
// its own; after a restart the first frame of each is marked.
func TestCCACountsEligibleFrames(t *testing.T) {
	c := ccaOf(t, func(p *cp.CCAParams) { p.MarkingRate, p.MarkingGaps, p.VictimMask = 2, cp.FixedCCAGaps, "none" })
	starved := outputs{blocked: map[int]bool{2: true}}
	var got []bool
	for range 4 {
		got = append(got, ccaMarks(c, outputs{}, 2, 132, 2048), ccaMarks(c, outputs{}, 2, 0, 2048), ccaMarks(c, starved, 2, 132, 2048), ccaMarks(c, outputs{}, 2, 132, 4))
	}
	for i, m := range got {
		if m != (i == 0 || i == 12) { // the first frame and the fourth that could be
			t.Errorf("frame %d: marked %t", i, m)
		}
	}
	if !ccaMarks(c, outputs{}, 3, 132, 2048) {
		t.Error("the first frame of another output is not marked")
	}
	if c.Reset(); !ccaMarks(c, outputs{}, 2, 132, 2048) {
		t.Error("after a restart the first frame is not marked")
	}
}

// The set that is printed for operators: "ibccconfig SwitchCongestionSetting 2 0x1F
// 0x1FFFFFFFFF 0x0 0xF 8 0 0:0 1", where threshold is 0xF, packet size 8, marking rate 1.
func TestCCADefaults(t *testing.T) {
	if p := param.Defaults(cp.CCAParams{}); p.Threshold != 0xF || p.PacketSize != 8 || p.MarkingRate != 1 {
		t.Errorf("%+v", p)
	}
}

// What cannot be a mask is refused.
func TestPortMaskIsRead(t *testing.T) {
	form := cp.NoPorts.Form()
	for text, want := range map[string]cp.PortMask{"hosts": "hosts", " all ": "all", "0X1E": "0x1e", "0x0": "0x0"} {
		if got, err := form.Read(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0x", "1E", "0xg", "0x" + strings.Repeat("0", 65), "host", "-0x1"} {
		if got, err := form.Read(text); err == nil || !strings.Contains(err.Error(), "is not a mask of ports") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// Points that could not work are refused.
func TestCCARefuses(t *testing.T) {
	for _, p := range []cp.CCAParams{{Threshold: 16}, {Threshold: -1}, {MarkingRate: -1}, {PacketSize: -1}} {
		if _, err := cp.NewCCA(p, cp.Site{Ports: 1}); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

// The settings of single ports take the place of those of the switch, in the form in which they are
// written.
func TestCCAPortSettings(t *testing.T) {
	const written = "1=8:0:0,3=15:200:0,4=cs:15:2:9"
	c := ccaOf(t, func(p *cp.CCAParams) { p.Threshold, p.CSThreshold, p.Ports = 0, 1, written })
	for output, want := range map[int][3]bool{ // 66 credits of 132, 67, and all, in packets of 34
		0: {false, true, true}, 1: {}, 2: {}, 3: {},
	} {
		for i, credits := range []int{66, 67, 132} {
			if got := ccaMarks(c, outputs{}, output, credits, 2048); got != want[i] {
				t.Errorf("output %d with %d credits: marked %t", output, credits, got)
			}
		}
	}
	for input, want := range []unit.Duration{0, 0, 0, 9 * 250} {
		q := cp.Queue{Input: input, Output: 0, Bytes: 132 * wire.BlockSize, Room: 132 * wire.BlockSize, Switch: outputs{}}
		if got := c.Starve(q, 1000); got != want {
			t.Errorf("input %d: the credit is %v late, want %v", input, got, want)
		}
	}
	all, err := cp.PortSettings(written).Read()
	if err != nil || cp.PortSettingsOf(all) != written || cp.PortSettingsOf(nil) != "none" {
		t.Errorf("%v, %v", all, err)
	}
	for _, wrong := range []cp.PortSettings{"1", "1=1:2", "0=1:1:1", "255=1:1:1", "1=16:1:1", "1=1:256:1", "1=1:1:65536", "1=cs:1:4:1", "1=cs:1:1:16384", "1=1:1:1,", "1=x:1:1"} {
		if _, err := wrong.Read(); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}

// The time of congestion is that between the frames at which a lane goes above its threshold and
// below: of several lanes, while one is above.
func TestCCACongested(t *testing.T) {
	c := ccaOf(t, func(p *cp.CCAParams) { p.Threshold = 8 })
	for _, x := range []struct {
		at      unit.Time
		lane    uint8
		credits int
		leaves  bool
		want    unit.Duration
	}{
		{100, 0, 66, false, 0}, {200, 0, 67, false, 0}, {300, 1, 99, false, 100}, {400, 0, 0, true, 200}, {500, 1, 80, true, 300},
		{600, 1, 1, true, 400}, {900, 0, 1, false, 400}, {1000, 0, 99, true, 400}, {1005, 0, 99, true, 405},
	} {
		f, q := &wire.Frame{Kind: wire.Data, Payload: 2048, Lane: x.lane}, cp.Queue{Output: 2, Bytes: unit.Size(x.credits) * wire.BlockSize, Room: 132 * wire.BlockSize, Switch: outputs{}}
		if x.leaves {
			c.Dequeue(x.at, f, q)
		} else {
			c.Enqueue(x.at, f, q)
		}
		if got := c.Congested(x.at, 2); got != x.want || c.Congested(x.at, 1) != 0 {
			t.Errorf("at %d: congested for %d, want %d", x.at, got, x.want)
		}
	}
	if got := c.Congested(2000, 2); got != 1400 {
		t.Errorf("at 2000: congested for %d", got)
	}
}
