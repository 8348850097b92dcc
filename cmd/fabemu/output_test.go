package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// A command whose output is lost fails with status 3, whichever it is.
func TestLostOutput(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"list"}, {"list", "--format", "csv"}, {"check", "hpl2002/fig2"}, {"check", "--json", "hpl2002/fig2"}, {"graph", "hpl2002/fig2"},
		{"schema"}, {"generate", "incast"}, {"dissector", "print"}, {"completion", "bash"}, {"help", "run"}, {"--help"}, {"--version"},
	} {
		c := exec.Command(binary, args...)
		c.Stdout = full
		err := c.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
			t.Errorf("%q: %v, want status %d", args, err, exitFailed)
		}
	}
}

// A mistake of the program is a failure, status 3; status 2, which Go gives a panic, would be one
// of the call.
func TestPanicIsAFailure(t *testing.T) {
	if got := recovered(func() int { panic("a mistake") }); got != exitFailed {
		t.Errorf("status %d, want %d", got, exitFailed)
	}
}
