package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/terminal"
)

// Grade is the meaning of a finding for a run.
type Grade string

// The grades.
const (
	Good    Grade = "good"
	Warning Grade = "warning" // a run works, but not as well as it could
	Bad     Grade = "bad"     // figures in wall time, or runs at all, are in danger
)

// Finding is one thing that matters.
type Finding struct {
	Group  string `json:"group"` // "timing", "datagrams", "computer", "rights", "tools"
	Name   string `json:"name"`  // of the thing examined; each name stands once
	Value  string `json:"value"` // for people; programs read the figures
	Grade  Grade  `json:"grade"`
	Advice string `json:"advice"` // the remedy; empty for a good finding
}

// The limits of the grades, each with its reason.
const (
	// lateGood is the share of time in which the computer itself may be late by lateAt
	// for the timing to be good: half of the 2 % for which a dilation is chosen, since the
	// work of a run adds to it.
	lateGood = 0.01
	lateBad  = 0.05 // more than a disturbance now and then

	// lateAt is 5 % of the time of a packet of 2068 bytes at 1 GB/s and dilation 100,
	// in ns: the yardstick where no scenario is given.
	lateAt = 10_340

	foreignGood = 0.1    // processors busy with other things
	stolenGood  = 0.005  // share of a processor
	stolenBad   = 0.05   //
	costGood    = 2_500  // ns for a datagram: 400 000 a second
	costBad     = 10_000 //
	readGood    = 150    // ns for a reading of the clock; 20 to 60 without a system call
	inlineGood  = 0.999
	filesGood   = 1_024 // the limit of a plain login; 504 links
	backlogGood = 300   // the kernel's oldest default
)

// linksFor returns how many links a process can open with so many file
// descriptors: two for each, and 16 for the rest of the process.
func linksFor(files uint64) uint64 { return (max(files, 16) - 16) / 2 }

// judge turns figures into findings. It is pure: the same figures, the same
// findings.
func judge(f *Figures) []Finding {
	j := &judgement{f: f}
	j.timing()
	j.datagrams()
	j.computer()
	j.rights()
	j.tools()
	return j.found
}

type judgement struct {
	f     *Figures
	group string
	found []Finding
}

func (j *judgement) add(name, value string, g Grade, advice string) {
	advice = either(g == Good, "", advice)
	j.found = append(j.found, Finding{Group: j.group, Name: name, Value: value, Grade: g, Advice: advice})
}

// either returns one of two values.
func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// grade returns Good up to good, Bad from bad on, and Warning between.
func grade[N int64 | float64](v, good, bad N) Grade {
	switch {
	case v <= good:
		return Good
	case v < bad:
		return Warning
	}
	return Bad
}

// when returns g under a condition, and Good otherwise.
func when(condition bool, g Grade) Grade { return either(condition, g, Good) }

func (j *judgement) timing() {
	j.group = "timing"
	floor := &j.f.Speed.Floor
	late := floor.Share(lateAt)
	j.add("lateness", fmt.Sprintf("an instant is served more than 10 us late %s of the time, more than 50 us %s",
		Percent(late), Percent(floor.Share(50_000))),
		grade(late, lateGood, lateBad), "end other work on this computer; a higher dilation makes less of it")

	stalls, g := "none in "+span(floor.WatchedNs), Good
	if floor.Stalls > 0 {
		stalls = fmt.Sprintf("%s of more than 5 ms in %s, the longest gap %s",
			terminal.Count(floor.Stalls, "stall"), span(floor.WatchedNs), span(floor.GapMaxNs))
		g = grade(float64(floor.StalledNs)/float64(max(1, floor.WatchedNs)), 0, 0.1)
	}
	j.add("stalls", stalls, g,
		"nobody can use the processor in this time: end other work, or ask the owner of the host")

	load, cores := j.f.Load, float64(j.f.System.Cores)
	g = grade(load.Foreign, foreignGood, cores-1)
	j.add("other load",
		fmt.Sprintf("%.2f of %s busy with other work", load.Foreign, terminal.Count(j.f.System.Cores, "processor")),
		g, "a run wants a processor for itself, all the time: end other work")
	if load.Stolen > 0 || j.f.System.Hypervisor != "" {
		j.add("stolen time", fmt.Sprintf("%s of a processor taken by the hypervisor", Percent(load.Stolen)),
			grade(load.Stolen, stolenGood, stolenBad),
			"the host has more work than processors: ask for processors of your own")
	}
	sleep := &j.f.Speed.Sleep
	j.add("sleep",
		fmt.Sprintf("%s asked of the system come %s late (median), %s (p99); runs spin instead",
			span(sleep.AskedNs), span(sleep.P50Ns), span(sleep.P99Ns)), Good, "")

	src := cmp.Or(j.f.System.ClockSource, "unknown source")
	j.add("clock", fmt.Sprintf("%s, %d ns a reading", src, floor.ReadNs), when(floor.ReadNs > readGood, Warning),
		"readings are slow, since the kernel does not trust the processor's counter: see dmesg for clocksource, /sys/devices/system/clocksource")
}

func (j *judgement) datagrams() {
	j.group = "datagrams"
	speed := &j.f.Speed
	var costs []string
	worst := 0.0
	for _, d := range speed.Datagrams {
		costs = append(costs, fmt.Sprintf("%d bytes %.2f us (%s a second)", d.Bytes, d.Ns/1e3, thousands(d.PerSecond)))
		worst = max(worst, d.Ns)
	}
	j.add("cost", strings.Join(costs, ", ")+", on one processor", grade(worst, costGood, costBad),
		"fabrics need a higher dilation here; filters (nft, iptables), audit rules, a busy computer and some hypervisors make datagrams dear")

	n := &j.f.Network
	inline := Percent(speed.Inline) + " of the datagrams are there right after they were sent"
	g := when(speed.Inline < inlineGood, Warning)
	if speed.LostDatagrams > 0 {
		inline += fmt.Sprintf(", %d were lost", speed.LostDatagrams)
		g = Bad
	}
	j.add("delivery", inline, g,
		"runs wait for each datagram that is on its way, which slows them down; see packet steering")

	steered := len(n.Steering) > 0
	j.add("packet steering", either(steered, "on for lo: "+strings.Join(n.Steering, ", "), "off"), when(steered, Warning),
		"order holds, but each datagram takes a way over another processor: echo 0 > /sys/class/net/lo/queues/rx-0/rps_cpus")

	j.add("backlog", fmt.Sprintf("%d packets may wait, %d are handled at a time", n.Backlog, n.Weight),
		when(n.Backlog < backlogGood, Warning),
		"raise it: sysctl -w net.core.netdev_max_backlog=1000")

	l := &j.f.Limits
	j.add("socket buffers",
		fmt.Sprintf("%s granted of %s asked for (rmem_max %s, default %s)",
			size(l.Granted), size(l.Asked), size(int64(n.RmemMax)), size(int64(n.RmemDef))),
		when(l.Granted < l.Asked, Bad), fmt.Sprintf("datagrams will be lost, and a lost datagram makes a run void: sysctl -w net.core.rmem_max=%d", l.Asked))

	j.add("open files", fmt.Sprintf("%d: enough for %d links", l.Files, linksFor(l.Files)),
		when(l.Files < filesGood, Warning), "raise the limit: ulimit -n 65536")
}

func (j *judgement) computer() {
	j.group = "computer"
	s := &j.f.System
	j.add("processors", fmt.Sprintf("%d, %s", s.Cores, cmp.Or(s.CPU, s.Arch)), when(s.Cores < 2, Bad),
		"a run keeps one processor busy, and all else disturbs it: use at least two")

	virtual := s.Hypervisor != ""
	disturbs := j.f.Speed.Floor.Share(lateAt) > lateGood || j.f.Load.Stolen > stolenGood
	j.add("virtual", either(virtual, "yes, hypervisor: "+s.Hypervisor, "no"), when(virtual && disturbs, Warning),
		"a hypervisor takes the processor away at any time: for figures in wall time use a computer of your own, or a higher dilation")
	quota, g := "none", Good
	if s.Quota > 0 {
		quota, g = fmt.Sprintf("%.4g processors", s.Quota), either(s.Quota >= float64(s.Cores), Warning, Bad)
	}
	j.add("CPU quota", quota, g,
		"a process that has used up its quota stands still until the next period, which ruins timing: lift it (cpu.max, --cpus)")
	if len(s.Governors) > 0 {
		saves := slices.Contains(s.Governors, "powersave") || slices.Contains(s.Governors, "conservative")
		j.add("frequency", "governor "+strings.Join(s.Governors, ", "), when(saves, Warning),
			"processors that save power are slow to wake: cpupower frequency-set -g performance")
	}
	j.add("kernel", s.Kernel, Good, "")
}

func (j *judgement) rights() {
	j.group = "rights"
	r := &j.f.Rights
	var missing []string
	for _, c := range []struct{ name, use string }{
		{"CAP_SYS_NICE", "a higher priority"},
		{"CAP_NET_ADMIN", "veth links and larger socket buffers"},
		{"CAP_NET_RAW", "frames without UDP"},
	} {
		if !slices.Contains(r.Capabilities, c.name) {
			missing = append(missing, c.name+" ("+c.use+")")
		}
	}
	privileges := either(r.Root, "root", "not root") + either(len(missing) == 0, ", with all that can be of use", "")
	j.add("privileges", privileges, when(len(missing) > 0, Warning),
		"runs over UDP need none; missing are "+strings.Join(missing, ", "))
	j.add("namespaces",
		either(r.NetworkNamespaces, "network namespaces can be made", "no network namespace can be made"),
		when(!r.NetworkNamespaces, Warning), "only fabrics on veth links and real hosts need them: run as root"+
			either(r.UserNamespaces, ", or in a user namespace: unshare -r -n", ""))
	switch {
	case !r.TUN:
		j.add("real hosts", "/dev/net/tun cannot be opened", Warning,
			"only scenarios with guests need it: run as root, load the module (modprobe tun); in a container, hand it the device (--device /dev/net/tun)")
	case !r.NetworkNamespaces:
		j.add("real hosts", "/dev/net/tun is there, namespaces are not", Warning,
			"scenarios with guests need both: run as root")
	default:
		j.add("real hosts", "/dev/net/tun can be opened", Good, "")
	}
}

func (j *judgement) tools() {
	j.group = "tools"
	for _, t := range []struct {
		name   string
		any    []string
		advice string
	}{
		{"captures", []string{"wireshark", "tshark", "dumpcap", "tcpdump"},
			"to look into captures install wireshark or tshark"},
		{"iproute2", []string{"ip", "tc"}, "scripts/bench.sh pacing and veth links use it: install iproute2"},
	} {
		var have []string
		for _, x := range j.f.Tools {
			if x.Path != "" && slices.Contains(t.any, x.Name) {
				have = append(have, strings.TrimSpace(x.Name+" "+x.Version))
			}
		}
		none := "none of " + strings.Join(t.any, ", ") + " is in PATH"
		j.add(t.name, cmp.Or(strings.Join(have, ", "), none), when(len(have) == 0, Warning), t.advice)
	}
}

// Percent prints a share in percent, with at most two decimals.
func Percent(share float64) string {
	switch p := 100 * share; {
	case p == 0:
		return "0 %"
	case p < 0.01:
		return "below 0.01 %"
	case p < 1:
		return fmt.Sprintf("%.2f %%", p)
	case p < 99.95:
		return fmt.Sprintf("%.1f %%", p)
	case p < 100:
		return fmt.Sprintf("%.2f %%", min(p, 99.99))
	default:
		return "100 %"
	}
}

// span prints a time in ns.
func span(ns int64) string {
	v, units := float64(ns), []string{"ns", "us", "ms", "s"}
	for v >= 1e3 && len(units) > 1 {
		v, units = v/1e3, units[1:]
	}
	return fmt.Sprintf("%.3g %s", v, units[0])
}

// size prints a number of bytes.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB"}
	for n > 0 && n%1024 == 0 && len(units) > 1 {
		n, units = n/1024, units[1:]
	}
	return fmt.Sprintf("%d %s", n, units[0])
}

// thousands prints a large number.
func thousands(v float64) string {
	if v >= 1e6 {
		return fmt.Sprintf("%.2f million", v/1e6)
	}
	return fmt.Sprintf("%.0f 000", v/1e3)
}
