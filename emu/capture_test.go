package emu

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/pcapng"
)

// meeting is a scenario whose capture is short, with marks and a link without
// credit.
const meeting = `
name: meeting
model: {duration: 3us}
wall: {dilation: 1000}
defaults:
  link: {rate: 1GB/s, buffer: 2 packets}
  switch: {marking: {scheme: input-output, threshold: 1}}
  flow: {packet: 128B}
switches: {S: {}, T: {}}
endpoints: ["A[1-2]", B]
links: ["A[1-2] - S", {name: trunk, between: S - T}, {name: root, between: T - B, rate: 0.5GB/s}]
flows: [{name: all, from: "A[1-2]", to: B, window: 4}]
`

// captureOf runs the scenario and returns the capture.
func captureOf(t *testing.T, o Options, c Capture) (*Result, []byte) {
	t.Helper()
	s, err := resolve.Load("meeting.yaml", []byte(meeting), nil, resolve.CheckMetrics(metrics.Checker()))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fabric.pcapng")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.To = file
	o.Capture = &c
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return r, b
}

// "On the virtual clock the file is the same on every machine, byte for byte."
func TestCaptureGolden(t *testing.T) {
	_, got := captureOf(t, Options{Settings: Settings{Clock: VirtualClock}}, Capture{Snap: capture.HeaderSnap})
	golden.File(t, "testdata/meeting.pcapng", got)
}

// Wireshark shows each frame with its port, direction and comment, and what stands
// in its headers.
func TestCaptureInTshark(t *testing.T) {
	t.Attr("depends-on", "privileges")
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("there is no tshark")
	}
	fields := []string{
		"frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction", "frame.comment", "erf.types.type",
		"infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.lrh.vl", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
		"infiniband_link.op", "infiniband_link.fctbs", "infiniband_link.vl", "infiniband_link.fccl",
	}
	args := []string{"-r", "testdata/meeting.pcapng", "-T", "json", "-c", "120"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	c := exec.Command(tshark, args...)
	c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	got, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	// The name of the index has the date in it.
	golden.File(t, "testdata/meeting.json", regexp.MustCompile(`"_index": "[^"]*"`).ReplaceAll(got, []byte(`"_index": ""`)))
}

// packetsOf returns the packets of a capture, without what only a wall run says.
func packetsOf(t *testing.T, b []byte) (r *pcapng.Reader, packets []pcapng.Packet) {
	t.Helper()
	r, err := pcapng.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	late := regexp.MustCompile(`(; )?late [0-9.]+us`)
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, packets
		}
		if err != nil {
			t.Fatal(err)
		}
		c := *p
		c.Data, c.Comments = bytes.Clone(p.Data), nil
		for _, text := range p.Comments {
			if text = late.ReplaceAll(text, nil); len(text) > 0 {
				c.Comments = append(c.Comments, bytes.Clone(text))
			}
		}
		packets = append(packets, c)
	}
}

// In model time the capture of a wall run is that of the virtual clock, but for how
// late frames left; its section says what the run was worth.
func TestCaptureOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
	_, want := captureOf(t, Options{Settings: Settings{Clock: VirtualClock}}, Capture{})
	result, got := captureOf(t, Options{Settings: Settings{Link: Pipe}}, Capture{})
	_, wantPackets := packetsOf(t, want)
	r, gotPackets := packetsOf(t, got)
	if diff := cmp.Diff(wantPackets, gotPackets); diff != "" {
		t.Error(diff)
	}
	if !bytes.Contains(got, []byte("late ")) {
		t.Error("no frame says how late it left")
	}
	verdict := "Verdict: " + string(result.Verdict.Level) + ": " + result.Verdict.Reason
	if !strings.HasSuffix(strings.TrimRight(r.Comments[0], " "), verdict) || r.Statistics[0].Comment != verdict {
		t.Errorf("the section says %q, the first interface %q; want %q", r.Comments[0], r.Statistics[0].Comment, verdict)
	}
}

// Wall times are those of the run, not of 1970.
func TestCaptureInWallTime(t *testing.T) {
	_, b := captureOf(t, Options{Settings: Settings{Link: Pipe}}, Capture{Time: capture.WallTime})
	_, got := packetsOf(t, b)
	if first, last := got[0].Time, got[len(got)-1].Time; first < 1e18 || last <= first {
		t.Errorf("from %d to %d ns", first, last)
	}
}

// What a filter names is captured; what it cannot mean is a mistake.
func TestCaptureFilter(t *testing.T) {
	for _, c := range []struct {
		filter []string
		ports  string // the interfaces
		flows  map[byte]bool
	}{
		{nil, "A1:0 <- S|S:0 <- A1|A2:0 <- S|S:1 <- A2|S:2 <- T|T:0 <- S|T:1 <- B|B:0 <- T", nil},
		{[]string{"S:2"}, "S:2 <- T", nil},
		{[]string{"trunk"}, "S:2 <- T|T:0 <- S", nil},
		{[]string{"trunk.T-S"}, "T:0 <- S", nil},
		{[]string{"A1", "B"}, "A1:0 <- S|B:0 <- T", nil},
		{[]string{"root", "all.A2"}, "T:1 <- B|B:0 <- T", map[byte]bool{3: true}},
		{[]string{"all"}, "A1:0 <- S|S:0 <- A1|A2:0 <- S|S:1 <- A2|S:2 <- T|T:0 <- S|T:1 <- B|B:0 <- T", map[byte]bool{2: true, 3: true}},
	} {
		_, b := captureOf(t, Options{Settings: Settings{Clock: VirtualClock}}, Capture{Filter: c.filter})
		r, packets := packetsOf(t, b)
		var names []string
		for _, i := range r.Interfaces {
			names = append(names, i.Name)
		}
		if got := strings.Join(names, "|"); got != c.ports || len(packets) == 0 {
			t.Errorf("%q: interfaces %q, want %q; %d packets", c.filter, got, c.ports, len(packets))
		}
		for _, p := range packets {
			if qp := p.Data[16+15]; c.flows != nil && (p.Data[8] != 21 || !c.flows[qp]) {
				t.Errorf("%q: a packet of queue pair %d, type %d", c.filter, qp, p.Data[8])
			}
		}
	}
	for _, c := range []Capture{{Filter: []string{"nobody"}}, {Snap: -1}, {Time: capture.WallTime}} {
		s, err := resolve.Load("meeting.yaml", []byte(meeting), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.To = io.Discard
		var mistake *Mistake
		if _, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}, Capture: &c}); !errors.As(err, &mistake) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
