package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
)

// spaces makes network namespaces, with a process in each, and returns the numbers of the
// processes.
func spaces(t *testing.T, names ...string) (pids []int) {
	t.Helper()
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	runtest.NeedTools(t, "ip", "ping")
	for _, name := range names {
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
		command(t, "ip", "netns", "add", name)
		c := exec.Command("nsenter", "--net=/run/netns/"+name, "sleep", "600")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		pids = append(pids, c.Process.Pid)
		own, err := os.Readlink("/proc/self/ns/net")
		if err != nil {
			t.Fatal(err)
		}
		runtest.Await(t, "the process is in its namespace", func() bool {
			its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", c.Process.Pid))
			return err == nil && its != own
		})
	}
	return pids
}

// has reports whether a namespace has a device.
func has(name, device string) bool {
	return exec.Command("ip", "-n", name, "link", "show", "dev", device, "up").Run() == nil
}

// answers waits until an address answers pings from a namespace. On a busy machine it does not
// answer the first ones: ping gives up after some tenths of a second, and the kernel after three
// requests for the hardware address.
func answers(t *testing.T, name, address string) {
	t.Helper()
	runtest.Await(t, address+" answers "+name, func() bool {
		said, _ := exec.Command("ip", "netns", "exec", name, "ping", "-c", "3", "-i", "0.1", "-w", "9", address).CombinedOutput()
		return strings.Contains(string(said), "3 received")
	})
}

// A link joins two namespaces until Ctrl-C, which is its usual end; --print has its counterpart.
func TestLinkCommand(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	pids := spaces(t, "lk-a", "lk-b")
	ends := []string{"netns:lk-a,device=wire0", fmt.Sprintf("pid:%d,address=10.0.7.7/16", pids[1])}
	args := append(append([]string{"link"}, ends...), "--rate", "50Mb/s", "--delay", "100us", "--loss", "0", "--flow-control", "pfc")
	out := filepath.Join(t.TempDir(), "out")
	run := exec.Command(binary, append(args, "--link", "pipe", "--pcap", "--out", out)...)
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "both ends have devices", func() bool { return has("lk-a", "wire0") && has("lk-b", "fab0") })
	answers(t, "lk-a", "10.0.7.7")
	for name, want := range map[string]string{"A": "wire0", "B": "10.0.7.7"} { // the namespaces were there before the run
		call := exec.Command(binary, "exec", name, "--", "sh", "-c", "ip address show; grep 10.0.7.7 /etc/hosts")
		if got, err := call.CombinedOutput(); err != nil || !strings.Contains(string(got), want) || !strings.Contains(string(got), "10.0.7.7\tB") {
			t.Errorf("exec %s: %v, %s", name, err, got)
		}
	}
	if got, err := exec.Command(binary, "exec", "C", "--", "true").CombinedOutput(); status(err) != exitMistake || !strings.Contains(string(got), "no active run has a guest C with a network namespace; there are ") {
		t.Errorf("exec C: %v, %s", err, got)
	}
	if err := run.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, &said)
	}
	for _, want := range []string{
		"link: A is netns lk-a, device wire0, address 10.0.0.1/16\n", fmt.Sprintf("link: B is pid %d, device fab0, address 10.0.7.7/16\n", pids[1]),
		"link: fabemu exec A -- COMMAND runs a command there\n", fmt.Sprintf("link: Ctrl-C ends it, or kill -INT %d\n", run.Process.Pid),
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, &said)
		}
	}
	if strings.Contains(said.String(), "24h") || strings.Contains(said.String(), "(model time ") {
		t.Errorf("it shows how much is left of its bound:\n%s", &said)
	}
	if has("lk-a", "wire0") || has("lk-b", "fab0") {
		t.Error("a device stays")
	}
	for _, file := range []string{"result.json", "fabric.pcapng"} {
		if st, err := os.Stat(filepath.Join(out, file)); err != nil || st.Size() < 500 {
			t.Errorf("%s: %v, %v", file, st, err)
		}
	}
	printed := command(t, append([]string{binary}, append(args, "--loss", "1e-4", "--print")...)...)
	for _, want := range []string{"rate: 50Mb/s, propagation: 100us, flow-control: pfc", "{kind: tap, netns: lk-a, device: wire0, mtu: 1500B}", "loss: 0.0001"} {
		if !strings.Contains(printed, want) {
			t.Errorf("printed, without %q:\n%s", want, printed)
		}
	}
	file := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.WriteFile(file, []byte(printed), 0o666); err != nil {
		t.Fatal(err)
	}
	command(t, binary, "check", file)
}

// An end that is none is refused, with the reason.
func TestLinkMistakes(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	container := "nonesuch-xyzzy"
	_, docker := exec.LookPath("docker")
	if _, podman := exec.LookPath("podman"); docker != nil && podman != nil {
		container = "guests in containers need one of docker, podman"
	}
	for call, want := range map[string]string{
		"new web":                     `end "web": an end is new, or one of netns:, pid:, container:, interface:, vm: with a name behind it, such as netns:web`,
		"new netns:":                  `end "netns:": an end is new`,
		"new new,address":             `end "new,address": "address" is not a field of a guest and its value, such as address=10.1.0.1/24`,
		"new new,mac=3":               `"3" is not the hardware address`,
		"new netns:a,pid=7":           "guest B is in several places",
		"new new --rate 3":            "defaults.link.rate",
		"new new --mtu many":          "--mtu: ",
		"new new --loss 2":            "2 is out of range",
		"new":                         "accepts 2 arg(s), received 1",
		"new netns:nonesuch":          "guest B: there is no network namespace /run/netns/nonesuch",
		"interface:nonesuch0 new":     "guest A: there is no interface nonesuch0 on this machine",
		"pid:0 new":                   `"0" is not a whole number from 1 to 4194304`,
		"interface:lo new":            "guest A: interface lo is the loopback: no host is behind it",
		"new netns:" + pipe:           "open " + pipe + ": it is not a network namespace",
		"new netns:/proc/self/ns/mnt": "open /proc/self/ns/mnt: it is not a network namespace",
		"new netns:/etc/passwd":       "open /etc/passwd: it is not a network namespace",
		"container:nonesuch-xyzzy new --delay 2us": container,
	} {
		said, err := exec.Command(binary, append(append([]string{"link"}, strings.Fields(call)...), "--out", filepath.Join(t.TempDir(), "out"))...).CombinedOutput()
		if strings.Contains(string(said), "which this process lacks") {
			continue // without rights, the namespaces are not looked for
		}
		if got := status(err); got != exitMistake || !strings.Contains(string(said), want) {
			t.Errorf("%s: status %d, %s; want %q", call, got, said, want)
		}
	}
}

// lab is a topology of containerlab. Its third link, and the MTU of its second, are left out.
const lab = `
name: tri
topology:
  kinds: {linux: {image: alpine:3}}
  nodes:
    one: {kind: linux, exec: [ip addr add 10.5.0.1/24 dev eth1]}
    two: {kind: linux}
    router: {kind: linux, image: quay.io/frrouting/frr:10.2.1, binds: ["frr.conf:/etc/frr/frr.conf"]}
  links:
    - endpoints: ["one:eth1", "router:eth1"]
    - {type: veth, mtu: 1500, endpoints: [{node: two, interface: eth1, mac: "aa:c1:ab:00:00:02", ipv4: 10.6.0.1/24}, {node: router, interface: eth2, mac: "aa:c1:ab:00:00:03"}]}
    - endpoints: ["two:eth3", "host:two-eth3"]
`

// The links of a topology of containerlab join the containers of its nodes. There is no engine of
// containers here: a fake docker prints the numbers of processes in namespaces of this test.
func TestImportClab(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	pids := spaces(t, "cl-one", "cl-two", "cl-router")
	dir := t.TempDir()
	fake := fmt.Sprintf("#!/bin/sh\n# a fake: of docker inspect, and for these containers alone\ncase \"$1 $6\" in\n"+
		"'inspect clab-tri-one') echo %d;;\n'inspect clab-tri-two') echo %d;;\n'inspect clab-tri-router') echo %d;;\n*) exit 1;;\nesac\n", pids[0], pids[1], pids[2])
	topology, scenario := filepath.Join(dir, "tri.clab.yml"), filepath.Join(dir, "tri.yaml")
	for name, text := range map[string]string{filepath.Join(dir, "docker"): fake, topology: lab} {
		if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=" + dir + ":" + os.Getenv("PATH")
	said := command(t, binary, "import", "clab", topology, "--out", scenario)
	for _, want := range []string{"left out: the MTU 9500, containerlab's default: 68 to 8970 are possible, and 8970 is the MTU of link 1", "left out: link 3: its end host:two-eth3 is not a node"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	run := exec.Command(binary, "run", scenario, "--link", "pipe", "--quiet", "--set", "defaults.link.rate=100Mb/s", "--out", filepath.Join(dir, "out"))
	run.Env = append(os.Environ(), path)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	runtest.Await(t, "the links are there", func() bool {
		return has("cl-one", "eth1") && has("cl-two", "eth1") && has("cl-router", "eth1") && has("cl-router", "eth2")
	})
	command(t, "sh", "-ec", `ip -n cl-one addr add 10.5.0.1/24 dev eth1; ip -n cl-one route add default via 10.5.0.2
		ip -n cl-router addr add 10.5.0.2/24 dev eth1; ip -n cl-router addr add 10.6.0.2/24 dev eth2
		ip netns exec cl-router sysctl -qw net.ipv4.ip_forward=1
		ip -n cl-two route add default via 10.6.0.2`)
	for _, end := range [][3]string{{"cl-two", "eth1", "aa:c1:ab:00:00:02"}, {"cl-router", "eth2", "aa:c1:ab:00:00:03"}} {
		if got := command(t, "ip", "-n", end[0], "link", "show", end[1]); !strings.Contains(got, "link/ether "+end[2]) {
			t.Error(got)
		}
	}
	if got := command(t, "ip", "-n", "cl-one", "route"); strings.Contains(got, "10.6.0.1") {
		t.Errorf("a guest that was there has a route to an end of another link: %s", got)
	}
	answers(t, "cl-one", "10.6.0.1")

	// Two engines have a container of one name; the daemon of an engine does not run.
	both, down := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(down, "docker"), []byte("#!/bin/sh\necho Cannot connect. >&2; exit 1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"docker", "podman"} {
		if err := os.WriteFile(filepath.Join(both, engine), []byte("#!/bin/sh\necho 7\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	hangs, floods := t.TempDir(), t.TempDir()
	for where, text := range map[string]string{hangs: "sleep 600", floods: "while :; do echo 7; done"} {
		if err := os.WriteFile(filepath.Join(where, "docker"), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for where, want := range map[string]string{
		hangs:  "guest A: there is no container web: docker finds none (docker: it does not answer within 10s); start it",
		floods: "guest A: there is no container web: docker finds none (docker: it prints more than 64 KiB); start it",
		both:   "guest A: two containers have the name web, of docker and podman: give the id of one of them, or its process by pid",
		dir:    "guest A: there is no container web: docker finds none; start it, or list them (docker ps)",
		down:   "guest A: there is no container web: docker finds none (docker: Cannot connect.); start it, or list them (docker ps)",
	} {
		c := exec.Command(binary, "link", "container:web", "new", "--out", filepath.Join(t.TempDir(), "out"))
		c.Env = append(os.Environ(), "PATH="+where)
		if said, err := c.CombinedOutput(); status(err) != exitMistake || !strings.Contains(string(said), want) {
			t.Errorf("status %d, %s; want %q", status(err), said, want)
		}
	}
}

// A file that is not a topology, or has no link for a scenario, is refused.
func TestImportClabMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "this is not a containerlab topology",
		"name: [":                           "this is not a containerlab topology",
		"name: x":                           "this is not a containerlab topology: it has no name, or no topology.nodes",
		"name: x\ntopology: {nodes: {a: }}": "the topology has no links",
		"name: x\ntopology: {nodes: {a: {kind: bridge}}, links: [{endpoints: [a:e, a:f]}]}": "link 1: its node a is a bridge, and not a container",
		"name: x\ntopology: {nodes: {a: }, links: [{endpoints: [a:eth1, b:eth1]}]}":         "link 1: the topology has no node of its end b:eth1",
		"name: x\ntopology: {nodes: {a: }, links: [{endpoints: [a:1/1, a:2]}]}":             "link 1: the interface of its end a:1/1 is not the name of a device",
		"name: x\ntopology: {nodes: {a: }, links: [{endpoints: [a:eth1]}]}":                 "link 1: it has 1 endpoints, and not two",
		"name: x\ntopology: {nodes: {a: }, links: [{type: vxlan, endpoint: {}}]}":           "link 1: it is of type vxlan",
	} {
		file := filepath.Join(t.TempDir(), "x.clab.yml")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(binary, "import", "clab", file).CombinedOutput()
		if got := status(err); got != exitMistake || !strings.Contains(string(said), want) {
			t.Errorf("%q: status %d, %s; want %q", text, got, said, want)
		}
	}
}
