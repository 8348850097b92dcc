package runtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// ProgramVariable is the environment variable that names the command for tests, where it has been
// built for several of them, as by scripts/test.sh.
const ProgramVariable = "FABEMU_TEST_PROGRAM"

// Program returns the command fabemu, which is built in a folder unless ProgramVariable names it.
func Program(dir string) (string, error) {
	if built := os.Getenv(ProgramVariable); built != "" {
		return built, nil
	}
	path := filepath.Join(dir, "fabemu")
	if out, err := exec.Command("go", "build", "-o", path, "fabemu/cmd/fabemu").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
}

// NeedTools skips a test where a program is missing.
func NeedTools(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s", name)
		}
	}
}

// Sets parses changes of a scenario, as in --set.
func Sets(t testing.TB, texts ...string) (list []scenario.Set) {
	t.Helper()
	for _, text := range texts {
		s, err := scenario.ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// Load reads a scenario from its text.
func Load(t testing.TB, yaml string, sets ...scenario.Set) *scenario.Scenario {
	t.Helper()
	s, err := resolve.Load("text.yaml", []byte(yaml), sets, resolve.Lint(lint.Check))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Text returns the text of a scenario that comes with the program, without its claims.
func Text(t testing.TB, name string) string {
	t.Helper()
	src, err := builtin.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(src), "\nexpect:")
	return text + "\n"
}

// Short opens a scenario that comes with the program, cut to a shorter duration,
// without its claims and with an early victim.
func Short(t testing.TB, name, duration string, sets ...string) *scenario.Scenario {
	t.Helper()
	early := Sets(t, "model.duration="+duration, "flows.victim.start=2ms", "flows.victim.stop=3ms")
	return Load(t, Text(t, name), append(early, Sets(t, sets...)...)...)
}

// Restarting is the fabric of HPL-2002-224 in which switch A is restarted. Lost frames are sent
// again.
func Restarting(t testing.TB, duration, at string, sets ...string) *scenario.Scenario {
	t.Helper()
	text := strings.Replace(Text(t, "hpl2002/fig3b"), "\nevents: []",
		"\nevents:\n  - {at: "+at+", switch: A, restart: 500us}", 1)
	list := Sets(t, "model.duration="+duration, "defaults.flow.timeout=300us", "flows.victim.stop=end")
	for _, flow := range []string{"local", "remote", "victim"} {
		list = append(list, scenario.Set{Path: "flows." + flow + ".start", Value: "0us"})
	}
	return Load(t, text, append(list, Sets(t, sets...)...)...)
}

// Over returns a figure of a run between two instants, in ms.
func Over(t testing.TB, c *metrics.Collector, expression string, from, to float64) float64 {
	t.Helper()
	m, err := metrics.Compile(expression, c.Fabric())
	if err != nil {
		t.Fatal(err)
	}
	return m.Over(c, unit.Time(from*float64(unit.Millisecond)), unit.Time(to*float64(unit.Millisecond)))
}

// FirstDifference returns where two logs begin to differ.
func FirstDifference(a, b string) string {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("first in line %d", line)
		}
		if a[i] == '\n' {
			line++
		}
	}
	return fmt.Sprintf("one is longer, from line %d on", line)
}

// Frame returns the trailer of a datagram; ok is false where that is not of a data frame on a path.
func Frame(datagram []byte, path int) (t wire.Trailer, ok bool) {
	t, frame, err := wire.ParseTrailer(datagram)
	if err != nil || int(t.Port) != path {
		return t, false
	}
	f, _, err := wire.ParseBody(t.Delimiter, frame)
	return t, err == nil && f.Kind == wire.Data
}

// Await waits until something is so, for a minute at most.
func Await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
