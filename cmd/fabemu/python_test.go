package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// The package for Python passes its own tests with this program: python/tests.
func TestPython(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	root, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{"types": {"mypy", "--cache-dir", os.DevNull}}
	files, _ := filepath.Glob(filepath.Join(root, "tests", "test_*.py"))
	for _, file := range files {
		name := filepath.Base(file)
		commands[name] = []string{"python3", "-m", "unittest", "discover", "--start-directory", "tests", "--pattern", name}
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runtest.NeedTools(t, command[0])
			c := exec.CommandContext(t.Context(), command[0], command[1:]...)
			c.Dir = root
			c.Env = append(os.Environ(), "FABEMU="+binary, "PYTHONPATH="+root, "PYTHONDONTWRITEBYTECODE=1", "MPLBACKEND=agg")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", command[0], err, out)
			}
		})
	}
}
