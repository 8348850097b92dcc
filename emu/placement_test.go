package emu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu/proc"
	"fabemu/emu/runtest"
)

func TestPlacementMistakes(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig2", "3ms")
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Placement: "cloud"}, `no placement "cloud"`},
		{Options{Placement: InProcesses, Clock: VirtualClock}, "goes with the wall clock"},
		{Options{Placement: InProcesses, Link: Pipe}, "links between processes"},
		{Options{ByHand: []string{"A"}}, "placement process or domain"},
		{Options{Placement: InDomains, ByHand: []string{"C"}}, `no part "C" to be started by hand; there are A, B`},
	} {
		_, err := Run(context.Background(), s, c.o)
		var mistake *Mistake
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// The files of a dry run can be read back; what does not fit them is refused.
func TestServeMistakes(t *testing.T) {
	dir := t.TempDir()
	s := runtest.Short(t, "hpl2002/fig2", "3ms")
	if err := Dry(s, Options{Placement: InProcesses, Directory: dir}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, proc.PartsDir, "*.json"))
	if len(files) != len(s.Switches)+len(s.Endpoints) {
		t.Errorf("%d files", len(files))
	}
	name := filepath.Join(dir, proc.PartsDir, "A.json")
	if err := proc.Serve(context.Background(), name, 0, "v9"); err == nil || !strings.Contains(err.Error(), "version devel") {
		t.Errorf("another version: %v", err)
	}
	if err := proc.Serve(context.Background(), filepath.Join(dir, "no.json"), 0, "devel"); err == nil || !strings.Contains(err.Error(), "--dry-run") {
		t.Errorf("no file: %v", err)
	}
	os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"part": "A"}`), 0o666)
	if err := proc.Serve(context.Background(), filepath.Join(dir, "x.json"), 0, "devel"); err == nil || !strings.Contains(err.Error(), "not the file of a part") {
		t.Errorf("half a file: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := proc.Serve(ctx, name, 0, "devel"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no conductor: %v", err)
	}
	if err := Dry(s, Options{}); err == nil || !strings.Contains(err.Error(), "placement process or domain") {
		t.Errorf("%v", err)
	}
}
