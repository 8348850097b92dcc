package doctor

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
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
	Hypervisor  string   `json:"hypervisor"`   // "" on bare metal; "unnamed" if it does not say
	ClockSource string   `json:"clock_source"` // "tsc", "kvm-clock", "hpet" ...
	Governors   []string `json:"governors"`    // of the processors' frequencies, each once; none if the kernel shows none
	// Quota is how many processors the control groups grant to this process; 0 is no
	// limit.
	Quota float64 `json:"quota"`
}

// Network is what the kernel is set to do with datagrams.
type Network struct {
	// Steering lists the receive queues of the loopback interface, with their masks,
	// that hand packets on to other processors.
	Steering []string `json:"steering"`
	Backlog  int      `json:"netdev_max_backlog"` // packets that may wait for a processor
	Weight   int      `json:"dev_weight"`         // packets that are handled at a time
	RmemMax  int      `json:"rmem_max"`           // bytes: the largest receive buffer that a process may ask for
	RmemDef  int      `json:"rmem_default"`       // bytes
}

// system reads what the kernel shows of the computer under /proc and /sys.
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

// quota returns the least number of processors that a control group of this
// process, or one above it, grants; 0 is no limit. It knows version 2
// (cpu.max) and version 1 (cpu.cfs_quota_us).
func quota(root fs.FS) float64 {
	v2, v1 := "", ""
	for line := range strings.Lines(text(root, "proc/self/mountinfo")) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 1 {
			continue
		}
		switch options := g[len(g)-1]; {
		case g[0] == "cgroup2":
			v2 = f[4]
		case g[0] == "cgroup" && slices.Contains(strings.Split(options, ","), "cpu"):
			v1 = f[4]
		}
	}
	least := 0.0
	grant := func(n float64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for line := range strings.Lines(text(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "" && v2 != "":
			for dir := range upwards(v2, parts[2]) {
				grant(parseMax(text(root, path.Join(dir, "cpu.max"))))
			}
		case slices.Contains(strings.Split(parts[1], ","), "cpu") && v1 != "":
			for dir := range upwards(v1, parts[2]) {
				grant(parseMax(text(root, path.Join(dir, "cpu.cfs_quota_us")) + " " +
					text(root, path.Join(dir, "cpu.cfs_period_us"))))
			}
		}
	}
	return least
}

// upwards yields the folder of a control group, and those above it up to the
// mount point, without the slash at their begin.
func upwards(mount, group string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		// Seen from inside a namespace, a group may lie above what is mounted.
		for g := path.Join("/", group); ; g = path.Dir(g) {
			if !yield(strings.TrimPrefix(path.Join(mount, g), "/")) || g == "/" {
				return
			}
		}
	}
}

// parseMax reads "QUOTA PERIOD", both in microseconds, as a number of processors.
// "max", a negative quota and what it does not understand are no limit: 0.
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

// Load is what the computer did while it was measured, in processors: 1.0 is one
// that was busy all the time.
type Load struct {
	Foreign float64 `json:"foreign"` // work of other processes
	Stolen  float64 `json:"stolen"`  // taken by the hypervisor for others
	Mean    float64 `json:"mean"`    // the load average of the last minute: processes that run or want to
}

// Rights is what this process may do.
type Rights struct {
	Root bool `json:"root"`
	// Capabilities are those of the ones listed below that are in force.
	Capabilities []string `json:"capabilities"`
	// NetworkNamespaces says whether a network namespace can be made.
	NetworkNamespaces bool `json:"network_namespaces"`
	// UserNamespaces says whether the kernel allows user namespaces at all.
	UserNamespaces bool `json:"user_namespaces"`
	// TUN says whether /dev/net/tun can be opened, by which real hosts have their devices.
	TUN bool `json:"tun"`
}

// capabilities are those that matter, by the number of their bit.
var capabilities = []struct {
	bit  int
	name string
}{{12, "CAP_NET_ADMIN"}, {13, "CAP_NET_RAW"}, {14, "CAP_IPC_LOCK"}, {21, "CAP_SYS_ADMIN"}, {23, "CAP_SYS_NICE"}}

// parseCapabilities reads the effective capabilities in /proc/self/status.
func parseCapabilities(status string) ([]string, error) {
	mask, err := strconv.ParseUint(field(status, "CapEff"), 16, 64)
	if err != nil {
		return nil, fmt.Errorf("CapEff in /proc/self/status: %w", err)
	}
	names := []string{}
	for _, c := range capabilities {
		if mask>>c.bit&1 == 1 {
			names = append(names, c.name)
		}
	}
	return names, nil
}

// text returns a file without white space around it, or nothing if it cannot be
// read: what the kernel does not show is not there.
func text(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// number returns the number in a file, or 0.
func number(root fs.FS, name string) int {
	n, err := strconv.Atoi(text(root, name))
	if err != nil {
		return 0
	}
	return n
}

// field returns the value of the first line "KEY : VALUE".
func field(s, key string) string {
	lines := bufio.NewScanner(strings.NewReader(s))
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
