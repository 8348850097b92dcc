package scripts

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// test.sh says first how busy the machine is and how long it takes on a quiet one, and asks for less at
// a time on a busy one.
func TestLoad(t *testing.T) {
	for load, busy := range map[string]bool{"0.5": false, "1000000": true} {
		c := exec.Command("./test.sh", "--load")
		c.Env = append(c.Environ(), "FABEMU_TEST_LOAD="+load)
		b, err := c.CombinedOutput()
		said := string(b)
		if err != nil || !strings.HasPrefix(said, "test: the load is "+load+" on ") || !strings.Contains(said, "quiet ones all of this takes") {
			t.Errorf("load %s: %v\n%s", load, err, said)
		}
		if strings.Contains(said, "one package at a time") != busy {
			t.Errorf("load %s is busy: %t, want %t\n%s", load, !busy, busy, said)
		}
	}
}

// An argument that the script does not have ends it at once, before it installs anything.
func TestUnknownArgument(t *testing.T) {
	said, err := exec.Command("./test.sh", "--help").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(said), "no argument --help") {
		t.Errorf("%v: %s", err, said)
	}
}
