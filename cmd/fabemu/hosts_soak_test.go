//go:build linux && soak

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// docs/examples/kubernetes.yml has no field that the API of Kubernetes does not know.
func TestHostsOnKubernetes(t *testing.T) {
	check := exec.Command("go", "run", ".")
	check.Dir, check.Stdin = "../../scripts/k8scheck", strings.NewReader(text(t, "../../docs/examples/kubernetes.yml"))
	if out, err := check.CombinedOutput(); err != nil || string(out) != "Service\nJob\n" {
		t.Errorf("%v: %s", err, out)
	}
}

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
