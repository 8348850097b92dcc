package resolve_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
)

// checkMetric stands for package emu/metrics: it knows the quantities.
func checkMetric(expr string, _ *scenario.Scenario) error {
	if strings.HasSuffix(expr, ".rate") || strings.HasSuffix(expr, ".utilisation") {
		return nil
	}
	return fmt.Errorf("%q has no known quantity: there are rate and utilisation", expr)
}

// TestBad compares what is said about each bad file with the golden next to it.
// To add a case, write the file, run the test with -update, and read the golden.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d bad files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".bad.yaml"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := resolve.Load(filepath.Base(file), src, nil, resolve.CheckMetrics(checkMetric))
			if err == nil {
				t.Fatalf("no error, but %+v", s)
			}
			var list *scenario.Errors
			if !errors.As(err, &list) || len(list.List) == 0 {
				t.Fatalf("an error of type %T: %v", err, err)
			}
			checkPlaces(t, list.List, src)
			golden.File(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

// checkPlaces checks that mistakes are in order and point into the file.
func checkPlaces(t *testing.T, list []scenario.Error, src []byte) {
	t.Helper()
	lines := strings.Split(string(src), "\n")
	last := scenario.Error{}
	for _, e := range list {
		if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(lines[e.Line-1]))+1 {
			t.Errorf("place %d:%d is not in the file: %s", e.Line, e.Column, e.Message)
		}
		if e.Line < last.Line || e.Line == last.Line && e.Column < last.Column {
			t.Errorf("%d:%d comes after %d:%d", e.Line, e.Column, last.Line, last.Column)
		}
		if e.Message == "" || e.Excerpt == "" || e.File == "" {
			t.Errorf("incomplete: %+v", e)
		}
		last = e
	}
}
