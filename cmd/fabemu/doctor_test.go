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
		"figures.system.kernel", "figures.system.arch", "figures.system.cpu", "figures.system.cores", "figures.system.hypervisor", "figures.system.clock_source", "figures.system.governors", "figures.system.quota",
		"figures.load.foreign", "figures.load.stolen", "figures.load.mean",
		"figures.speed.floor.late", "figures.speed.floor.windows", "figures.speed.floor.watched_ns", "figures.speed.floor.read_ns", "figures.speed.floor.gap_p99_ns", "figures.speed.floor.gap_p99_9_ns", "figures.speed.floor.gap_max_ns", "figures.speed.floor.stalls", "figures.speed.floor.stalled_ns",
		"figures.speed.sleep.asked_ns", "figures.speed.sleep.late_p50_ns", "figures.speed.sleep.late_p99_ns",
		"figures.speed.datagrams", "figures.speed.inline", "figures.speed.lost_datagrams",
		"figures.limits.files", "figures.limits.files_hard", "figures.limits.buffer_asked", "figures.limits.buffer_granted",
		"figures.network.steering", "figures.network.netdev_max_backlog", "figures.network.dev_weight", "figures.network.rmem_max", "figures.network.rmem_default",
		"figures.rights.root", "figures.rights.capabilities", "figures.rights.network_namespaces", "figures.rights.user_namespaces",
		"figures.tools",
		"proposal.dilation", "proposal.for_rate", "proposal.for_lateness", "proposal.reason", "proposal.frame_ns", "proposal.busy", "proposal.busy_at_ps", "proposal.busy_for_ps", "proposal.busy_frames", "proposal.busy_data", "proposal.covered_ps", "proposal.steady", "proposal.expected", "proposal.packet_time_ps",
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
	if len(findings) < 15 {
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

// What --dilation auto chooses is what stands in the results.
func TestDilationAuto(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	c := exec.Command(binary, "run", "--dilation", "auto", "--out", dir, "-")
	c.Stdin = strings.NewReader("name: pair\nmodel: {duration: 1ms}\ndefaults: {link: {rate: 1GB/s}}\nswitches: {S: {}}\n" +
		"endpoints: [a, b]\nlinks: [a - S, b - S]\nflows: [{name: f, from: a, to: b}]\n")
	var said strings.Builder
	c.Stderr = &said
	if out, err := c.Output(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, said.String())
	}
	_, after, ok := strings.Cut(said.String(), ": dilation ")
	number, _, ok2 := strings.Cut(after, ". The busiest")
	if !ok || !ok2 {
		t.Fatalf("it does not say what it chose: %s", said.String())
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
