package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
)

// programs is a scenario whose guests, of names that no other has, run programs of all kinds.
const programs = `
name: programs
model: {duration: 2s}
wall: {dilation: 1}
defaults:
  link: {rate: 100Mb/s, flow-control: pfc}
switches: {S: {kind: output-queued}}
endpoints: [{name: "NAME[1-2]", guest: tun}]
links: ["NAME[1-2] - S"]
flows: [{name: there, from: NAME1, to: NAME2}, {name: back, from: NAME2, to: NAME1}]
programs:
  - {name: names, on: NAME1, run: "grep NAME2 /etc/hosts; ls /sys/class/net"}
  - {name: json, on: "NAME[1-2]", at: 100ms, run: "echo '{\"a\": [1, {\"b\": 2.5, \"c\": \"x\"}]}'"}
  - {name: three, on: NAME2, run: exit 3}
  - {on: NAME2, run: "sleep SECONDS & echo begun; sleep SECONDS"}
expect:
  - {id: status, metric: three.status, low: 3, high: 3}
  - {id: number, metric: json-NAME1.json.a.1.b, low: 2.5, high: 2.5}
  - {id: no-number, metric: json-NAME2.json.a.1.c, low: 0, high: 1}
  - {id: no-key, metric: json-NAME2.json.a.2, low: 0, high: 1}
  - {id: no-json, metric: names.json.a, low: 0, high: 1}
  - {id: no-end, metric: NAME2-3.status, low: 0, high: 1}
`

// writePrograms writes that scenario, with names and a number of seconds of its own.
func writePrograms(t *testing.T, name, seconds string) string {
	t.Helper()
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "programs.yaml")
	text := strings.NewReplacer("NAME", name, "SECONDS", seconds).Replace(programs)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// sleeps returns how many processes sleep for so many seconds.
func sleeps(t *testing.T, seconds string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if b, err := os.ReadFile(path); err == nil && string(b) == "sleep\x00"+seconds+"\x00" {
			n++
		}
	}
	return n
}

// Programs run in their guests at their time, their output is kept and can be asked for, and
// what does not end is killed with all that it has started. Meanwhile fabemu exec runs others.
func TestPrograms(t *testing.T) {
	t.Parallel()
	scenario := writePrograms(t, "pa", "31415")
	out := filepath.Join(t.TempDir(), "out")
	run := exec.Command(binary, "run", scenario, "--link", "pipe", "--set", "model.duration=6s", "--out", out)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "two programs sleep", func() bool { return sleeps(t, "31415") == 2 })
	said, err := exec.Command(binary, "exec", "pa2", "--", "sh", "-c", "grep pa1 /etc/hosts; ls /sys/class/net; exit 7").CombinedOutput()
	if got := status(err); got != 7 || string(said) != "10.0.0.1\tpa1\nfab0\nlo\n" {
		t.Errorf("exec: status %d, %q", got, said)
	}
	shell := exec.Command(binary, "shell", "pa2")
	shell.Env = append(os.Environ(), "SHELL=/bin/sh")
	shell.Stdin = strings.NewReader("grep pa1 /etc/hosts\nls /sys/class/net\nexit 8\n")
	said, err = shell.CombinedOutput()
	if got := status(err); got != 8 || string(said) != "10.0.0.1\tpa1\nfab0\nlo\n" {
		t.Errorf("shell: status %d, %q", got, said)
	}
	for want, args := range map[string][]string{
		"has a guest pa3 with a network namespace; there are ": {"exec", "pa3", "--", "true"}, "has a guest pa4 with a network namespace; there are ": {"shell", "pa4"}, "no command nonesuch": {"exec", "pa1", "--", "nonesuch"},
	} {
		said, err := exec.Command(binary, args...).CombinedOutput()
		if got := status(err); got != exitMistake || !strings.Contains(string(said), want) {
			t.Errorf("%v: status %d, %s; want %q", args, got, said, want)
		}
	}
	if got := status(run.Wait()); got != exitCheck {
		t.Errorf("status %d", got)
	}
	if n := sleeps(t, "31415"); n > 0 {
		t.Errorf("%d programs live on", n)
	}
	b, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Result
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	checks, ended := map[string]string{}, map[string]string{}
	for _, k := range r.Checks {
		checks[k.ID] = string(k.Outcome) + " " + k.Reason
	}
	want := map[string]string{
		"status": "pass ", "number": "pass ", "no-number": "fail a.1.c is not a number in its output", "no-key": "fail its output has no a.2: the list there has 2 items",
		"no-json": "fail its output is not JSON: json: cannot unmarshal number .0.0 into Go value of type float64", "no-end": "fail it has no exit status: it was killed at the end of the run",
	}
	if d := cmp.Diff(want, checks, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["no-json"]` }, cmp.Ignore())); d != "" {
		t.Errorf("checks (-want +got):\n%s", d)
	}
	if !strings.HasPrefix(checks["no-json"], "fail its output is not JSON") {
		t.Errorf("no JSON: %q", checks["no-json"])
	}
	for _, p := range r.Programs {
		ended[p.Name] = p.Ended
	}
	if d := cmp.Diff(map[string]string{
		"names": "ended with status 0", "json-pa1": "ended with status 0", "json-pa2": "ended with status 0", "three": "ended with status 3", "pa2-3": "killed at the end of the run",
	}, ended); d != "" {
		t.Errorf("programs (-want +got):\n%s", d)
	}
	for file, want := range map[string]string{"names.out": "10.0.0.2\tpa2\nfab0\nlo\n", "pa2-3.out": "begun\n", "three.err": ""} {
		if got, err := os.ReadFile(filepath.Join(out, "programs", file)); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
}

// Of a run with guests that is killed nothing lives on, and cleanup removes its namespaces.
func TestKilledWithGuests(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	run := exec.Command(binary, "run", writePrograms(t, "kb", "27182"), "--link", "pipe", "--set", "model.duration=100s", "--out", filepath.Join(t.TempDir(), "out"))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "two programs sleep", func() bool { return sleeps(t, "27182") == 2 })
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	runtest.Await(t, "the programs are gone", func() bool { return sleeps(t, "27182") == 0 })
	if said, err := exec.Command(binary, "cleanup").CombinedOutput(); err != nil {
		t.Errorf("cleanup: %v, %s", err, said)
	}
	left, err := filepath.Glob("/run/netns/fabemu-*-kb?")
	if len(left) > 0 || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}

// A program that there is not is refused before anything runs, and nothing is left.
func TestProgramThatThereIsNot(t *testing.T) {
	t.Parallel()
	path := writePrograms(t, "pc", "1")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), "run: exit 3", "run: nonesuch 3", 1)), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	const three = ": program three: there is no command nonesuch on this machine"
	for want, set := range map[string]string{
		path + ":14:33: programs.three.run" + three: "model.seed=2", "--set programs.three.run=nonesuch -x" + three: "programs.three.run=nonesuch -x",
	} {
		said, err := exec.Command(binary, "run", path, "--set", set, "--out", filepath.Join(t.TempDir(), "out")).CombinedOutput()
		if got := status(err); got != exitMistake || !strings.Contains(string(said), want) {
			t.Errorf("status %d, %s; want %q", got, said, want)
		}
	}
	if left, _ := filepath.Glob("/run/netns/fabemu-*-pc?"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A guest that takes its device away is an event of a run that continues to its end; a run that is
// aborted leaves namespaces, and the next one removes them, whatever it is of.
func TestGuestsThatBreak(t *testing.T) {
	t.Attr("depends-on", "privileges")
	runtest.NeedTools(t, "ip")
	t.Parallel()
	scenario := writePrograms(t, "pb", "31416")
	text, err := os.ReadFile(scenario)
	if err != nil {
		t.Fatal(err)
	}
	breaks := filepath.Join(t.TempDir(), "breaks.yaml")
	text = append(text[:strings.Index(string(text), "programs:")], "programs: [{name: breaks, at: 500ms, on: pb2, run: ip link del fab0}]\n"...)
	if err := os.WriteFile(breaks, text, 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	said, err := exec.Command(binary, "run", breaks, "--link", "pipe", "--out", out).CombinedOutput()
	if got := status(err); got != exitOK || !strings.Contains(string(said), "device-gone of guest pb2: its device fab0 is gone") {
		t.Errorf("status %d, %s", got, said)
	}
	d, err := report.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if d.Partial || d.Verdict.Level == report.Void || len(d.Programs) != 1 || d.Programs[0].Status != 0 {
		t.Errorf("partial %t, %s: %s, programs %+v", d.Partial, d.Verdict.Level, d.Verdict.Reason, d.Programs)
	}

	aborted := exec.Command(binary, "run", scenario, "--link", "pipe", "--set", "model.duration=60s", "--out", filepath.Join(t.TempDir(), "aborted"))
	if err := aborted.Start(); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "a program sleeps", func() bool { return sleeps(t, "31416") > 0 })
	aborted.Process.Signal(syscall.SIGABRT)
	aborted.Wait()
	left := func() bool {
		runs, _ := netns.Find()
		return slices.ContainsFunc(runs, func(r *netns.Run) bool { return int(r.PID) == aborted.Process.Pid })
	}
	small := exec.Command(binary, "run", "../../docs/examples/incast.yaml", "--link", "pipe", "--set", "model.duration=100us", "--out", filepath.Join(t.TempDir(), "small"))
	if said, err := small.CombinedOutput(); status(err) > exitCheck {
		t.Errorf("the next run: %v, %s", err, said)
	}
	if left() {
		t.Error("the next run has removed nothing")
	}
}
