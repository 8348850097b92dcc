package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
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
	Group  string `json:"group"` // "timing", "datagrams", "rights and tools"
	Name   string `json:"name"`  // of the thing examined, unique
	Value  string `json:"value"` // for people; programs read the figures
	Grade  Grade  `json:"grade"`
	Advice string `json:"advice"` // the remedy; empty for a good finding
}

// The limits of the grades.
const (
	foreignGood = 0.1   // processors busy with other things
	stolenGood  = 0.005 // share of a processor
	stolenBad   = 0.05
	readGood    = 150   // ns for a reading of the clock; 20 to 60 without a system call
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
	j.rights()
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
func grade(v, good, bad float64) Grade {
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
	f := j.f
	processors := terminal.Count(f.Processors, "processor")
	j.add("processors", processors, when(f.Processors < 2, Bad), "a run keeps one processor busy, and all else disturbs it: use at least two")
	j.add("other load", fmt.Sprintf("%.2f of %s busy with other work", f.Foreign, processors),
		grade(f.Foreign, foreignGood, float64(f.Processors-1)), "a run needs a processor for itself: end other work")
	j.add("stolen time", fmt.Sprintf("%.1f %% of a processor taken by the hypervisor", 100*f.Stolen),
		grade(f.Stolen, stolenGood, stolenBad), "the host has more work than processors: ask for processors of your own, or use a higher dilation")
	quota, g := "none", Good
	if f.Quota > 0 {
		quota, g = fmt.Sprintf("%.4g processors", f.Quota), either(f.Quota >= float64(f.Processors), Warning, Bad)
	}
	j.add("CPU quota", quota, g,
		"a process that has used its quota stops until the next period, which ruins timing: lift it (cpu.max, --cpus)")
	if len(f.Governors) > 0 {
		saves := slices.Contains(f.Governors, "powersave") || slices.Contains(f.Governors, "conservative")
		j.add("frequency", "governor "+strings.Join(f.Governors, ", "), when(saves, Warning),
			"processors that save power are slow to wake: cpupower frequency-set -g performance")
	}
	j.add("clock", fmt.Sprintf("%s, %d ns a reading", cmp.Or(f.ClockSource, "unknown source"), f.ReadNs), when(f.ReadNs > readGood, Warning),
		"readings are slow, since the kernel does not trust the processor's counter: see dmesg for clocksource, /sys/devices/system/clocksource")
}

func (j *judgement) datagrams() {
	j.group = "datagrams"
	f := j.f
	steered := len(f.Steering) > 0
	j.add("packet steering", either(steered, "on for lo: "+strings.Join(f.Steering, ", "), "off"), when(steered, Warning),
		"the order holds, but each datagram goes through another processor: echo 0 > /sys/class/net/lo/queues/rx-0/rps_cpus")
	if f.Backlog > 0 { // containers do not show it
		j.add("backlog", fmt.Sprintf("%d packets may wait", f.Backlog), when(f.Backlog < backlogGood, Warning),
			"raise it: sysctl -w net.core.netdev_max_backlog=1000")
	}
	j.add("socket buffers", fmt.Sprintf("%v granted of %v asked for", f.Granted, f.Asked), when(f.Granted < f.Asked, Bad),
		fmt.Sprintf("datagrams will be lost, and a lost datagram makes a run void: sysctl -w net.core.rmem_max=%d", int64(f.Asked)))
	j.add("open files", fmt.Sprintf("%d: enough for %d links", f.Files, linksFor(f.Files)),
		when(f.Files < filesGood, Warning), "raise the limit: ulimit -n 65536")
}

func (j *judgement) rights() {
	j.group = "rights and tools"
	f := j.f
	j.add("namespaces",
		either(f.NetworkNamespaces, "network namespaces can be made", "no network namespace can be made"),
		when(!f.NetworkNamespaces, Warning), "only fabrics on veth links and real guests need them: run as root"+
			either(f.UserNamespaces, ", or in a user namespace: unshare -r -n", ""))
	j.add("real guests", either(f.TUN, "/dev/net/tun can be opened", "/dev/net/tun cannot be opened"), when(!f.TUN, Warning),
		"only scenarios with real guests need it: run as root, load the module (modprobe tun); in a container, hand it the device (--device /dev/net/tun)")
	j.add("captures", cmp.Or(strings.Join(f.Captures, ", "), "none of "+strings.Join(host.UseOf(host.Captures).Programs, ", ")+" is in PATH"),
		when(len(f.Captures) == 0, Warning), "to look into captures install wireshark or tshark")
	var missing, install []string
	for _, m := range f.Missing {
		between := either(m.Any, " or ", ", ")
		missing = append(missing, strings.Join(m.Programs, between))
		install = append(install, m.For+": "+strings.Join(host.PackagesOf(m.Programs), between))
	}
	j.add("optional programs", either(missing == nil, "all are there", "not there: "+strings.Join(missing, "; ")), when(missing != nil, Warning),
		"install what you need (packages of Debian and Ubuntu): "+strings.Join(install, "; "))
	j.add("the scenario's programs", either(len(f.Lacking) == 0, "nothing is missing", strings.Join(f.Lacking, "; ")), when(len(f.Lacking) > 0, Bad),
		"install them before the run")
}
