package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
)

// listen starts a real tcpdump that writes to a file, and returns when it listens.
// The function that it returns ends it, once the file has some bytes in it, and says how
// many packets the kernel kept from it.
func listen(t *testing.T, path string, args ...string) (end func(last []byte) (dropped string)) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// The kernel's buffer has a slot of the length of -s for each packet: 64 where that is not
	// said.
	c := exec.Command(args[0], append(args[1:], "-U", "--immediate-mode", "-B", "16384", "-s", "4096", "-w", "-")...)
	c.Stdout = file
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	for b := make([]byte, 1); !strings.Contains(words.String(), "listening on"); words.Write(b) {
		if _, err := said.Read(b); err != nil {
			if err := c.Wait(); !strings.Contains(words.String(), "permission") {
				t.Fatalf("%q: %v\n%s", args, err, words.String())
			}
			t.Skip("tcpdump may not capture here (CAP_NET_RAW): ", strings.TrimSpace(words.String()))
		}
	}
	return func(last []byte) string {
		runtest.Await(t, "tcpdump has seen the last packet", func() bool {
			b, err := os.ReadFile(path)
			return err != nil || bytes.Contains(b, last)
		})
		c.Process.Signal(syscall.SIGINT)
		rest, _ := io.ReadAll(said)
		c.Wait()
		found := regexp.MustCompile(`(\d+) packets? dropped by kernel`).FindSubmatch(rest)
		if found == nil {
			t.Fatalf("tcpdump: %s", rest)
		}
		return string(found[1])
	}
}

const capturedScenario = `
name: captured
model: {duration: 200us}
wall: {dilation: 1000}
defaults:
  link: {rate: 1GB/s, buffer: 2 packets}
  switch: {marking: {scheme: input-output, threshold: 1}}
switches: {S: {}}
endpoints: ["A[1-2]", B]
links: ["A[1-2] - S", {name: root, between: S - B}]
flows: [{name: all, from: "A[1-2]", to: B}]
`

// dumped prints a capture with --check.
func dumped(t *testing.T, path string) (string, error) {
	t.Helper()
	out, err := exec.Command(binary, "dump", "--check", path).CombinedOutput()
	return string(out), err
}

// What tcpdump sees of a run on the loopback interface is, frame for frame, what the
// capture of the run has, and proves that all was right.
func TestTcpdumpOfARunIsItsCapture(t *testing.T) {
	t.Attr("depends-on", "privileges")
	runtest.NeedTools(t, "tcpdump")
	dir := t.TempDir()
	scenario := filepath.Join(dir, "captured.yaml")
	if err := os.WriteFile(scenario, []byte(capturedScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	for try := range 5 { // the ports may be in use, or the kernel have no room
		port := 20000 + (os.Getpid()*16+try*4001)%10000
		links, out := filepath.Join(dir, fmt.Sprintf("links%d.pcap", try)), filepath.Join(dir, fmt.Sprintf("out%d", try))
		end := listen(t, links, "tcpdump", "-i", "lo", "udp", "portrange", fmt.Sprintf("%d-%d", port, port+5))
		last := []byte("no frame: the last packet for tcpdump")
		goodbye, err := net.Dial("udp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer goodbye.Close()
		said, err := exec.Command(binary, "run", "--packing", "single", "--pcap", "--pcap-both", "--pcap-snap", "0", "--verify", "off", "--set", fmt.Sprintf("wall.udp-port=%d", port), "--out", out, scenario).CombinedOutput()
		if _, err := goodbye.Write(last); err != nil {
			t.Fatal(err)
		}
		dropped := end(last)
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitMistake {
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if dropped != "0" {
			t.Logf("the kernel kept %s packets from tcpdump: there is nothing to compare", dropped)
			continue
		}
		ours, err := dumped(t, filepath.Join(out, "fabric.pcapng"))
		if err != nil {
			t.Fatalf("%v\n%s", err, ours)
		}
		theirs, err := dumped(t, links)
		if err != nil || !regexp.MustCompile(`credit +[1-9]\d+ frames .* all right`).MatchString(theirs) || !regexp.MustCompile(`sequence +[1-9]\d+ numbers .* all right`).MatchString(theirs) {
			t.Errorf("%v\n%s", err, theirs)
		}
		// tcpdump's has no names: A1 has queue pair 2, and nodes have these addresses.
		names := strings.NewReplacer("flow=all.A1 ", "qp=2 ", "flow=all.A2 ", "qp=3 ", "=A1 ", "=2 ", "=A2 ", "=3 ", "=B ", "=4 ")
		frames := func(text string) map[string]int {
			count := map[string]int{}
			for _, m := range regexp.MustCompile(`  start   (\S.*? bytes=\d+)`).FindAllStringSubmatch(text, -1) {
				count[names.Replace(m[1])]++
			}
			return count
		}
		want, got := frames(ours), frames(theirs)
		if len(want) < 100 {
			t.Errorf("only %d kinds of frames in\n%s", len(want), ours)
		}
		for f, n := range want {
			if got[f] != n {
				t.Errorf("%s: %d times on the loopback interface, %d times in the capture", f, got[f], n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d kinds of frames on the loopback interface, %d in the capture", len(got), len(want))
		}
		return
	}
	t.Fatal("five times others had the ports, or the kernel kept packets from tcpdump")
}

// The same on a port of a run over veth pairs, while it runs.
func TestTcpdumpOfARunOverVeth(t *testing.T) {
	t.Attr("depends-on", "privileges")
	runtest.NeedTools(t, "tcpdump", "ip")
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	r := startVeth(t)
	defer func() {
		r.Process.Signal(os.Interrupt)
		r.Wait()
	}()
	id := ""
	r.await(t, "the namespace of B", func() bool {
		id = r.id()
		if id == "" {
			return false
		}
		up, err := exec.Command("ip", "-n", "fabemu-"+id+"-B", "link", "show", "fab0", "up").Output()
		return err == nil && bytes.Contains(up, []byte("LOWER_UP"))
	})
	path := filepath.Join(t.TempDir(), "links.pcap")
	end := listen(t, path, "ip", "netns", "exec", "fabemu-"+id+"-B", "tcpdump", "-i", "fab0", "-c", "40")
	r.await(t, "tcpdump has seen some packets", func() bool { info, err := os.Stat(path); return err == nil && info.Size() > 10_000 })
	end(nil)
	out, err := dumped(t, path)
	if err != nil || !strings.Contains(out, " data qp=") || !strings.Contains(out, " fcp lane=") || strings.Contains(out, "other: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A capture in several compressed files: Wireshark opens each, and fabemu dump proves with
// all of them what it proves with one, and with a later one alone says what is missing.
func TestRotatedCapture(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "captured.yaml")
	if err := os.WriteFile(scenario, []byte(capturedScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(out string, args ...string) string {
		t.Helper()
		said, err := exec.Command(binary, append([]string{"run", "--clock", "virtual", "--out", out, scenario}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return out
	}
	one, err := dumped(t, filepath.Join(run(filepath.Join(dir, "one"), "--pcap", "--pcap-snap", "128"), "fabric.pcapng"))
	if err != nil {
		t.Fatalf("%v\n%s", err, one)
	}
	files, err := filepath.Glob(filepath.Join(run(filepath.Join(dir, "many"), "--pcap=mail.pcapng.gz", "--pcap-snap", "128", "--pcap-rotate", "50KB"), "mail-*.pcapng.gz"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v", files, err)
	}
	many, err := exec.Command(binary, append([]string{"dump", "--check"}, files...)...).CombinedOutput()
	if err != nil || string(many) != one {
		t.Errorf("%v: %d files prove other things than one:\n%s", err, len(files), many)
	}
	last, err := dumped(t, files[len(files)-1])
	if err != nil || !strings.Contains(last, "incomplete: 1 parts of a split capture are missing") || !regexp.MustCompile(`credit +[1-9]\d* frames .* all right`).MatchString(last) {
		t.Errorf("%v\n%s", err, last)
	}
	for _, c := range []struct{ args, words string }{
		{"--pcap=mail.txt", "--pcap=mail.txt: give the name of a file"},
		{"--pcap=../mail.pcapng", "--pcap=../mail.pcapng: give the name of a file"},
		{"--pcap --pcap-rotate=50", `"50" has no unit`},
		{"--pcap --pcap-rotate=5KB", "a capture in files of 5KB: the start and the end of each file, and a frame, take "},
	} {
		said, err := exec.Command(binary, append([]string{"run", "--clock", "virtual", "--out", filepath.Join(dir, "wrong"), scenario}, strings.Fields(c.args)...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitMistake || !strings.Contains(string(said), c.words) {
			t.Errorf("%s: %v\n%s", c.args, err, said)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "wrong")); len(left) > 0 {
			t.Errorf("%s leaves %v", c.args, left)
		}
	}
	runtest.NeedTools(t, "tshark")
	packets := 0
	for _, f := range files {
		c := exec.Command("tshark", "-r", f, "-T", "fields", "-e", "frame.interface_name")
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
		out, err := c.Output()
		if err != nil || !strings.Contains(string(out), "S:2 <- B") {
			t.Fatalf("%s: %v\n%.300s", f, err, out)
		}
		packets += strings.Count(string(out), "\n")
	}
	if want := strings.Count(one, "\n"); packets < want-10 || packets > want {
		t.Errorf("tshark sees %d packets, of %d lines", packets, want)
	}
}
