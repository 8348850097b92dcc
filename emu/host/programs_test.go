package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/host"
)

// A missing program has the name of its package.
func TestNoCommand(t *testing.T) {
	for name, want := range map[string]string{
		"iperf3":      "there is no command iperf3 on this machine: Debian and Ubuntu have it in the package iperf3",
		"ping":        "there is no command ping on this machine: Debian and Ubuntu have it in the package iputils-ping",
		"nonesuch":    "there is no command nonesuch on this machine",
		host.Umad2sim: "there is no library libumad2sim.so on this machine: Debian and Ubuntu have it in the package ibsim-utils",
	} {
		if got := host.NoCommand(name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// withPrograms makes PATH a folder with some programs.
func withPrograms(t *testing.T, names ...string) {
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// What is missing depends on PATH, and on whether one of several programs suffices.
func TestMissing(t *testing.T) {
	for _, tc := range []struct {
		use         string
		there, want []string
	}{
		{host.Containers, nil, []string{"docker", "podman"}},
		{host.Containers, []string{"podman"}, nil},
		{"programs in guests", []string{"ping"}, []string{"iperf3", "python3"}},
		{"programs in guests", []string{"ping", "python3", "iperf3"}, nil},
	} {
		withPrograms(t, tc.there...)
		if got := host.UseOf(tc.use).Missing(); !slices.Equal(got, tc.want) {
			t.Errorf("%s with %q: %q is missing, want %q", tc.use, tc.there, got, tc.want)
		}
	}
	withPrograms(t)
	want := "guests in containers need one of docker, podman, and this machine has none: Debian and Ubuntu have them in the packages docker.io, podman"
	if got := host.UseOf(host.Containers).NoUse(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	withPrograms(t, "docker")
	if got := host.UseOf(host.Containers).NoUse(); got != "" {
		t.Errorf("with docker: %q", got)
	}
}

// Known programs are found wherever a command of a shell has them.
func TestMissingIn(t *testing.T) {
	withPrograms(t, "ping")
	for command, want := range map[string][]string{
		"iperf3 -s":                                      {"iperf3"},
		"sleep 1; iperf3 -c h2 && ping h2":               {"iperf3"},
		"for i in 1 2; do iperf3 -s -p 520$i & done":     {"iperf3"},
		"x=$(netperf -H h2) timeout 5 socat - TCP:h2:80": {"netperf", "socat"},
		"(iperf3 -s|tcpdump -r -)\niperf3 -s":            {"iperf3", "tcpdump"},
		"ping h2":                                        nil,
		"/opt/iperf3 -s; cat iperf3.log; my-iperf3 -s":   nil,
		"env A=b nuttcp -S":                              {"nuttcp"},
	} {
		if got := host.MissingIn(command); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// Each program of the table has a package; and where Debian's is installed, it is the one that has
// the program, or depends on it.
func TestPackagesHaveTheirPrograms(t *testing.T) {
	patterns := []string{"-S"}
	for _, u := range host.Uses() {
		for _, name := range u.Programs {
			if host.Package(name) == "" {
				t.Errorf("%s: the table has no package of %s", u.Name, name)
			}
			patterns = append(patterns, "*/"+name)
		}
	}
	out, _ := exec.Command("dpkg", patterns...).Output() // status 1: not all are installed
	owners := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		of, path, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if of, _, _ = strings.Cut(of, ":"); strings.HasSuffix(filepath.Dir(path), "bin") || strings.HasSuffix(path, ".so") {
			owners[filepath.Base(path)] = append(owners[filepath.Base(path)], of)
		}
	}
	for name, of := range owners {
		known := host.Package(name)
		depends, _ := exec.Command("dpkg-query", "-W", "-f", "${Pre-Depends} ${Depends}", known).Output() // nothing where it is not installed
		if !slices.Contains(of, known) && !strings.Contains(string(depends), of[0]) {
			t.Errorf("%s: the table has the package %s, and dpkg %q", name, known, of)
		}
	}
	t.Logf("%d programs compared with dpkg", len(owners))
}

// The installation page has the table of optional programs.
func TestTableOfPrograms(t *testing.T) {
	text := "\n| For | Fields and commands | Programs | Packages of Debian and Ubuntu |\n|---|---|---|---|\n"
	for _, u := range host.Uses() {
		between := ", "
		if u.Any {
			between = " or "
		}
		text += fmt.Sprintf("| %s | %s | `%s` | `%s` |\n", u.Name, u.Of, strings.Join(u.Programs, "`"+between+"`"), strings.Join(host.PackagesOf(u.Programs), "`"+between+"`"))
	}
	golden.Part(t, "../../docs/guide/install.md", "<!-- The table below is written by: go test ./emu/host -update -->\n", "<!-- end of the programs -->\n", text+"\n")
}
