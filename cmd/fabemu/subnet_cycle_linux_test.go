package main

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// The routes and lanes of a manager make a cycle of buffers with minhop, and none with lash. It is
// a warning, and with --strict the end of the run.
func TestSubnetCycleOfBuffers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "opensm")
	const words = "with the routes of the subnet manager, the buffers of 5 links may wait for one another in a cycle, VL0: "
	for _, c := range []struct {
		sweep  string
		strict bool
		status int
		warns  bool
	}{
		{"minhop -Q", false, exitFailed, true},
		{"minhop -Q", true, exitMistake, false},
		{"on -R lash -Q", true, exitOK, false}, // and stays, to tell the service levels of paths
	} {
		t.Run(fmt.Sprint(c.sweep, c.strict), func(t *testing.T) {
			t.Parallel()
			args := []string{"infiniband/lash-ring", "--clock", "virtual"}
			if c.strict {
				args = append(args, "--strict")
			}
			run, _ := underSubnet(t, t.TempDir(), c.sweep, args...)
			run.Wait()
			said := fmt.Sprint(run.Stderr)
			if got := run.ProcessState.ExitCode(); got != c.status || strings.Contains(said, words) != c.warns {
				t.Errorf("status %d, want %d", got, c.status)
			}
			if c.status == exitMistake && !strings.Contains(said, "the buffers of 5 links may wait for one another in a cycle, VL0: ") {
				t.Error("the cycle is not named")
			}
		})
	}
}
