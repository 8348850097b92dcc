package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// fuzz.sh reports the executions of each target, also of one that never gets beyond its baseline,
// and with -least fails for each that has too few. A go command that builds a script stands for the
// real one.
func TestFuzzReportsExecutions(t *testing.T) {
	runtest.NeedTools(t, "bash", "flock")
	dir := t.TempDir()
	script, err := os.ReadFile("fuzz.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"scripts/fuzz.sh": string(script),
		"p/p_test.go":     "package p\n\nfunc FuzzFast(f *testing.F) {}\n",
		"q/q_test.go":     "package q\n\nfunc FuzzLong(f *testing.F) {}\nfunc FuzzStuck(f *testing.F) {}\n",
		"bin/go": `#!/bin/sh
case $1 in
list) echo m ;;
env) echo /nonexistent ;;
test)
	while [ "$1" != -o ]; do shift; done
	cp "$(dirname "$0")/target" "$2" ;;
esac
`,
		"bin/target": `#!/bin/sh
case "$*" in *"-test.fuzzminimizetime 0"*) ;; *) echo "it makes inputs smaller" >&2; exit 1 ;; esac
exec >&2 # as a coordinator of workers does
case "$*" in
*FuzzFast*)
	echo "fuzz: elapsed: 0s, gathering baseline coverage: 2/2 completed, now fuzzing with 1 workers"
	echo "fuzz: elapsed: 3s, execs: 30 (10/sec), new interesting: 13 (total: 14)"
	echo "fuzz: elapsed: 10s, execs: 101940 (0/sec), new interesting: 22 (total: 27)" ;;
*FuzzLong*) echo "fuzz: elapsed: 1m5s, execs: 1300 (20/sec), new interesting: 0 (total: 9)" ;;
*) echo "fuzz: elapsed: 9s, gathering baseline coverage: 0/2 completed" ;;
esac
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	reports := []string{
		"fuzz: ./p FuzzFast: 101940 executions in 10 s, 10194 a second\n",
		"fuzz: ./q FuzzLong: 1300 executions in 65 s, 20 a second\n",
		"fuzz: ./q FuzzStuck: 0 executions in 9 s, 0 a second\n",
	}
	for _, x := range []struct {
		arguments string
		exit      int
		slow      string // targets with too few executions
	}{
		{"9", 0, ""}, {"-least 20 9", 1, "FuzzStuck"}, {"-least 21 9", 1, "FuzzLong FuzzStuck"}, {"-least", 2, ""}, {"-least 9", 2, ""}, {"", 2, ""},
	} {
		c := exec.Command(filepath.Join(dir, "scripts/fuzz.sh"), strings.Fields(x.arguments)...)
		c.Env = append(c.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		b, err := c.CombinedOutput()
		exit := 0
		if wrong := (*exec.ExitError)(nil); errors.As(err, &wrong) {
			exit = wrong.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if said := string(b); exit != x.exit {
			t.Errorf("%q: exit status %d, want %d\n%s", x.arguments, exit, x.exit, said)
		} else if exit < 2 {
			for _, report := range reports {
				target := strings.TrimSuffix(strings.Fields(report)[2], ":")
				slow := strings.Contains(said, " "+target+": at least ")
				if !strings.Contains(said, report) || slow != strings.Contains(x.slow, target) {
					t.Errorf("%q: %s too slow: %t\n%s", x.arguments, target, slow, said)
				}
			}
		}
	}
}
