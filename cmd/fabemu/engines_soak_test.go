//go:build soak

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// slurmSeeds is how many seeds each setting has in TestSlurm.
const slurmSeeds = 40

// alone: nothing else runs on the machine, so tests compare rates in wall time.
const alone = true

// The types of the API of Kubernetes take all that docs/guide/hosts.md has applied, and the files
// that the tests keep; they take no field that is spelt wrongly. To compile them takes half
// a minute, so this is no test for every day: what is exported is kept in files.
func TestKubernetesTakesTheJobs(t *testing.T) {
	check := filepath.Join(t.TempDir(), "k8scheck")
	build := exec.Command("go", "build", "-o", check, ".")
	build.Dir = "../../scripts/k8scheck"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := newEngine(t)
	objects := map[string]string{}
	for _, line := range typed(t, "k8s") {
		if strings.HasPrefix(line, "fabemu ") {
			e.run(t, "bash", "-c", line)
			objects["docs/guide/hosts.md"] = text(t, filepath.Join(e.dir, "grid.yaml"))
		}
	}
	for _, b := range blocks(t, "../../docs/guide/hosts.md") {
		if b.kind == "yaml" && strings.HasPrefix(b.lines[0], "apiVersion:") {
			objects["docs/guide/hosts.md: "+b.lines[1]] = strings.Join(b.lines, "\n")
		}
	}
	kept, err := filepath.Glob("../../emu/study/campaign/testdata/k8s*")
	if err != nil || len(kept) != 2 || len(objects) < 2 {
		t.Fatalf("%v, %v, %d", kept, err, len(objects))
	}
	for _, name := range kept {
		objects[name] = text(t, name)
	}
	ask := func(object string) (string, error) {
		c := exec.Command(check)
		c.Stdin = strings.NewReader(object)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for name, object := range objects {
		if out, err := ask(object); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	wrong := strings.Replace(objects["docs/guide/hosts.md"], "backoffLimitPerIndex", "backofLimitPerIndex", 1)
	if out, err := ask(wrong); err == nil || !strings.Contains(out, "backofLimitPerIndex") {
		t.Errorf("a field that there is not: %v\n%s", err, out)
	}
}
