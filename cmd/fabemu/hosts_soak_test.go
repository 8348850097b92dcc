//go:build linux && soak

package main

import (
	"path/filepath"
	"testing"
)

// A host that is out of reach for good is lost after ten seconds, at both ends: the run ends
// and names it, and it ends by itself.
func TestHostIsOutOfReach(t *testing.T) {
	c := newComputers(t, 2)
	out := filepath.Join(t.TempDir(), "out")
	agent := c.agent("host1", 0)
	run := c.conduct(2, out, "--dilation", "20000")
	whileItRuns(t, out)
	c.ip("router", "link", "set", "fab1", "down")
	run.wants(exitFailed, "the process of host-1-", "has ended: its connection is lost")
	agent.wants(exitFailed, "the conductor has ended")
	if r := result(t, out); !r.Partial {
		t.Error("the result is not partial")
	}
}
