package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// doctor --json prints one JSON object, with the keys that programs may rely on.
func TestDoctorJSON(t *testing.T) {
	c := exec.Command(binary, "doctor", "--json", "hpl2002/fig2")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range []string{
		"fabemu", "scenario", "findings",
		"figures.foreign_load", "figures.stolen_load", "figures.processors", "figures.quota", "figures.governors", "figures.clock_source", "figures.clock_read_ns",
		"figures.steering", "figures.netdev_max_backlog", "figures.buffer_asked", "figures.buffer_granted", "figures.files",
		"figures.missing", "figures.lacking", "figures.network_namespaces", "figures.user_namespaces", "figures.tun",
		"proposal.dilation", "proposal.sustained", "proposal.busy_at_ps", "proposal.trials", "proposal.reason",
	} {
		var at any = got
		for _, key := range strings.Split(path, ".") {
			m, _ := at.(map[string]any)
			at = m[key]
		}
		if at == nil {
			t.Errorf("there is no %s", path)
		}
	}
	findings, _ := got["findings"].([]any)
	if len(findings) < 9 {
		t.Errorf("%d findings", len(findings))
	}
	for _, f := range findings {
		m, _ := f.(map[string]any)
		grade, _ := m["grade"].(string)
		if !slices.Contains([]string{"good", "warning", "bad"}, grade) || m["group"] == "" || m["name"] == "" || m["value"] == "" {
			t.Errorf("%v", m)
		}
	}
}

// The results have the dilation that --dilation auto chooses, in one process and in several. It is
// none with which the run is longer than an hour, or the user's limit. On a machine that sustains
// none there is no run, and the error names the best trial and what to do.
func TestDilationAuto(t *testing.T) {
	for name, x := range map[string]struct {
		placement, dilation string
		most                int64
	}{
		"goroutine": {"goroutine", "auto", 3_600_000},
		"domain":    {"domain", "auto", 3_600_000},
		"process":   {"process", "auto", 3_600_000},
		"a limit":   {"process", "auto:20ms", 20},
	} {
		t.Run(name, func(t *testing.T) { testDilationAuto(t, x.placement, x.dilation, x.most) })
	}
}

func testDilationAuto(t *testing.T, placement, dilation string, most int64) {
	dir := filepath.Join(t.TempDir(), "out")
	c := exec.Command(binary, "run", "--dilation", dilation, "--placement", placement, "--out", dir, "-")
	c.Stdin = strings.NewReader("name: pair\nmodel: {duration: 1ms}\ndefaults: {link: {rate: 1GB/s}}\nswitches: {S: {}}\n" +
		"endpoints: [a, b]\nlinks: [a - S, b - S]\nflows: [{name: f, from: a, to: b}]\n")
	var said strings.Builder
	c.Stderr = &said
	if out, err := c.Output(); err != nil {
		_, begun := os.Stat(filepath.Join(dir, "result.json"))
		_, after, found := strings.Cut(said.String(), "sustains no dilation for pair; the best was ")
		number, _, _ := strings.Cut(after, ",")
		best, wrong := strconv.ParseInt(number, 10, 64)
		if c.ProcessState.ExitCode() != 2 || !found || begun == nil || wrong != nil || best > most || !strings.Contains(after, "end other work on this machine") {
			t.Errorf("%v\n%s\n%s", err, out, said.String())
		}
		return
	}
	_, after, ok := strings.Cut(said.String(), ": dilation ")
	number, _, ok2 := strings.Cut(after, ". The")
	if !ok || !ok2 {
		t.Fatalf("it does not say what it chose: %s", said.String())
	}
	if chosen, err := strconv.ParseInt(number, 10, 64); err != nil || chosen > most {
		t.Errorf("it chose %s, want at most %d: %v", number, most, err)
	}
	resolved, err := os.ReadFile(filepath.Join(dir, "resolved.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(resolved), "wall: {dilation: "+number+",") {
		t.Errorf("it chose %s; the resolved scenario has\n%.500s", number, resolved)
	}
	var result struct{ Dilation int64 }
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	if got := strconv.FormatInt(result.Dilation, 10); got != number {
		t.Errorf("it chose %s; result.json has %s", number, got)
	}
}
