package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/emu/run/pace"
)

// Plain lines come at growing intervals, and at once where a part of the run does not answer, or
// answers again.
func TestProgressNamesWhoIsSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := &progress{notice: &notice{to: f, name: "x", next: time.Second}, wall: true}
	for i := range 40 { // 0.2 s each
		s := emu.Status{End: 1e9, Wall: time.Duration(i) * 200 * time.Millisecond}
		if i >= 22 && i < 26 {
			s.Silent = []pace.Silent{{Part: "B", For: time.Duration(i-17) * 200 * time.Millisecond}}
		}
		p.show(s)
	}
	b, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 5 || !strings.HasSuffix(lines[3], ", B has not answered for 1.0 s") || strings.Contains(lines[4], "B has") {
		t.Errorf("%q", lines)
	}
}

// The line of a run with real programs at dilation 1 speaks of what they see, and not of gaps.
func TestProgressNamesWhatProgramsSee(t *testing.T) {
	seen := func(p99, most report.Number) *report.Programs {
		return &report.Programs{Packets: 100, ErrorMs: report.Percentiles{P99: p99, Max: most}}
	}
	for _, c := range []struct {
		programs *report.Programs
		want     string
	}{
		{nil, ""}, {seen(0.1, 1), ""},
		{seen(0.4, 1), "; 99 % of the packets of programs took at most 0.4 ms longer than in the model"},
		{seen(0.1, 9), "; 99 % of the packets of programs took at most 0.1 ms longer than in the model"},
	} {
		path := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		p := &progress{notice: &notice{to: f, name: "x"}, wall: true, serves: true}
		p.programs.Store(c.programs)
		p.show(emu.Status{Now: 5e8, End: 1e9, Wall: time.Second, Left: 1500 * time.Millisecond, Counts: pace.Counts{Gaps: 1000, Off: 900}})
		f.Close()
		b, _ := os.ReadFile(path)
		if want := "x:  50.0 % (model time 0.5 of 1.0 ms), 1.5s left" + c.want + "\n"; string(b) != want {
			t.Errorf("%q, want %q", b, want)
		}
	}
}

// The line of a wall run says how many gaps are off as a share, and only where the verdict depends
// on it.
func TestProgressNamesGapsThatAreOff(t *testing.T) {
	for _, c := range []struct {
		off  int64
		want string
	}{{50, ""}, {123, "; 12.3 % of the gaps between frames are off"}} {
		path := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		p := &progress{notice: &notice{to: f, name: "x"}, wall: true}
		p.show(emu.Status{Now: 5e8, End: 1e9, Wall: time.Second, Left: 1500 * time.Millisecond, Counts: pace.Counts{Late: 900, Gaps: 1000, Off: c.off}})
		f.Close()
		b, _ := os.ReadFile(path)
		if want := "x:  50.0 % (model time 0.5 of 1.0 ms), 1.5s left" + c.want + "\n"; string(b) != want {
			t.Errorf("%q, want %q", b, want)
		}
	}
}
