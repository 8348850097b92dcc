package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"fabemu/emu/host"
	"fabemu/emu/host/netns"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// Report is the result of an examination.
type Report struct {
	Figures  Figures   `json:"figures"`
	Findings []Finding `json:"findings"` // in the order of their groups
}

// Figures are the settings and limits of the machine, and the load on it. What the kernel does not
// show is empty.
type Figures struct {
	Load
	Processors  int      `json:"processors"`   // that this process may use
	Quota       float64  `json:"quota"`        // processors that the control groups grant to this process; 0: no limit
	Governors   []string `json:"governors"`    // of the processors' frequencies, each once
	ClockSource string   `json:"clock_source"` // "tsc", "kvm-clock", "hpet" ...
	ReadNs      int64    `json:"clock_read_ns"`

	Steering []string  `json:"steering"`           // receive queues of the loopback interface that hand packets to other processors, with their masks
	Backlog  int       `json:"netdev_max_backlog"` // packets that may wait for a processor
	Asked    unit.Size `json:"buffer_asked"`
	Granted  unit.Size `json:"buffer_granted"` // of the bytes Asked for a socket's receive buffer
	Files    uint64    `json:"files"`          // file descriptors that this process may have; a link takes two

	NetworkNamespaces bool      `json:"network_namespaces"` // a network namespace can be made
	UserNamespaces    bool      `json:"user_namespaces"`    // the kernel allows user namespaces at all
	TUN               bool      `json:"tun"`                // /dev/net/tun, the device of real guests, can be opened
	Captures          []string  `json:"captures"`           // programs that show captures
	Missing           []Missing `json:"missing"`            // optional programs, but those of captures
	Lacking           []string  `json:"lacking"`            // why the scenario does not run as it should: programs that are not there
}

// Missing are optional programs that the machine does not have.
type Missing struct {
	For      string   `json:"for"` // the name of a host.Use
	Any      bool     `json:"any"` // one of them suffices
	Programs []string `json:"programs"`
}

// Load is the work of others while this machine made trials, in processors: 1.0 is one processor
// that was busy all the time.
type Load struct {
	Foreign float64 `json:"foreign_load"` // work of other processes
	Stolen  float64 `json:"stolen_load"`  // taken by the hypervisor for others
}

// askedBuffer is the receive buffer that scenarios ask for by default.
const askedBuffer = 128 * unit.KiB

// Examine examines the machine. Lacking are words about programs that a scenario needs and that are
// not there. An error comes from sockets, or there is no /proc.
func Examine(load Load, lacking []string) (*Report, error) {
	f := Figures{Load: load, Asked: askedBuffer, ReadNs: readClock(), Missing: []Missing{}, Lacking: append([]string{}, lacking...)}
	f.read(os.DirFS("/"))
	if f.Files == 0 {
		return nil, errors.New("there is no /proc/self/limits, where the kernel shows the limits of this process: mount /proc (mount -t proc proc /proc)")
	}
	a, b, err := link.UDPPair(link.UDPOptions{Buffer: askedBuffer})
	if err != nil {
		return nil, fmt.Errorf("open a link: %w", err)
	}
	f.Granted = unit.Size(min(a.Granted(), b.Granted()))
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		return nil, err
	}
	f.NetworkNamespaces = netns.Possible()
	if tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err == nil {
		f.TUN = true
		_ = tun.Close() // no device was made
	}
	for _, u := range host.Uses() {
		switch {
		case u.Name == host.Captures:
			f.Captures = slices.DeleteFunc(slices.Clone(u.Programs), func(name string) bool { return !host.Installed(name) })
		case u.Missing() != nil:
			f.Missing = append(f.Missing, Missing{u.Name, u.Any, u.Missing()})
		}
	}
	return &Report{Figures: f, Findings: judge(&f)}, nil
}

// readClock returns how long it takes to read the clock, in ns: the least mean of some batches, so
// that other work does not count.
func readClock() int64 {
	least := time.Hour
	for range 20 {
		const batch = 200
		begin := time.Now()
		for range batch - 1 {
			_ = time.Now()
		}
		least = min(least, time.Since(begin)/batch)
	}
	return int64(least)
}

// read reads what the kernel shows under /proc and /sys.
func (f *Figures) read(root fs.FS) {
	f.Processors, f.Quota = runtime.NumCPU(), quota(root)
	f.ClockSource = text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	f.Governors = []string{}
	governors, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is right
	for _, name := range governors {
		if g := text(root, name); g != "" && !slices.Contains(f.Governors, g) {
			f.Governors = append(f.Governors, g)
		}
	}
	n, _ := strconv.Atoi(text(root, "proc/sys/net/core/netdev_max_backlog"))
	f.Backlog = n
	f.Steering = []string{}
	queues, _ := fs.Glob(root, "sys/class/net/lo/queues/rx-*/rps_cpus") // the pattern is right
	for _, name := range queues {
		if mask := text(root, name); strings.Trim(mask, "0,") != "" {
			f.Steering = append(f.Steering, strings.Split(name, "/")[5]+" "+mask)
		}
	}
	_, limit, _ := strings.Cut(text(root, "proc/self/limits"), "Max open files")
	_, _ = fmt.Sscan(limit, &f.Files) // 0 where it is not shown
	_, err := fs.Stat(root, "proc/self/ns/user")
	f.UserNamespaces = err == nil && text(root, "proc/sys/user/max_user_namespaces") != "0" &&
		text(root, "proc/sys/kernel/unprivileged_userns_clone") != "0" // on Debian's kernels
}
