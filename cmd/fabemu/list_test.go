package main

import (
	"testing"
	"time"

	"fabemu/emu/terminal"
)

func TestListPage(t *testing.T) {
	t.Parallel()
	got := listPage([][]string{
		{"hpl2002/fig3b (default)", "HPL-2002-224, Fig. 3(b)", "20s", "Input-triggered marking."},
		{"two", "", "2s", "A description that is so long that it has to go on in the line below, where it is indented as well."},
	}, terminal.Look{})
	const want = `hpl2002/fig3b (default)   20s
    Input-triggered marking.
    HPL-2002-224, Fig. 3(b)
two                       2s
    A description that is so long that it has to go on in the line below, where it is indented as
    well.
`
	if got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
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
