//go:build timing

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/emu/watch/live"
	"fabemu/wire"
)

// An rdmaRun is a run of docs/examples/rdma.yaml: virtual machine b sends to a.
type rdmaRun struct {
	report.Result
	dir  string // of the results
	a, b string // the consoles
}

// example returns the example with other texts in places of its own.
func example(t *testing.T, instead ...string) string {
	t.Helper()
	scenario := text(t, "../../docs/examples/rdma.yaml")
	for i := 0; i < len(instead); i += 2 {
		if !strings.Contains(scenario, instead[i]) {
			t.Fatalf("the example has no %q", instead[i])
		}
		scenario = strings.ReplaceAll(scenario, instead[i], instead[i+1])
	}
	return scenario
}

// runRDMA runs a scenario until all virtual machines have ended. It calls during when b has sent a
// thousand frames.
func runRDMA(t *testing.T, during func(dir string), scenario string, args ...string) (r rdmaRun) {
	t.Helper()
	r.dir = t.TempDir()
	c := exec.Command(binary, append([]string{"run", "-", "--quiet", "--out", r.dir, "--set", "model.duration=300s"}, args...)...)
	c.Dir, c.Stdin = "../..", strings.NewReader(scenario)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(r.dir, "programs", name))
		return strings.ReplaceAll(string(b), "\r", "")
	}
	over := func() bool {
		consoles, _ := filepath.Glob(filepath.Join(r.dir, "programs", "*.out"))
		return len(consoles) > 1 && !slices.ContainsFunc(consoles, func(path string) bool {
			return !strings.Contains(read(filepath.Base(path)), "\nverbs: status ")
		})
	}
	for running := true; running; {
		select {
		case <-ended: // at the end of model time
			running = false
		case <-time.After(20 * time.Millisecond):
			sent, _ := os.ReadFile("/sys/class/net/rdma-b/statistics/rx_packets")
			if n, _ := strconv.Atoi(strings.TrimSpace(string(sent))); n > 1000 && during != nil {
				during(r.dir)
				during = nil
			}
			if over() && exec.Command("pgrep", "-P", fmt.Sprint(c.Process.Pid)).Run() != nil { // no program is left
				_ = c.Process.Signal(os.Interrupt)
				<-ended
				running = false
			}
		}
	}
	r.a, r.b = read("a.out"), read("b.out")
	if err := json.Unmarshal([]byte(text(t, filepath.Join(r.dir, "result.json"))), &r.Result); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	for _, p := range r.Programs {
		if p.Status != 0 {
			t.Errorf("virtual machine %s %s: %s%s", p.Name, p.Ended, read(p.Name+".out"), read(p.Name+".err"))
		}
	}
	return r
}

var builtRDMA = sync.OnceValues(exec.Command("../../scripts/lab/verbs.sh", "build").CombinedOutput)

// buildRDMA builds the virtual machines.
func buildRDMA(t *testing.T) {
	t.Helper()
	runtest.NeedTools(t, "qemu-system-x86_64", "apt-get", "tshark", "python3")
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	t.Setenv("VERBS_KVM", "off")
	if cache, err := os.UserCacheDir(); os.Getenv("VERBS_CACHE") == "" && err == nil {
		t.Setenv("VERBS_CACHE", filepath.Join(cache, "fabemu/verbs-emulated"))
	}
	if out, err := builtRDMA(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// have checks that a console has texts.
func have(t *testing.T, console string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(console, want) {
			t.Errorf("the console has no %q: %s", want, console)
		}
	}
}

// counter returns the value of a counter on a console.
func counter(t *testing.T, console, name string) (value int64) {
	t.Helper()
	_, after, found := strings.Cut(console, "\n"+name+":")
	line, _, _ := strings.Cut(after, "\n")
	value, err := strconv.ParseInt(line, 10, 64)
	if !found || err != nil {
		t.Fatalf("the console has no counter %s: %s", name, console)
	}
	return value
}

// Two virtual machines with Debian's kernel and rdma_rxe run RDMA programs over a fabric that marks
// and loses one data frame. For it rxe sends one NAK, and goes back once. Captures have RoCEv2 as
// rxe sent it: tshark without our plugin knows it, and the ICRCs are right, of marked packets too.
func TestWallRDMA(t *testing.T) {
	buildRDMA(t)
	const set, ucx = "        export UCX_IB_GID_INDEX=1\n        ", "ucx_perftest -d rxe0:1 -x rc_verbs -t am_lat -D bcopy -n 100"
	r := runRDMA(t, nil, example(t, "        rping -s", set+ucx+"\n        rping -s",
		"        retry sh", set+"retry "+ucx+" 10.1.0.1\n        retry sh"), "--pcap", "--pcap-snap", "0")
	have(t, r.a, "50 iters in ", "65536      60 ", "rdma-ping-4", "out_of_seq_request:1\n")
	have(t, r.b, "50 iters in ", "65536      60 ", "rdma-ping-4", "rcvd_seq_err:1\n")
	if len(r.Drops) != 1 || r.Drops[0].Count != 1 || r.Drops[0].Reason != "lost-on-link" {
		t.Errorf("dropped were %+v", r.Drops)
	}
	there, a, b := r.Flows[0], r.Guests[0].RoCE, r.Guests[1].RoCE
	if b.CNPHandled == 0 || b.CNPIgnored > 0 || a.CNPSent != b.CNPHandled || a.ECNMarked != there.Marked || b.CNPSent+a.CNPHandled > 0 {
		t.Errorf("of %d frames %d are marked; the counters of the adapters are %+v and %+v", there.Frames, there.Marked, *a, *b)
	}
	capture := filepath.Join(r.dir, "fabric.pcapng")
	fields := func(filter string) string { // the PSNs
		c := exec.Command("tshark", "-n", "--disable-protocol", "rpcordma", "-r", capture, "-Y", filter, "-T", "fields", "-e", "infiniband.bth.psn")
		c.Env = append(os.Environ(), "HOME="+t.TempDir()) // without plugins
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	lines := func(filter string) int64 { return int64(strings.Count(fields(filter), "\n")) }
	if n := lines("udp && !infiniband || infiniband && _ws.malformed"); n > 0 {
		t.Errorf("tshark does not read %d packets of RoCEv2", n)
	}
	naks := fields("infiniband.aeth.syndrome.opcode == 3")
	psn, _, _ := strings.Cut(naks, "\n")
	if naks != psn+"\n"+psn+"\n" { // at either link
		t.Errorf("tshark sees NAKs with PSNs %s", naks)
	}
	dumped, code := control(".", "dump", "--check", capture)
	of := regexp.MustCompile(`dropped: lost-on-link \(flow \d+, (psn \d+)\)`).FindAllStringSubmatch(dumped, -1)
	if code != exitOK || len(of) != 1 || !regexp.MustCompile(`flow=there `+strings.Replace(of[0][1], " ", "=", 1)+` .* rocev2 .* psn=`+psn+` `).MatchString(dumped) {
		t.Errorf("dump --check ends with %d, and names %q as lost; NAKs name %s", code, of, psn)
	}
	// Each packet is in the capture of two links, but the one that is lost on the first. The
	// adapters consume CNPs.
	const cnps = "infiniband.bth.opcode == 129"
	if n := lines(cnps); n != 2*a.CNPSent {
		t.Errorf("tshark sees %d CNPs, and %d were sent", n, a.CNPSent)
	}
	aSent, bSent := counter(t, r.a, "sent_pkts"), counter(t, r.b, "sent_pkts")
	if n := lines("infiniband && !(" + cnps + ")"); n != 2*(aSent+bSent)-1 || counter(t, r.a, "rcvd_pkts") != bSent-1 || counter(t, r.b, "rcvd_pkts") != aSent {
		t.Errorf("the capture has %d packets, and the counters of rxe are these: %s%s", n, r.a, r.b)
	}
	if marked := lines("infiniband && ip.dsfield.ecn == 3"); marked != there.Marked {
		t.Errorf("tshark sees %d marked packets, and %d were marked", marked, there.Marked)
	}
	// dump and a script of its own verify the ICRC of each packet: they find all wrong once a bit
	// of each differs.
	all := lines("infiniband")
	for _, wrong := range []int64{0, all} {
		out, _ := exec.Command("python3", "../../scripts/lab/icrc.py", capture).CombinedOutput()
		dumped, _ := control(".", "dump", "--quiet", capture)
		if n := int64(strings.Count(dumped, "ICRC is wrong")); n != wrong || !strings.HasPrefix(string(out), fmt.Sprintf("%d ICRCs are right, %d are wrong", all-wrong, wrong)) {
			t.Errorf("of %d ICRCs, with %d wrong, dump finds %d wrong, and the script says %s", all, wrong, n, out)
		}
		spoil(t, capture)
	}
}

// spoil inverts a bit of the ICRC of each packet of RoCEv2 in a capture.
func spoil(t *testing.T, capture string) {
	t.Helper()
	b := []byte(text(t, capture))
	in, err := pcapng.NewReader(bytes.NewReader(slices.Clone(b)))
	if err != nil {
		t.Fatal(err)
	}
	for p, err := in.Next(); err == nil; p, err = in.Next() {
		if d := p.Data; len(d) > 60 && string(d[12:14]) == "\x08\x00" && d[23] == 17 && string(d[36:38]) == "\x12\xb7" {
			b[int(in.Offset())+28+len(d)-wire.FCSSize-1] ^= 1 // behind the header of the block
		}
	}
	if err := os.WriteFile(capture, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A PAUSE storm of a's adapter stops ib_write_bw. The watchdog of the switch finds it and discards
// the queue, and after the storm rxe sends again what is missing. The null case too: without a
// reaction point nothing answers the marks, and marked packets are as fast as those without ECT,
// which nothing marks.
func TestWallRDMASurvivesStorm(t *testing.T) {
	buildRDMA(t)
	const here, there = "        retry ib_write_bw -d rxe0 -n 60 -u 20\n", "        retry ib_write_bw -d rxe0 -n 60 -u 20 --tclass=2 10.1.0.1\n"
	const a, b = "        retry ib_write_bw -d rxe0 -u 18 -n ", "        retry ib_write_bw -d rxe0 10.1.0.1 -u 18 -n "
	r := runRDMA(t, func(dir string) {
		var now live.Status
		said, _ := control(".", "status", dir, "--json")
		if err := json.Unmarshal([]byte(said), &now); err != nil || now.RoCE["a"].ECNMarked == 0 || now.RoCE["b"].Pairs == 0 || len(now.RoCE["b"].Pauses) != 8 {
			t.Errorf("%v: %s", err, said)
		}
		if said, code := control(".", "set", dir, "storm", "a", "priority", "0", "for", "2s"); code != exitOK {
			t.Error(said)
		}
	}, example(t,
		"min: 5KB, max: 40KB, max-p: 0.1}", "min: 1KB, max: 2KB, max-p: 1}, watchdog: {detection: 200ms, restoration: 200ms, poll: 100ms}", "algorithm: dcqcn, min-rate: 1Mb/s, ", "algorithm: fixed} #",
		"nth: 2000", "nth: 2000000",
		"        ibv_rc_pingpong -d rxe0 -g 1 -n 50\n", "", "        rping -s -v -C 5\n", "",
		"        retry ibv_rc_pingpong -d rxe0 -g 1 -n 50 10.1.0.1\n", "",
		"        retry sh -c \"rping -c -v -a 10.1.0.1 -C 5 | grep rdma-ping-4\"\n", "",
		there, b+"100 --tclass=2\n"+b+"61 --tclass=2\n"+b+"60'\n", here, a+"100\n"+a+"61\n"+a+"60'\n", "        counters'\n", "",
	))
	have(t, r.a, "65536      100 ")
	have(t, r.b, "65536      100 ")
	if ratio := bandwidth(t, r.b, 61) / bandwidth(t, r.b, 60); alone && math.Abs(ratio-1) > 0.1 {
		t.Errorf("with marks the rate is %.3f of that without", ratio)
	}
	if len(r.Storms) != 1 || r.Storms[0].Link != "root.S-a" || len(r.Phases) != 3 {
		t.Fatalf("the watchdog has found %+v, in %d phases", r.Storms, len(r.Phases))
	}
	if f, a, b := r.Flows[0], r.Guests[0].RoCE, r.Guests[1].RoCE; f.Marked < f.Frames/4 || a.CNPSent+b.CNPHandled > 0 {
		t.Errorf("of %d frames %d are marked; the counters of the adapters are %+v and %+v", f.Frames, f.Marked, *a, *b)
	}
	rate := func(phase int) float64 {
		for _, x := range r.Phases[phase].Rates {
			if x.Kind == "group" && x.Name == "there" {
				return float64(x.Rate)
			}
		}
		t.Fatalf("phase %d has no rate of flow there", phase)
		return 0
	}
	if in, after := rate(1), rate(2); in > after/10 {
		t.Errorf("the rate was %.0f B/s in the storm, and %.0f after it", in, after)
	}
}

// bandwidth returns the mean that ib_write_bw reports of so many messages.
func bandwidth(t *testing.T, console string, messages int) (mean float64) {
	t.Helper()
	_, after, _ := strings.Cut(console, fmt.Sprintf("65536      %d ", messages))
	if _, err := fmt.Sscan(after, new(float64), &mean); err != nil || mean <= 0 {
		t.Fatalf("the console has no result of %d messages: %s", messages, console)
	}
	return mean
}
