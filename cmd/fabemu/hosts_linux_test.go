package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"

	"github.com/google/go-cmp/cmp"
)

// threeSwitches is a fabric for three hosts, on links so long that a frame is there before
// it is due: 50 ms of wall time.
const threeSwitches = `
name: three-switches
model: {duration: 3ms}
wall: {dilation: 500, socket-buffer: 8MiB}
defaults:
  link: {rate: 1GB/s, propagation: 100us, buffer: 400 packets}
  flow: {packet: 2048B}
switches: {A: {}, B: {}, C: {}}
endpoints: ["a[1-3]", "b[1-3]", "c[1-3]"]
links: ["a[1-3] - A", "b[1-3] - B", "c[1-3] - C", {name: left, between: A - B}, {name: right, between: B - C}]
flows:
  - {name: east, from: "a[1-3]", to: "b[1-3]"}
  - {name: west, from: "c[1-3]", to: "a[1-3]"}
  - {name: here, from: "b[1-3]", to: "c[1-3]", start: 0us + 10us}
`

// computers are network namespaces that stand for hosts, each at its own router network.
type computers struct {
	t        *testing.T
	scenario string
	run      uint32
	env      []string
}

// newComputers makes some. Whatever becomes of the test, they go: with it, or by the next
// run that looks for what dead ones have left.
func newComputers(t *testing.T, n int) *computers {
	t.Helper()
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	runtest.NeedTools(t, "ip", "nsenter", "unshare")
	p := netns.Plan{Run: uint32(os.Getpid())<<8 ^ uint32(time.Now().UnixNano()), Nodes: []string{"router"}, Largest: 1500}
	for i := range n {
		p.Nodes = append(p.Nodes, fmt.Sprint("host", i))
		p.Links = append(p.Links, netns.Link{Name: fmt.Sprint("net", i), Ends: [2]netns.End{{Node: 0, Port: i}, {Node: i + 1}}})
	}
	netns.RemoveDead(context.Background())
	topology, err := netns.Build(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := topology.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &computers{t: t, run: p.Run, scenario: filepath.Join(t.TempDir(), "three.yaml"), env: append(os.Environ(), "FABEMU_TOKEN=not-known-to-many")}
	if err := os.WriteFile(c.scenario, []byte(threeSwitches), 0o666); err != nil {
		t.Fatal(err)
	}
	c.ip("router", "link", "set", "lo", "up")
	for i := range n {
		host := fmt.Sprint("host", i)
		c.ip("router", "address", "add", fmt.Sprintf("10.77.%d.1/24", i), "dev", fmt.Sprint("fab", i))
		c.ip(host, "address", "add", fmt.Sprintf("10.77.%d.2/24", i), "dev", "fab0")
		c.ip(host, "link", "set", "lo", "up")
		c.ip(host, "route", "add", "default", "via", fmt.Sprintf("10.77.%d.1", i))
	}
	if out, err := c.within("router", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c
}

func (c *computers) namespace(host string) string { return fmt.Sprintf("fabemu-%08x-%s", c.run, host) }

// ip changes the network of a host.
func (c *computers) ip(host string, args ...string) {
	c.t.Helper()
	if out, err := exec.Command("ip", append([]string{"-n", c.namespace(host)}, args...)...).CombinedOutput(); err != nil {
		c.t.Fatalf("ip -n %s %s: %v: %s", host, strings.Join(args, " "), err, out)
	}
}

// within returns a command on a host.
func (c *computers) within(host string, args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--net=/run/netns/" + c.namespace(host)}, args...)...)
	cmd.Env = c.env
	return cmd
}

// onHost is a process of fabemu on a host, and what it says.
type onHost struct {
	*exec.Cmd
	t     *testing.T
	name  string
	file  string // what it says
	ended chan error
}

// onHostOf returns a command that is not started yet, whose words go to a file.
func onHostOf(t *testing.T, name string, c *exec.Cmd) *onHost {
	t.Helper()
	p := &onHost{Cmd: c, t: t, name: name, file: filepath.Join(t.TempDir(), "said"), ended: make(chan error, 1)}
	f, err := os.Create(p.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	p.Stdout, p.Stderr = f, f
	return p
}

// begin starts it.
func (p *onHost) begin() {
	p.t.Helper()
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { p.ended <- p.Wait() }()
	p.t.Cleanup(func() { p.Process.Kill() })
}

// said returns what it has said until now.
func (p *onHost) said() string { return text(p.t, p.file) }

// start starts fabemu on a host.
func (c *computers) start(host string, args ...string) *onHost {
	c.t.Helper()
	p := onHostOf(c.t, host, c.within(host, args...))
	p.begin()
	return p
}

// conduct starts rank 0 of a fleet.
func (c *computers) conduct(size int, out string, more ...string) *onHost {
	return c.start("host0", append([]string{binary, "run", c.scenario, "--placement", "hosts", "--hosts", fmt.Sprint(size), "--listen", "10.77.0.2",
		"--out", out, "--quiet"}, more...)...)
}

// agent starts another host of it. ahead is by how many seconds its clock is.
func (c *computers) agent(host string, ahead int) *onHost {
	args := []string{binary, "agent", "--join", "10.77.0.2"}
	if ahead != 0 {
		args = append([]string{"unshare", "--time", "--monotonic", fmt.Sprint(ahead), "--"}, args...)
	}
	return c.start(host, args...)
}

// end waits for the end of a process, at most two minutes, and returns its status.
func (p *onHost) end() int {
	p.t.Helper()
	select {
	case err := <-p.ended:
		return status(err)
	case <-time.After(2 * time.Minute):
		p.Process.Kill()
		<-p.ended
		p.t.Fatalf("%s does not end: %s", p.name, p.said())
		return -1
	}
}

// wants waits for the end of a process, and checks its status and what it has said.
func (p *onHost) wants(wantStatus int, said ...string) {
	p.t.Helper()
	if got := p.end(); got != wantStatus {
		p.t.Errorf("%s: status %d, want %d: %s", p.name, got, wantStatus, p.said())
		return
	}
	for _, want := range said {
		if !strings.Contains(p.said(), want) {
			p.t.Errorf("%s does not say %q but\n%s", p.name, want, p.said())
		}
	}
}

// result reads the result of a run.
func result(t *testing.T, dir string) (r report.Result) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, report.ResultFile))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// whileItRuns waits until the run of a folder is well under way, which rank 0's share says.
func whileItRuns(t *testing.T, out string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		sockets, _ := filepath.Glob(filepath.Join(out, process.PartsDir, "host-0-*.sock"))
		if len(sockets) == 0 {
			continue
		}
		c, err := net.Dial("unix", sockets[0])
		if err != nil {
			continue
		}
		var s process.Status
		err = json.NewDecoder(c).Decode(&s)
		c.Close()
		if err == nil && s.NowPs > 200_000_000 {
			return
		}
	}
	t.Fatal("the run does not begin")
}

// Two and three hosts run one fabric, each by its own clock, days apart. Its figures are
// those of the virtual clock, and the verdict knows the clocks.
func TestHosts(t *testing.T) {
	c := newComputers(t, 3)
	dir := t.TempDir()
	if out, err := exec.Command(binary, "run", c.scenario, "--clock", "virtual", "--out", filepath.Join(dir, "virtual")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	virtual := result(t, filepath.Join(dir, "virtual"))
	for size := 2; size <= 3; size++ {
		out := filepath.Join(dir, fmt.Sprint(size))
		var agents []*onHost
		for i := 1; i < size; i++ {
			agents = append(agents, c.agent(fmt.Sprint("host", i), i*86400))
		}
		c.conduct(size, out).wants(exitOK, "waiting for", "fabemu agent --join 10.77.0.2:20999", "clock   of host-1-", "in fragments")
		for _, a := range agents {
			a.wants(exitOK, fmt.Sprintf("of %d runs", size), "of 12 nodes of three-switches")
		}
		r := result(t, out)
		v := &r.Verdict
		t.Logf("%s: %s", v.Level, v.Reason)
		if r.Placement != "hosts" || v.LostDatagrams != 0 || v.Violations != 0 || v.Clocks == nil || len(v.Clocks.Hosts) != size-1 {
			t.Fatalf("placement %s, verdict %+v", r.Placement, v)
		}
		for i, h := range v.Clocks.Hosts {
			// All namespaces have the clock of one machine beneath, and the ranks are those of the
			// order of coming: each of the offsets is one of those.
			days := math.Round(float64(h.OffsetUs) / 86400e6)
			if off := math.Abs(float64(h.OffsetUs) - days*86400e6); days < 1 || days > 2 || off > float64(h.ErrorUs) {
				t.Errorf("host %d: %+v; it is %v us from %v days", i+1, h, off, days)
			}
			if !h.DriftUs.Known() || h.ErrorUs < h.RoundTripUs/2 {
				t.Errorf("host %d: %+v", i+1, h)
			}
		}
		if v.Clocks.ErrorPacketTimes > 0.05 && v.Level.Strict() {
			t.Errorf("%s, though the clocks agree within %v packet times only", v.Level, v.Clocks.ErrorPacketTimes)
		}
		bytesOf := func(r *report.Result) (list []string) {
			for _, f := range r.Flows {
				list = append(list, fmt.Sprintf("%s: %d frames", f.Name, f.Frames))
			}
			return list
		}
		if diff := cmp.Diff(bytesOf(&virtual), bytesOf(&r)); diff != "" {
			t.Errorf("%d hosts (-virtual +hosts):\n%s", size, diff)
		}
	}
}

// Three hosts keep the order of the virtual clock, on links over which no
// frame is there before it is due, and with clocks that are days apart.
func TestHostsKeepTheOrder(t *testing.T) {
	c := newComputers(t, 3)
	out := filepath.Join(t.TempDir(), "out")
	agents := []*onHost{c.agent("host1", 86400), c.agent("host2", 3600)}
	c.conduct(3, out, "--dilation", "100", "--set", "model.duration=500us", "--set", "defaults.link.propagation=20ns").wants(exitOK)
	for _, a := range agents {
		a.wants(exitOK)
	}
	r := result(t, out)
	t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
	if v := &r.Verdict; v.Verify != report.VerifiedEqual || v.Order.Frames == 0 || v.LostDatagrams != 0 {
		t.Errorf("%d frames, the log is %q, %d datagrams lost", v.Order.Frames, v.Verify, v.LostDatagrams)
	}
}

// A host that is killed ends the run, and is named; what was measured is kept, as far as it
// goes, and the other hosts end.
func TestHostIsKilled(t *testing.T) {
	t.Attr("depends-on", "privileges")
	c := newComputers(t, 3)
	out := filepath.Join(t.TempDir(), "out")
	first := c.agent("host1", 0)
	second := c.agent("host2", 0)
	run := c.conduct(3, out, "--dilation", "2000")
	whileItRuns(t, out)
	if err := second.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	run.wants(exitFailed, "the process of host-", "has ended: its connection is lost")
	first.wants(exitFailed, "the conductor has ended the run early")
	if r := result(t, out); !r.Partial || len(r.Flows) == 0 {
		t.Errorf("the result is partial: %v, with %d flows", r.Partial, len(r.Flows))
	}
}

// Where rank 0 is killed, the others end by themselves.
func TestConductorOfHostsIsKilled(t *testing.T) {
	t.Attr("depends-on", "privileges")
	c := newComputers(t, 2)
	out := filepath.Join(t.TempDir(), "out")
	agent := c.agent("host1", 0)
	run := c.conduct(2, out, "--dilation", "2000")
	whileItRuns(t, out)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-run.ended
	agent.wants(exitFailed, "the conductor has ended")
}

// Ctrl-C at rank 0 ends the run on all hosts, and leaves a partial result; on another host
// it ends the run too, which names it.
func TestHostsAreInterrupted(t *testing.T) {
	c := newComputers(t, 2)
	for _, there := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "out")
		agent := c.agent("host1", 0)
		run := c.conduct(2, out, "--dilation", "2000")
		whileItRuns(t, out)
		if there {
			agent.Process.Signal(syscall.SIGINT)
			run.wants(exitFailed, "the process of host-1-", "a signal has ended it there")
			agent.wants(exitFailed, "ended early")
		} else {
			run.Process.Signal(syscall.SIGINT)
			run.wants(exitFailed, "waiting for")
			agent.wants(exitFailed, "the conductor has ended the run early")
		}
		if r := result(t, out); !r.Partial {
			t.Error("the result is not partial")
		}
	}
}

// A host that is stopped for a while is slow: the run continues, and the verdict names it. The
// network between hosts that is cut for a second loses what is on it: the run is void.
func TestHostIsSlowAndNetworkIsCut(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	c := newComputers(t, 2)
	out := filepath.Join(t.TempDir(), "slow")
	agent := c.agent("host1", 0)
	run := c.conduct(2, out)
	whileItRuns(t, out)
	agent.Process.Signal(syscall.SIGSTOP)
	time.Sleep(1500 * time.Millisecond)
	agent.Process.Signal(syscall.SIGCONT)
	run.wants(exitOK, "host-1-", "did not answer")
	agent.wants(exitOK)
	if r := result(t, out); len(r.Verdict.Silent) != 1 || !(r.Verdict.Pace.LongestUs > 1_000_000) {
		t.Errorf("silent %+v, the longest hold is of %v us", r.Verdict.Silent, r.Verdict.Pace.LongestUs)
	}

	for try := range 5 { // on a busy machine the clock may be held when the network is cut, and nothing is on it
		out = filepath.Join(t.TempDir(), fmt.Sprint("cut", try))
		agent = c.agent("host1", 0)
		run = c.conduct(2, out, "--dilation", "1000")
		whileItRuns(t, out)
		c.ip("router", "link", "set", "fab1", "down")
		time.Sleep(time.Second)
		c.ip("router", "link", "set", "fab1", "up")
		got := run.end()
		agent.wants(exitOK)
		r := result(t, out)
		if r.Verdict.LostDatagrams == 0 && try < 4 {
			continue
		}
		if !strings.Contains(run.said(), "Verdict: void. No figure may be used. The kernel lost") || got != exitFailed || r.Partial || r.Verdict.LostDatagrams == 0 {
			t.Errorf("status %d, partial %v, %d datagrams lost: %s", got, r.Partial, r.Verdict.LostDatagrams, run.said())
		}
		break
	}
}

// The same call on all hosts, as srun starts it, finds out by its variables who is who. Who
// does not know the token is refused, and who never comes is waited for no longer than was
// said; nothing is left.
func TestHostsByLauncher(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	dir := t.TempDir()
	scenario := filepath.Join(dir, "three.yaml")
	if err := os.WriteFile(scenario, []byte(threeSwitches), 0o666); err != nil {
		t.Fatal(err)
	}
	wait := "30s"
	task := func(rank string, variables ...string) *onHost {
		p := onHostOf(t, "task "+rank, exec.Command(binary, "run", scenario, "--placement", "hosts",
			"--out", filepath.Join(dir, "out"), "--quiet", "--wait", wait))
		p.Env = append(os.Environ(), "SLURM_PROCID="+rank, "SLURM_NTASKS=2", "SLURM_STEP_NODELIST=localhost",
			"SLURM_JOB_ID="+fmt.Sprint(os.Getpid()), "SLURM_STEP_ID=0", "FABEMU_TOKEN=not-known-to-many")
		p.Env = append(p.Env, variables...)
		p.begin()
		return p
	}
	second := task("1")
	runtest.Await(t, "task 1 waits", func() bool { return strings.Contains(second.said(), "waiting for rank 0 of the run at localhost:") })
	first := task("0")
	first.wants(exitOK, "waiting for 1 more host of srun at port")
	second.wants(exitOK)
	if r := result(t, filepath.Join(dir, "out")); r.Placement != "hosts" || r.Verdict.LostDatagrams != 0 {
		t.Errorf("placement %s, %d datagrams lost", r.Placement, r.Verdict.LostDatagrams)
	}
	if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	second = task("1", "FABEMU_TOKEN=something-else-16")
	runtest.Await(t, "task 1 waits", func() bool { return strings.Contains(second.said(), "waiting for rank 0") })
	wait = "5s" // of which task 1 needs next to nothing
	first = task("0")
	second.wants(exitMistake, "it refuses this host: wrong token")
	first.wants(exitFailed, "was refused: wrong token", "after 5s 1 of 2 hosts are here, without rank 1")
	if left, _ := filepath.Glob(filepath.Join(dir, "out*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	task("0", "SLURM_NTASKS=1").wants(exitMistake, "at least 2 hosts")
	task("0", "FABEMU_TOKEN=").wants(exitMistake, "set FABEMU_TOKEN before srun")
}

// On a Slurm of one node, srun starts the hosts as in docs/guide/hosts.md typed, but for how
// many nodes there are; and scancel ends them, with what was measured until then.
func TestHostsOnSlurm(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "sbatch", "srun", "munged", "slurmctld", "slurmd")
	t.Parallel()
	script, err := filepath.Abs("../../scripts/slurm-node.sh")
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	lines := typed(t, "slurm-fabric")
	const nodes = "--nodes 2 --ntasks-per-node 1 --cpus-per-task 2"
	start := strings.Replace(lines[1], nodes, "--ntasks 2 --overcommit", 1)
	if start == lines[1] {
		t.Fatalf("%s: it has no %s", start, nodes)
	}
	driver := "set -euo pipefail\n" + lines[0] + `
` + strings.Replace(start, "--dilation 1000", "--dilation 200", 1) + ` || [ $? = ` + fmt.Sprint(exitCheck) + ` ] # where frames leave late
job=$(sbatch --parsable --ntasks 2 --overcommit --output job.log --wrap "` + strings.NewReplacer("--out incast", "--out cancelled", "--dilation 1000", "--dilation 10000").Replace(start) + `")
for i in $(seq 1200); do
	if [ -e cancelled/parts/host-0-$(hostname).log ]; then break; fi
	sleep 0.05
done
sleep 1
scancel "$job"
for i in $(seq 600); do
	if [ -z "$(squeue -h -j "$job" 2>/dev/null)" ]; then break; fi
	sleep 0.05
done
`
	e.run(t, script, "bash", "-c", driver)
	if r := result(t, filepath.Join(e.dir, "incast")); r.Placement != "hosts" || r.Partial || r.Verdict.Clocks == nil {
		t.Errorf("placement %s, partial %v, clocks %+v", r.Placement, r.Partial, r.Verdict.Clocks)
	}
	if r := result(t, filepath.Join(e.dir, "cancelled")); !r.Partial {
		t.Errorf("cancelled, but not partial: %s", text(t, filepath.Join(e.dir, "job.log")))
	}
}
