package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// Figures are the measurements and the settings of the computer.
type Figures struct {
	System  System  `json:"system"`
	Load    Load    `json:"load"`
	Speed   Speed   `json:"speed"`
	Limits  Limits  `json:"limits"`
	Network Network `json:"network"`
	Rights  Rights  `json:"rights"`
	Tools   []Tool  `json:"tools"`
}

// Limits are the resources that the kernel grants to this process.
type Limits struct {
	Files     uint64 `json:"files"`      // file descriptors; a link of a fabric takes two
	FilesHard uint64 `json:"files_hard"` // the most that Files can be raised to without privileges
	Asked     int64  `json:"buffer_asked"`
	Granted   int64  `json:"buffer_granted"` // of the Asked bytes of a socket's receive buffer
}

// Tool is a program that is of use beside this one.
type Tool struct {
	Name    string `json:"name"`
	Path    string `json:"path"`    // empty: not found
	Version string `json:"version"` // empty: not known
}

// askedBuffer is the receive buffer that scenarios ask for by default.
const askedBuffer = 128 * unit.KiB

// Examine examines the computer, for about two seconds, most of which it spends
// on one processor. progress, if not nil, receives the present step and the share
// that is done. An error comes from the sockets or from ctx. A figure that the kernel
// or a tool does not show is left empty.
func Examine(ctx context.Context, progress func(step string, done float64)) (*Report, error) {
	if progress == nil {
		progress = func(string, float64) {}
	}
	root := os.DirFS("/")
	f := Figures{System: system(root), Network: network(root)}
	var err error
	if f.Limits, err = limits(root); err != nil {
		return nil, err
	}

	// The load is read where the measurement is the only work of this process.
	meter := host.StartCPUMeter()
	if f.Speed, err = Measure(ctx, func(done float64) { progress("measuring", done) }); err != nil {
		return nil, err
	}
	if others, stolen := meter.Load(); !math.IsNaN(others) { // NaN: the kernel does not count it
		f.Load = Load{Foreign: others, Stolen: stolen}
	}
	if mean, _, ok := strings.Cut(text(root, "proc/loadavg"), " "); ok {
		f.Load.Mean, _ = strconv.ParseFloat(mean, 64) // 0: not known
	}

	progress("looking around", 1)
	f.Rights = rights(root)
	if f.Tools, err = tools(ctx); err != nil {
		return nil, err
	}
	return &Report{Figures: f, Findings: judge(&f)}, nil
}

// limits reads the limit of open files, and has the kernel grant the buffers of a link.
func limits(root fs.FS) (Limits, error) {
	l := Limits{Asked: int64(askedBuffer)}
	_, files, _ := strings.Cut(text(root, "proc/self/limits"), "Max open files")
	if _, err := fmt.Sscan(files, &l.Files, &l.FilesHard); err != nil {
		return l, errors.New("there is no /proc/self/limits, where the kernel shows the limits of this process: mount /proc (mount -t proc proc /proc)")
	}
	a, b, err := link.UDPPair(link.UDPOptions{Buffer: askedBuffer})
	if err != nil {
		return l, fmt.Errorf("open a link: %w", err)
	}
	l.Granted = int64(min(a.Granted(), b.Granted()))
	return l, errors.Join(a.Close(), b.Close())
}

// rights finds out the rights of this process.
func rights(root fs.FS) Rights {
	r := Rights{Root: os.Geteuid() == 0}
	r.Capabilities = parseCapabilities(text(root, "proc/self/status"))
	r.NetworkNamespaces = netns.Possible()
	_, err := fs.Stat(root, "proc/self/ns/user")
	most := text(root, "proc/sys/user/max_user_namespaces")
	clone := text(root, "proc/sys/kernel/unprivileged_userns_clone") // on Debian's kernels
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err == nil {
		r.TUN = true
		_ = f.Close() // no device was made
	}
	r.UserNamespaces = err == nil && most != "0" && clone != "0"
	return r
}

// wanted are the tools that are looked for.
var wanted = []struct{ name, flag string }{
	{"wireshark", "--version"}, {"tshark", "--version"}, {"dumpcap", "--version"}, {"tcpdump", "--version"},
	{"ip", "-Version"}, {"tc", "-Version"},
}

// tools looks for programs in PATH and asks them for their versions. It returns the
// error of ctx.
func tools(ctx context.Context) ([]Tool, error) {
	found := make([]Tool, len(wanted))
	var all sync.WaitGroup
	for i, w := range wanted {
		found[i].Name = w.name
		all.Go(func() {
			name, err := exec.LookPath(w.name)
			if err != nil {
				return
			}
			ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			c := exec.CommandContext(ctx, name, w.flag)
			c.WaitDelay = time.Second
			out, _ := c.CombinedOutput() // some exit with a status of their own
			found[i].Path, found[i].Version = name, version.FindString(string(out))
		})
	}
	all.Wait()
	return found, ctx.Err()
}

// version matches a version: a number with points in it.
var version = regexp.MustCompile(`\d+(\.\d+)+`)
