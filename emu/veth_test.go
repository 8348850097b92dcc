package emu

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/capture/dissector"
	"fabemu/emu/watch/capture/dump"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// needNamespaces skips a test of namespaces where the rights for them or some programs are missing.
func needNamespaces(t testing.TB, programs ...string) {
	t.Helper()
	runtest.NeedTools(t, programs...)
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
}

// Over veth pairs between namespaces every scenario of the paper has the log of the
// virtual clock.
func TestLogOverVethIsThatOfTheVirtualClock(t *testing.T) {
	t.Attr("depends-on", "privileges")
	logOverVeth(t, VerifyOn, report.VerifiedEqual, "fig2")
}

func TestModelLogOverVethIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	logOverVeth(t, VerifyOff, "", "fig3a", "fig3b", "fig3c", "fig3d")
}

func logOverVeth(t *testing.T, verify Verify, verified report.Verified, figures ...string) {
	needNamespaces(t)
	for _, name := range figures {
		t.Run(name, func(t *testing.T) {
			s := runtest.Short(t, "hpl2002/"+name, "4ms", "wall.dilation=20")
			want, virtual := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
			got, wall := logOf(t, s, Options{Settings: Settings{Link: Veth}, Verify: verify})
			if virtual != wall {
				t.Errorf("the logs differ: %s", runtest.FirstDifference(virtual, wall))
			}
			if want.Digest == "" || got.Digest != want.Digest || got.Verdict.Verify != verified {
				t.Errorf("digest %s, verified %q; want %s, %q", got.Digest, got.Verdict.Verify, want.Digest, verified)
			}
			if got.Link != "veth" || got.Verdict.LostDatagrams != 0 || got.Verdict.Refused != 0 {
				t.Errorf("link %s, %d lost, %d refused", got.Link, got.Verdict.LostDatagrams, got.Verdict.Refused)
			}
		})
	}
}

// Sixty namespaces, 10 ms of model time: the checks hold, and nothing is lost.
func TestSixtyNamespaces(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t)
	text, err := generate.Write("hpl2002", generate.Options{Endpoints: 58})
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load("sixty.yaml", text, []scenario.Set{{Path: "model.duration", Value: "10ms"}, {Path: "wall.dilation", Value: "20"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), s, Options{Settings: Settings{Link: Veth}, Verify: VerifyOn})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Metrics.Fabric().Nodes); n != 60 {
		t.Errorf("%d nodes", n)
	}
	if len(r.Checks) == 0 {
		t.Error("no checks")
	}
	for _, c := range r.Checks {
		if c.Outcome != report.Pass {
			t.Errorf("%s: %v, %v", c.ID, c.Outcome, c.Value)
		}
	}
	if r.Verdict.Verify != "equal" || r.Verdict.LostDatagrams != 0 || r.Verdict.Violations != 0 {
		t.Errorf("log %s, %d lost, %d violations", r.Verdict.Verify, r.Verdict.LostDatagrams, r.Verdict.Violations)
	}
}

// A buffer that is too small is what voids a run, over veth pairs as over UDP: the
// kernel says what it has dropped. What comes from others is refused and counted.
func TestLossesAndStrangersOverVeth(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t)
	s := runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=20")
	n := 0
	r, err := Run(context.Background(), s, Options{Settings: Settings{Link: Veth}, test: process.Hooks{Wrap: func(l link.Link) link.Link { return &echoed{Link: l, n: &n} }}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Refused != 1 || r.Verdict.Verify != "equal" || r.Verdict.LostDatagrams != 0 {
		t.Errorf("%d refused, log %s, %d lost; want 1, equal, 0", r.Verdict.Refused, r.Verdict.Verify, r.Verdict.LostDatagrams)
	}
	begun := false
	r, err = Run(context.Background(), s, Options{Settings: Settings{Link: Veth}, Verify: VerifyOff, test: process.Hooks{Wrap: func(l link.Link) link.Link { return &flooded{Link: l, begun: &begun} }, Buffer: 8 * unit.KiB}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.LostDatagrams == 0 || r.Verdict.Level != report.Void {
		t.Errorf("%d lost: %s", r.Verdict.LostDatagrams, r.Verdict.Level)
	}
}

// echoed sends one datagram twice.
type echoed struct {
	link.Link
	n *int
}

func (l *echoed) Send(b []byte) error {
	if *l.n++; *l.n == 100 {
		if err := l.Link.Send(b); err != nil {
			return err
		}
	}
	return l.Link.Send(b)
}

// flooded sends a hundred datagrams of no use before the first.
type flooded struct {
	link.Link
	begun *bool
}

func (l *flooded) Send(b []byte) error {
	if !*l.begun {
		*l.begun = true
		for range 100 {
			if err := l.Link.Send(make([]byte, 2000)); err != nil {
				return err
			}
		}
	}
	return l.Link.Send(b)
}

// ofThisProcess returns what there is under /run/netns and /run/fabemu of runs of
// this process.
func ofThisProcess(t *testing.T) (left []string) {
	t.Helper()
	runs, err := netns.Find()
	if err != nil {
		t.Log(err) // of others, that come and go
	}
	for _, r := range runs {
		if r.PID == os.Getpid() && r.Lives { // not one that had the same number, and is dead
			left = append(left, fmt.Sprintf("%v with %q", r, r.Namespaces))
		}
	}
	return left
}

// Processes in their own namespaces share the board, and keep the order of the virtual clock.
func TestModelProcessesInNamespacesKeepTheOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	needNamespaces(t)
	for _, test := range []struct {
		placement                Placement
		name, dilation, duration string
	}{
		{InProcesses, "hpl2002/fig2", "100", "1ms"}, {InDomains, "hpl2002/fig2", "1", "1ms"},
		{InProcesses, "cbfc/repair", "10", "2200us"}, {InProcesses, "llr/pause", "500", "110us"}, {InProcesses, "cbfc/retry", "50", "1200us"},
	} {
		placement := test.placement
		t.Run(string(placement)+"/"+test.name, func(t *testing.T) {
			sets := runtest.Sets(t, "model.duration="+test.duration, "wall.dilation="+test.dilation)
			if test.name == "hpl2002/fig2" {
				sets = append(sets, runtest.Sets(t, "flows.victim.start=100us")...)
			}
			s := runtest.Load(t, runtest.Text(t, test.name), sets...)
			_, virtual := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
			r, wall := logOf(t, s, Options{Settings: Settings{Link: Veth, Placement: placement}})
			if virtual != wall {
				t.Errorf("the logs differ: %s", runtest.FirstDifference(virtual, wall))
			}
			if v := &r.Verdict; v.Verify != report.VerifiedEqual || v.LostDatagrams != 0 || r.Link != "veth" {
				t.Errorf("%s: %s; verified %q over %s", v.Level, v.Reason, v.Verify, r.Link)
			}
			for _, w := range r.Warnings {
				if strings.Contains(w, "share no memory") {
					t.Error(w)
				}
			}
			if left := ofThisProcess(t); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, ", "))
			}
		})
	}
}

// However a run ends, its namespaces are gone: at its end, when it is told to stop
// at any moment, when a link fails, after a panic.
func TestNamespacesAreGoneHoweverARunEnds(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t)
	s := runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=20")
	o := Options{Settings: Settings{Link: Veth}, Verify: VerifyOff}
	gone := func(t *testing.T) {
		t.Helper()
		if left := ofThisProcess(t); len(left) > 0 {
			t.Errorf("left: %s", strings.Join(left, ", "))
		}
	}
	t.Run("stopped", func(t *testing.T) {
		long := runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=20000") // more than a minute
		for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(context.Background(), after)
			r, err := Run(ctx, long, o)
			cancel()
			if err != nil {
				t.Errorf("stopped after %v: %v", after, err)
			} else if !r.Partial {
				t.Errorf("stopped after %v, and not partial", after)
			}
			gone(t)
		}
	})
	t.Run("failed", func(t *testing.T) {
		broken, n := errors.New("broken"), 0
		failing := o
		failing.test.Wrap = func(l link.Link) link.Link { return &failingLink{Link: l, n: &n, fail: func() error { return broken }} }
		if _, err := Run(context.Background(), s, failing); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		gone(t)
	})
	t.Run("panicked", func(t *testing.T) {
		n := 0
		failing := o
		failing.test.Wrap = func(l link.Link) link.Link {
			return &failingLink{Link: l, n: &n, fail: func() error { panic("a mistake") }}
		}
		r, err := Run(context.Background(), s, failing)
		if crashed := new(errs.Panic); !errors.As(err, &crashed) || crashed.Value != "a mistake" || r == nil || !r.Partial {
			t.Errorf("got %+v, %v", r, err)
		}
		gone(t)
	})
}

// failingLink fails at the hundredth datagram.
type failingLink struct {
	link.Link
	n    *int
	fail func() error
}

func (l *failingLink) Send(b []byte) error {
	if *l.n++; *l.n >= 100 {
		return l.fail()
	}
	return l.Link.Send(b)
}

// What tcpdump captures at a destination of Ultra Ethernet is what the run sends over its link,
// trimmed packets and credit included: the checks find nothing wrong, and Wireshark with the add-on
// finds as many packets of each kind in it as in the capture of the run.
func TestTcpdumpOfUltraEthernet(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip", "tcpdump", "tshark")
	const text = `name: ultra
model: {duration: 150us, seed: 3}
wall: {dilation: 2000}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: 22KB per port, lossless: [], trim: 64B}
  flow: {packet: 4076B, traffic: transfers, size: 60KB, count: 1, jitter: 0s, start: 0s, transport: {kind: uet, window: 32}}
switches: {A: {}}
endpoints: ["S[1-4]", R]
links: ["S[1-4] - A", {name: last, between: A - R}]
flows:
  - {name: plain, from: "S[1-2]", to: R}
  - {name: credit, from: "S[3-4]", to: R, control: {algorithm: rccc, base-rtt: 10us}}
`
	dir := t.TempDir()
	home, links := filepath.Join(dir, "home"), filepath.Join(dir, "links.pcap")
	if err := dissector.Install(dissector.Files(home, filepath.Join(home, ".config")), false); err != nil {
		t.Fatal(err)
	}
	var tcpdump *exec.Cmd
	listen := func() {
		runs, err := netns.Find()
		if err != nil {
			t.Log(err) // of others, that come and go
		}
		for _, r := range runs {
			for _, n := range r.Namespaces {
				if r.PID == os.Getpid() && strings.HasSuffix(n, "-R") {
					tcpdump = exec.Command("ip", "netns", "exec", n, "tcpdump", "-U", "--immediate-mode", "-B", "16384", "-s", "0", "-i", "fab0", "-w", "-")
				}
			}
		}
		if tcpdump == nil {
			t.Error("there is no namespace of R")
			return
		}
		file, err := os.Create(links)
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		tcpdump.Stdout = file
		said, err := tcpdump.StderrPipe()
		if err == nil {
			err = tcpdump.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		words := bufio.NewReader(said)
		for line := ""; err == nil && !strings.Contains(line, "listening on"); {
			line, err = words.ReadString('\n')
		}
		go io.Copy(io.Discard, words)
	}
	var own bytes.Buffer
	r, err := Run(context.Background(), runtest.Load(t, text), Options{
		Settings: Settings{Link: Veth, Packing: Single}, Capture: &Capture{To: &own, Filter: []string{"last"}}, test: process.Hooks{Epoch: listen},
	})
	if err != nil {
		t.Fatal(err)
	}
	if tcpdump == nil || tcpdump.Process == nil {
		t.Fatal("tcpdump has not begun")
	}
	tcpdump.Wait() // until the interface is gone
	if v := &r.Verdict; v.Verify != report.VerifiedEqual || v.LostDatagrams != 0 {
		t.Fatalf("%s: %s; verified %q", v.Level, v.Reason, v.Verify)
	}
	captured, err := os.ReadFile(links)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := dump.Dump(io.Discard, dump.Options{Check: true}, bytes.NewReader(captured))
	if err != nil || sum.Problems() > 0 || sum.Gaps[dump.NotThere] > 0 || sum.Checked[dump.Sequence] != sum.Packets-2 || sum.Checked[dump.Checksum] != sum.Packets {
		t.Errorf("%v, %d packets, %v %v %v", err, sum.Packets, sum.Found, sum.Checked, sum.Gaps)
	}

	path := filepath.Join(dir, "own.pcapng")
	if err := os.WriteFile(path, own.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	filters := []string{"uet && !fabemu_say.trimmed && uet.ses.operation == 5", "fabemu_say.trimmed == 1", "uet.type == 8", "uet.code == 2", "uet.control == 7", "uet", "fabemu_say.gap"}
	count := func(path string) (counts string) {
		c := exec.Command("tshark", "-C", "fabemu", "-r", path, "-q", "-z", "io,stat,0,"+strings.Join(filters, ","))
		c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
		out, err := c.Output()
		if err != nil {
			t.Fatalf("tshark: %v", err)
		}
		cells := strings.Split(strings.Trim(regexp.MustCompile(`(?m)^\|.*<>.*$`).FindString(string(out)), "| "), "|")
		for i := 1; i < len(cells); i += 2 { // frames, and bytes
			counts += strings.TrimSpace(cells[i]) + " "
		}
		return counts
	}
	got, want := count(links), count(path)
	if kinds := strings.Fields(want); got != want || len(kinds) != len(filters) || slices.Contains(kinds[:6], "0") || kinds[5] != fmt.Sprint(sum.Packets) || kinds[6] != "0" {
		t.Errorf("%q find %s packets of %d, and %s in the capture of the run", filters, got, sum.Packets, want)
	}
}
