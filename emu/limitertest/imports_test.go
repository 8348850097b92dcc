package limitertest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A program that tests a limiter compiles nodes, their driver and the sockets of the system: no TCP
// stack, no drawing, no scenarios.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string][]string{ // and their packages that may be imported, by the first part of the path
		"fabemu": {"wire", "node", "switchd/cp", "emu/host", "emu/limitertest", "emu/base/errs", "emu/study/limiters/bench"},
		"github.com/HdrHistogram/hdrhistogram-go": {""},
		"golang.org/x/net":                        {"bpf"},
		"golang.org/x/sys":                        {"unix"},
	}
	for line := range strings.Lines(string(out)) {
		module, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path == "" {
			continue // of the standard library
		}
		inside := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		if !slices.ContainsFunc(modules[module], func(p string) bool { return inside == p || strings.HasPrefix(inside, p+"/") }) {
			t.Errorf("limitertest imports %s", path)
		}
	}
}
