package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu"
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
