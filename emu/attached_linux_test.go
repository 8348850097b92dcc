package emu

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
)

// attached is a fabric of two guests that are there, a and b.
const attached = `
name: attached
model: {duration: 2500ms}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: pfc}, flow: {packet: 1600B}}
endpoints: [{name: a, guest: GUEST-A}, {name: b, guest: GUEST-B}]
links: ["a - b"]
flows: [{name: there, from: a, to: b}, {name: back, from: b, to: a}]
programs: [{name: client, at: 200ms, on: a, run: CLIENT}, {name: server, at: 100ms, on: b, run: SERVER}]
`

// sh runs a command of a shell.
func sh(t *testing.T, format string, args ...any) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", fmt.Sprintf(format, args...)).CombinedOutput()
	if err != nil {
		t.Fatalf(format+": %v, %s", append(args, err, out)...)
	}
	return string(out)
}

// newSpace makes a network namespace with its own interface.
func newSpace(t *testing.T, name, address string) {
	t.Helper()
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	sh(t, "ip netns add %s && ip -n %[1]s link set lo up && ip -n %[1]s link add own0 type bridge && ip -n %[1]s addr add %s dev own0 && ip -n %[1]s link set own0 up", name, address)
}

// inSpace starts a process in a namespace and returns its number.
func inSpace(t *testing.T, name string) int {
	t.Helper()
	c := exec.Command("nsenter", "--net=/run/netns/"+name, "sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	own := sh(t, "readlink /proc/self/ns/net")
	runtest.Await(t, "the process is in its namespace", func() bool {
		return sh(t, "readlink /proc/%d/ns/net", c.Process.Pid) != own
	})
	return c.Process.Pid
}

// runUntil runs a scenario until its programs have made a file each, by DONE, and returns the
// directory of their output. FILE is the file of ab1.
func runUntil(t *testing.T, text string, programs int) (*Result, string) {
	t.Helper()
	return runWithin(t, func(f func() error) error { return f() }, text, programs)
}

// runWithin is runUntil where within calls the run.
func runWithin(t *testing.T, within func(func() error) error, text string, programs int) (r *Result, dir string) {
	t.Helper()
	dir = t.TempDir()
	s := runtest.Load(t, strings.NewReplacer("DONE", "touch "+dir+"/done-$FABEMU_GUEST", "FILE", dir+"/done-ab1").Replace(text), runtest.Sets(t, "model.duration=60s")...)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		runtest.Await(t, "the programs have ended", func() bool {
			done, err := filepath.Glob(dir + "/done-*")
			return err != nil || len(done) == programs
		})
		time.Sleep(50 * time.Millisecond) // the shells end
	}()
	err := within(func() (err error) {
		r, err = Run(ctx, s, Options{Settings: Settings{Link: Pipe}, Directory: dir})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// outputOf returns the output of a program.
func outputOf(t *testing.T, dir, program string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "programs", program+".out"))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// runAttached runs the fabric, with four texts in their places.
func runAttached(t *testing.T, a, b, client, server string, sets ...string) (*Result, error) {
	t.Helper()
	text := strings.NewReplacer("GUEST-A", a, "GUEST-B", b, "CLIENT", client, "SERVER", server).Replace(attached)
	return Run(context.Background(), runtest.Load(t, text, runtest.Sets(t, sets...)...), Options{Settings: Settings{Link: Pipe}})
}

// Existing hosts have a device of the program's for the time of the run. All else stays
// as it was, and their namespaces stay.
func TestAttachedGuests(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip", "ping")
	t.Parallel()
	newSpace(t, "ata", "192.0.2.1/24")
	newSpace(t, "atb", "198.51.100.1/24")
	before := sh(t, "ip -n ata -br -4 addr; ip -n ata route; ip -n atb -br -4 addr; ip -n atb route")
	pid := inSpace(t, "atb")
	const ping = "ping -c 2 -i 0.1 -W 9 "
	for name, x := range map[string]struct{ a, b, client, server string }{
		"tun": {"{netns: ata, device: lossless0, address: 10.9.0.1/24, ipv6: 'fd00:9::1/64'}",
			fmt.Sprintf("{pid: %d, address: 10.9.0.2/24, ipv6: 'fd00:9::2/64'}", pid), ping + "10.9.0.2 && " + ping + "fd00:9::2", "ip -br link show dev fab0"},
		"alone": {"{kind: tap, netns: ata, address: none}", "{kind: tap, netns: atb, address: none}",
			"ip addr add 10.9.0.1/24 dev fab0; until " + ping + "10.9.0.2; do :; done", "ip addr add 10.9.0.2/24 dev fab0"},
	} {
		r, err := runAttached(t, x.a, x.b, "'"+x.client+"'", x.server)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p := r.Programs; p[0].Status != 0 || p[1].Status != 0 || r.Verdict.Level == report.Void || len(r.Drops) > 0 {
			t.Errorf("%s: programs %+v, verdict %s, drops %v, warnings %q", name, p, r.Verdict.Reason, r.Drops, r.Warnings)
		}
		if r.Guests[0].Place != "netns ata" || r.Guests[0].Namespace != "/run/netns/ata" {
			t.Errorf("%s: guest %+v", name, r.Guests[0])
		}
		if d := cmp.Diff(before, sh(t, "ip -n ata -br -4 addr; ip -n ata route; ip -n atb -br -4 addr; ip -n atb route")); d != "" {
			t.Errorf("%s: the namespaces after the run (-want +got):\n%s", name, d)
		}
	}
}

// A guest that cannot be attached is refused with the reason and the remedy, and nothing stays.
func TestAttachedMistakes(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip")
	t.Parallel()
	newSpace(t, "atm", "192.0.2.1/24")
	before := sh(t, "ip -n atm link; ip -n atm route")
	for a, want := range map[string]string{
		"{netns: nonesuch}":                      "guest a: there is no network namespace /run/netns/nonesuch: it is gone, or was never there; ip netns list shows the names",
		"{pid: 4194304}":                         "guest a: there is no network namespace /proc/4194304/ns/net: it is gone",
		"{netns: /etc/hosts}":                    "open /etc/hosts: it is not a network namespace",
		"{netns: atm, device: own0}":             "make the device own0 in /run/netns/atm: there is an interface of that name: give the guest another device",
		"{netns: atm, address: 192.0.2.1/24}":    "the address 192.0.2.1/24 is in use: own0 has 192.0.2.1/24 there; give the guest an address of another network",
		"{netns: atm, address: 192.0.2.77/16}":   "the address 192.0.2.77/16 is in use: own0 has 192.0.2.1/24 there",
		"{kind: tap, interface: nonesuch0}":      "guest a: there is no interface nonesuch0 on this machine; ip link shows the names",
		"{kind: tap, vm: lo}":                    "guest a: there is an interface lo already: choose another name for the TAP device",
		"{kind: tap, container: nonesuch-xyzzy}": "nonesuch-xyzzy",
	} {
		b := "tun"
		if strings.Contains(a, "tap") {
			b = "tap"
		}
		_, err := runAttached(t, a, b, "'true'", "'true'")
		if _, ok := err.(*Mistake); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", a, err, want)
		}
	}
	if _, err := runAttached(t, "{netns: atm}", "tun", "'true'", "'true'", "wall.dilation=10"); err == nil ||
		!strings.Contains(err.Error(), "guest a existed before the run: its kernel keeps its times") {
		t.Errorf("dilated: %v", err)
	}
	if d := cmp.Diff(before, sh(t, "ip -n atm link; ip -n atm route")); d != "" {
		t.Errorf("the namespace afterwards (-want +got):\n%s", d)
	}
}

// pair is a fabric of two guests at a switch, behind which the link to b is slow.
const pair = `
name: pair
model: {duration: 1900ms}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: CONTROL}, flow: {packet: 9000B}}
switches: {S: {kind: output-queued, memory: 200KB per port, marking: {MARKING}}}
endpoints: [{name: "ab[1-2]", guest: {kind: tap, mtu: 8900B}}]
links: ["ab1 - S", {name: slow, between: S - ab2, rate: 10Mb/s}]
flows: [{name: there, from: ab1, to: ab2}, {name: back, from: ab2, to: ab1}]
`

// Packets of guests that are ECT have CE behind a congestion point that marks, and those that are
// not have none: RED drops them. Jumbo frames pass.
func TestMarksReachGuests(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip", "ping")
	t.Parallel()
	for _, x := range []struct {
		name, control, marking, option string
		marks, drops                   bool
	}{
		{"ecn", "pfc", "scheme: ecn, min: 4KB, max: 10KB, max-p: 1", "-Q 2", true, false},
		{"ecn-fixed", "pfc", "scheme: ecn, min: 4KB, max: 10KB, max-p: 1", "-Q 0", false, false},
		{"red", "none", "scheme: red, ecn: true, min: 3 packets, max: 9 packets, max-p: 1, q-weight: 0.5", "-Q 2", true, false},
		{"red-fixed", "none", "scheme: red, ecn: true, min: 3 packets, max: 9 packets, max-p: 1, q-weight: 0.5", "-Q 0", false, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("CONTROL", x.control, "MARKING", x.marking).Replace(pair) + `
programs:
  - {name: ping, on: ab1, run: "ping -M do -c 1 -W 9 -s 8800 ab2 && ping ` + x.option + ` -c 60 -l 40 -i 0.002 -s 1000 ab2; DONE"}
  - {name: marks, on: ab2, run: "until [ -e FILE ]; do sleep 0.05; done; grep ^IpExt /proc/net/netstat; DONE"}
`
			r, dir := runUntil(t, text, 2)
			lines := strings.Split(outputOf(t, dir, "marks"), "\n")
			if len(lines) < 2 {
				t.Fatalf("counters: %q", lines)
			}
			marked := 0
			if _, err := fmt.Sscan(strings.Fields(lines[1])[slices.Index(strings.Fields(lines[0]), "InCEPkts")], &marked); err != nil {
				t.Fatal(err)
			}
			if marked > 0 != x.marks || len(r.Drops) > 0 != x.drops {
				t.Errorf("%d packets with CE, drops %+v", marked, r.Drops)
			}
			if got := outputOf(t, dir, "ping"); !strings.Contains(got, "8808 bytes from") {
				t.Errorf("jumbo frames: %s", got)
			}
		})
	}
}

// Faults of links reach guests: a loss and a delay, and flaps.
func TestFaultsReachGuests(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip", "ping")
	t.Parallel()
	base := strings.NewReplacer("CONTROL", "pfc", "marking: {MARKING}", "high: 150KB").Replace(pair)
	t.Run("loss", func(t *testing.T) {
		t.Parallel()
		_, dir := runUntil(t, base+`
faults: [{link: slow, from: S, loss: 0.4}, {link: slow, delay: 20ms}]
programs: [{name: ping, on: ab1, run: "ip neigh replace ab2 lladdr 02:00:00:00:00:03 dev fab0; ping -c 60 -i 0.01 ab2; DONE"}]
`, 1)
		out := outputOf(t, dir, "ping")
		_, after, _ := strings.Cut(out, "received, ")
		_, times, _ := strings.Cut(out, "rtt min/avg/max/mdev = ")
		var loss, least float64
		_, _ = fmt.Sscanf(after, "%f%%", &loss)
		if _, err := fmt.Sscanf(times, "%f/", &least); err != nil || least < 40 || loss < 5 || loss > 95 {
			t.Errorf("round trip %v ms, loss %v %%, %v: %s", least, loss, err, out)
		}
	})
	t.Run("flap", func(t *testing.T) {
		t.Parallel()
		const once = "ping -c 1 -W 0.2 ab2 >/dev/null"
		_, dir := runUntil(t, base+`
faults: [{link: slow, flap: 800ms, period: 2s}]
programs: [{name: ping, on: ab1, run: "until `+once+`; do :; done; while `+once+`; do :; done; until `+once+`; do :; done; echo back; DONE"}]
`, 1)
		if got := outputOf(t, dir, "ping"); got != "back\n" {
			t.Errorf("%q", got)
		}
	})
}

// The scenario guest/attached holds, between two namespaces that are there.
func TestScenarioAttached(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip", "ping", "iperf3")
	t.Parallel()
	newSpace(t, "left", "192.0.2.1/24")
	newSpace(t, "right", "192.0.2.1/24")
	s, err := Open("guest/attached")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), s, Options{Settings: Settings{Link: Pipe}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range r.Checks {
		if k.ID == "ends" && k.Outcome != report.Pass { // where the machine is busy, TCP loses time, and sends probes
			t.Errorf("%s: %v, %s", k.ID, k.Outcome, k.Reason)
		}
	}
	if len(r.Checks) != 3 || len(r.Drops) > 0 || r.Guests[0].Sent < 100 {
		t.Errorf("%d checks, drops %v, guests %+v", len(r.Checks), r.Drops, r.Guests)
	}
}

// A network card, a namespace and a virtual machine are guests of one fabric: the namespace pings
// the machine behind the card, and gets large segments of TCP from it. Afterwards the card is as it
// was, and the machine's device is gone.
func TestCardAndMachine(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip", "ping", "iperf3")
	t.Parallel()
	newSpace(t, "cm-near", "192.0.2.1/24")
	newSpace(t, "cm-far", "192.0.2.1/24")
	sh(t, "ip -n cm-near link add eth1 type veth peer name far netns cm-far && ip -n cm-far addr add 10.3.0.2/24 dev far && ip -n cm-far link set far up")
	before := sh(t, "ip -n cm-near -d link show dev eth1 2>/dev/null | grep -v qdisc; ip -n cm-near -br link | cut -c 1-10")
	const text = `
name: card
model: {duration: 1s}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: pfc}, flow: {packet: 1600B}}
switches: {S: {kind: output-queued}}
endpoints:
  - {name: card, guest: {interface: eth1}}
  - {name: space, guest: {kind: tap, address: 10.3.0.9/24}}
  - {name: machine, guest: {vm: vm8}}
links: ["card - S", "space - S", "machine - S"]
flows:
  - {name: f1, from: card, to: space}
  - {name: f2, from: card, to: machine}
  - {name: f3, from: space, to: card}
  - {name: f4, from: space, to: machine}
  - {name: f5, from: machine, to: card}
  - {name: f6, from: machine, to: space}
programs: [{name: ping, on: space, run: "until ping -c 1 -W 1 10.3.0.2; do :; done; iperf3 -c 10.3.0.2 -n 4M -R | grep receiver; DONE"}]
`
	server := exec.Command("nsenter", "--net=/run/netns/cm-far", "iperf3", "-s", "-1")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	within := func(f func() error) error { return inNamespace("cm-near", f) }
	r, dir := runWithin(t, within, text, 1)
	if got := outputOf(t, dir, "ping"); !strings.Contains(got, "4.00 MBytes") {
		t.Errorf("of 4 MB came: %s", got)
	}
	if r.Guests[0].TooLong+r.Guests[0].KernelDrops > 0 || r.Guests[0].Sent < 2000 {
		t.Errorf("of the card's frames: %+v", r.Guests[0])
	}
	if p := r.Programs[0]; r.Guests[0].Place != "interface eth1" || r.Guests[2].Place != "virtual machine at vm8" {
		t.Errorf("program %+v, guests %+v, warnings %q", p, r.Guests, r.Warnings)
	}
	if d := cmp.Diff(before, sh(t, "ip -n cm-near -d link show dev eth1 2>/dev/null | grep -v qdisc; ip -n cm-near -br link | cut -c 1-10")); d != "" {
		t.Errorf("afterwards (-want +got):\n%s", d)
	}
}
