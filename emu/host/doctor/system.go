package doctor

import (
	"bytes"
	"cmp"
	"io/fs"
	"math"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// System is the computer as the kernel describes it.
type System struct {
	Kernel      string   `json:"kernel"` // "Linux 6.18.44"
	Arch        string   `json:"arch"`
	CPU         string   `json:"cpu"`          // model name
	Cores       int      `json:"cores"`        // processors that this process may use
	Hypervisor  string   `json:"hypervisor"`   // "" on bare metal; "unnamed" if it gives no name
	ClockSource string   `json:"clock_source"` // "tsc", "kvm-clock", "hpet" ...
	Governors   []string `json:"governors"`    // of the processors' frequencies, each once; none if the kernel shows none
	// Quota is the number of processors that the control groups grant to this process;
	// 0: no limit.
	Quota float64 `json:"quota"`
}

// Network has the settings of the kernel for datagrams.
type Network struct {
	// Steering lists the receive queues of the loopback interface, with their masks,
	// that hand packets on to other processors.
	Steering []string `json:"steering"`
	Backlog  int      `json:"netdev_max_backlog"` // packets that may wait for a processor
	Weight   int      `json:"dev_weight"`         // packets that are handled at a time
	RmemMax  int      `json:"rmem_max"`           // bytes: the largest receive buffer that a process may ask for
	RmemDef  int      `json:"rmem_default"`       // bytes
}

// system reads the description of the computer under /proc and /sys.
func system(root fs.FS) System {
	s := System{Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Governors: []string{}}
	s.Kernel = strings.TrimSpace(text(root, "proc/sys/kernel/ostype") + " " + text(root, "proc/sys/kernel/osrelease"))
	info := text(root, "proc/cpuinfo")
	s.CPU = field(info, "model name")
	if slices.Contains(strings.Fields(field(info, "flags")), "hypervisor") || text(root, "sys/hypervisor/type") != "" {
		s.Hypervisor = hypervisor(root)
	}
	s.ClockSource = text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	governors, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is right
	for _, name := range governors {
		if g := text(root, name); g != "" && !slices.Contains(s.Governors, g) {
			s.Governors = append(s.Governors, g)
		}
	}
	s.Quota = quota(root)
	return s
}

// hypervisor returns the name that the hypervisor gives itself.
func hypervisor(root fs.FS) string {
	var words []string
	for _, name := range []string{"sys/hypervisor/type", "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"} {
		if w := text(root, name); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return "unnamed"
	}
	return strings.Join(words, " ")
}

// quota returns the least number of processors that a control group of this process,
// or one above it, grants; 0: no limit. It reads version 2 (cpu.max) and version 1
// (cpu.cfs_quota_us).
func quota(root fs.FS) float64 {
	mounts := map[bool]string{} // by whether the version is 2
	for line := range strings.Lines(text(root, "proc/self/mountinfo")) {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) == 0 {
			continue
		}
		v2, options := g[0] == "cgroup2", strings.Split(g[len(g)-1], ",")
		if v2 || g[0] == "cgroup" && slices.Contains(options, "cpu") {
			mounts[v2] = f[4]
		}
	}
	least := math.Inf(1)
	for line := range strings.Lines(text(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != "" && !slices.Contains(strings.Split(parts[1], ","), "cpu") {
			continue
		}
		mount, mounted := mounts[parts[1] == ""]
		// Seen from inside a namespace, a group may lie above the mount point.
		for group := path.Join("/", parts[2]); mounted; group = path.Dir(group) {
			dir := strings.TrimPrefix(path.Join(mount, group), "/")
			grant := cmp.Or(text(root, path.Join(dir, "cpu.max")),
				text(root, path.Join(dir, "cpu.cfs_quota_us"))+" "+text(root, path.Join(dir, "cpu.cfs_period_us")))
			if n := parseMax(grant); n > 0 {
				least = min(least, n)
			}
			mounted = group != "/"
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// parseMax reads "QUOTA PERIOD", both in microseconds, as a number of processors.
// "max", a negative quota and any other text are no limit: 0.
func parseMax(s string) float64 {
	f := strings.Fields(s)
	if len(f) != 2 {
		return 0
	}
	q, err := strconv.ParseFloat(f[0], 64)
	p, err2 := strconv.ParseFloat(f[1], 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}

// network reads the settings of the network.
func network(root fs.FS) Network {
	n := Network{
		Steering: []string{},
		Backlog:  number(root, "proc/sys/net/core/netdev_max_backlog"),
		Weight:   number(root, "proc/sys/net/core/dev_weight"),
		RmemMax:  number(root, "proc/sys/net/core/rmem_max"),
		RmemDef:  number(root, "proc/sys/net/core/rmem_default"),
	}
	queues, _ := fs.Glob(root, "sys/class/net/lo/queues/rx-*/rps_cpus") // the pattern is right
	for _, name := range queues {
		if mask := text(root, name); strings.Trim(mask, "0,") != "" {
			n.Steering = append(n.Steering, path.Base(path.Dir(name))+" "+mask)
		}
	}
	return n
}

// Load is the work on the computer during the measurement, in processors: 1.0 is one
// processor that was busy all the time.
type Load struct {
	Foreign float64 `json:"foreign"` // work of other processes
	Stolen  float64 `json:"stolen"`  // taken by the hypervisor for others
	Mean    float64 `json:"mean"`    // the load average of the last minute: processes that run or want to
}

// Rights are the rights of this process.
type Rights struct {
	Root              bool     `json:"root"`
	Capabilities      []string `json:"capabilities"`       // in force, of those that a run can use
	NetworkNamespaces bool     `json:"network_namespaces"` // a network namespace can be made
	UserNamespaces    bool     `json:"user_namespaces"`    // the kernel allows user namespaces at all
	TUN               bool     `json:"tun"`                // /dev/net/tun, the device of real hosts, can be opened
}

// capabilities are the capabilities that a run can use, by the number of their bit.
var capabilities = []struct {
	bit  int
	name string
}{{12, "CAP_NET_ADMIN"}, {13, "CAP_NET_RAW"}, {14, "CAP_IPC_LOCK"}, {21, "CAP_SYS_ADMIN"}, {23, "CAP_SYS_NICE"}}

// parseCapabilities reads the effective capabilities in /proc/self/status: none where the
// kernel does not show them.
func parseCapabilities(status string) []string {
	mask, _ := strconv.ParseUint(field(status, "CapEff"), 16, 64)
	names := []string{}
	for _, c := range capabilities {
		if mask>>c.bit&1 == 1 {
			names = append(names, c.name)
		}
	}
	return names
}

// text returns a file without white space around it, or nothing if it cannot be read.
func text(root fs.FS, name string) string {
	b, _ := fs.ReadFile(root, name)
	return string(bytes.TrimSpace(b))
}

// number returns the number in a file, or 0.
func number(root fs.FS, name string) int {
	n, _ := strconv.Atoi(text(root, name))
	return n
}

// field returns the value of the first line "KEY : VALUE".
func field(s, key string) string {
	for line := range strings.Lines(s) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
