package main

import (
	"strings"
	"testing"
	"time"

	"fabemu/emu/base/terminal"
	"fabemu/emu/scenario/builtin"
)

func TestListPage(t *testing.T) {
	t.Parallel()
	items := []listed{
		{Name: "hpl2002/fig3b", Default: true, Source: "HPL-2002-224, Fig. 3(b)", WallSeconds: 5, Description: "Input-triggered marking."},
		{Name: "two", WallSeconds: 2, ShortWallSeconds: 1, Description: "A description that is so long that it has to go on in the line below, where it is indented as well.", Guests: true},
	}
	got := listPage(items, terminal.Look{})
	const want = `hpl2002/fig3b (default)   5s
    Input-triggered marking.
    HPL-2002-224, Fig. 3(b)
two                       2s (--short 1s) (root)
    A description that is so long that it has to go on in the line below, where it is indented as
    well.
`
	if got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	const lines = `NAME                     WALL TIME  DESCRIPTION
hpl2002/fig3b (default)  5s         Input-triggered marking.
two                      2s (root)  A description that is so long that it has to go on in the...
`
	if got := listLines(items, terminal.Look{}); got != lines {
		t.Errorf("got:\n%swant:\n%s", got, lines)
	}
}

// All scenarios have a line each, which fits; words choose some.
func TestListLines(t *testing.T) {
	t.Parallel()
	all, err := listOf(nil)
	if err != nil || len(all) != len(builtin.List()) {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	lines := strings.Split(strings.TrimSuffix(listLines(all, terminal.Look{}), "\n"), "\n")
	if len(lines) != len(all)+1 {
		t.Errorf("%d lines for %d scenarios", len(lines), len(all))
	}
	for _, line := range lines {
		if len(line) > terminal.Width {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	some, err := listOf([]string{"DCQCN", "queue"})
	if err != nil || len(some) == 0 || len(some) >= len(all)/4 {
		t.Errorf("%d scenarios, %v", len(some), err)
	}
	for _, x := range some {
		if text := strings.ToLower(x.Name + x.Source + x.Description); !strings.Contains(text, "dcqcn") || !strings.Contains(text, "queue") {
			t.Errorf("%+v", x)
		}
	}
	if _, err := listOf([]string{"dcqn"}); err == nil || !strings.Contains(err.Error(), `did you mean "dcqcn"`) {
		t.Error(err)
	}
	if _, err := listOf([]string{"hpl2002/fig3x"}); err == nil || !strings.Contains(err.Error(), `did you mean "hpl2002/fig3`) {
		t.Error(err)
	}
}

func TestDurationText(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		20 * time.Second: "20s", 20 * time.Minute: "20m", 400 * time.Second: "6m40s", time.Hour: "1h", time.Hour + 90*time.Second: "1h1m30s",
		0: "0s", 1600 * time.Millisecond: "1.6s", time.Hour + 2*time.Minute: "1h2m",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
