package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The package for Python passes its own tests with this program: python/tests.
func TestPython(t *testing.T) {
	t.Parallel()
	needTools(t, "python3")
	root, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	pass := func(name string, args ...string) {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = root
		c.Env = append(os.Environ(), "FABEMU="+binary, "PYTHONPATH="+root, "PYTHONDONTWRITEBYTECODE=1", "MPLBACKEND=agg")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	pass("python3", "-m", "unittest", "discover", "--start-directory", "tests")
	needTools(t, "mypy") // its types
	pass("mypy", "--cache-dir", os.DevNull)
}
