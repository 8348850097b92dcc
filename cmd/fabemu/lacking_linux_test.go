package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bare makes a call on a machine whose PATH has no programs.
func bare(t *testing.T, args ...string) (out, said string, status int) {
	t.Helper()
	c := exec.Command(binary, args...)
	c.Env = append(os.Environ(), "PATH="+t.TempDir())
	var o, e strings.Builder
	c.Stdout, c.Stderr, c.Dir = &o, &e, t.TempDir()
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

const noIperf = "there is no command iperf3 on this machine: Debian and Ubuntu have it in the package iperf3"

// check and doctor name the programs that a scenario needs and this machine does not have, and run
// refuses it before anything begins.
func TestMissingPrograms(t *testing.T) {
	t.Parallel()
	if _, said, status := bare(t, "check", "guest/iperf"); status != exitOK || strings.Count(said, noIperf) != 1 {
		t.Errorf("check: status %d, %s", status, said)
	}
	out, _, status := bare(t, "check", "--json", "guest/iperf")
	var all []checked
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != exitOK || len(all[0].Warnings) != 1 ||
		!strings.HasSuffix(all[0].Warnings[0].Message, noIperf) || all[0].Warnings[0].Line == 0 {
		t.Errorf("check --json: %v, status %d, %s", err, status, out)
	}
	out, said, status := bare(t, "doctor", "guest/iperf")
	if squeezed := strings.Join(strings.Fields(out), " "); status != exitOK || !strings.Contains(squeezed, "bad the scenario's programs program server: "+noIperf) ||
		!strings.Contains(squeezed, "subnet managers: opensm") {
		t.Errorf("doctor: status %d, %s\n%s", status, out, said)
	}
	dir := filepath.Join(t.TempDir(), "out")
	_, said, status = bare(t, "run", "hpl2002/fig3b", "guest/iperf", "--out", dir)
	if _, err := os.Stat(dir); status != exitMistake || !strings.Contains(said, noIperf) || err == nil {
		t.Errorf("run: status %d, %s; the folder: %v", status, said, err)
	}
	if _, said, status = bare(t, "check", "guest/netstack", "infiniband/opensm", "hpl2002/fig3b"); status != exitOK || said != "" {
		t.Errorf("check of scenarios that need nothing: status %d, %s", status, said)
	}
}

// Programs that a command may call, a container engine and a subnet manager are named too.
func TestMissingProgramsOfAllKinds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kinds.yaml")
	text := `name: kinds
model: {duration: 1s}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: pfc}}
endpoints: [{name: a, guest: tun}, {name: b, guest: {container: db, address: 10.1.0.3/24}}]
links: [a - b]
flows: [{name: there, from: a, to: b}, {name: back, from: b, to: a}]
programs:
  - {name: one, on: a, run: "true; if true; then timeout 5 tcpdump -i lo; fi"}
  - {name: two, on: b, run: nonesuch -x}
  - {name: three, on: b, run: "if true; then ping a; fi"}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	_, said, status := bare(t, "check", path)
	for _, want := range []string{
		"kinds: guests in containers need one of docker, podman, and this machine has none: Debian and Ubuntu have them in the packages docker.io, podman",
		":9:29: programs.one.run: program one: there is no command tcpdump on this machine: Debian and Ubuntu have it in the package tcpdump",
		":10:29: programs.two.run: program two: there is no command nonesuch on this machine\n",
		"program three: there is no command ping on this machine: Debian and Ubuntu have it in the package iputils-ping",
	} {
		if status != exitOK || !strings.Contains(said, want) {
			t.Errorf("check: status %d, %s; want %q", status, said, want)
		}
	}
	_, said, status = bare(t, "run", path)
	if status != exitMistake || !strings.Contains(said, "need one of docker") || !strings.Contains(said, "no command nonesuch") || strings.Contains(said, "no command tcpdump") {
		t.Errorf("run: status %d, %s", status, said)
	}
	_, said, status = bare(t, "run", "infiniband/opensm", "--subnet=1ms")
	warned := strings.Index(said, "warning: infiniband/opensm: subnet managers: there is no command opensm on this machine: Debian and Ubuntu have it in the package opensm\n")
	if waits := strings.Index(said, "waiting for a subnet manager"); status != exitFailed || warned < 0 || waits < warned {
		t.Errorf("run --subnet: status %d, %s", status, said)
	}
	if _, said, _ = bare(t, "check", "infiniband/opensm", "--set", "subnet.in-band=true"); !strings.Contains(said, "no command opensm") {
		t.Errorf("check of a subnet in-band: %s", said)
	}
}
