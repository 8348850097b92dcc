package main

import (
	"os/exec"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// command runs a command and returns what it prints.
func command(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, said)
	}
	return string(said)
}

// The manual page names every command and flag of a run, and the exit statuses; groff has
// nothing to say against it.
func TestManual(t *testing.T) {
	page := command(t, binary, "man")
	for _, want := range []string{".SS fabemu run ", ".SS fabemu dissector install", `\fB\-\-dilation\fR \fIstring\fR`, "Exit status: 0 when"} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	runtest.NeedTools(t, "groff")
	c := exec.Command("groff", "-man", "-ww", "-z")
	c.Stdin = strings.NewReader(page)
	if said, err := c.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%v\n%s", err, said)
	}
}
