package host

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Use is a purpose of programs that do not come with fabemu.
type Use struct {
	Name     string   // such as "guests in containers"
	Of       string   // the fields and commands that need them
	Any      bool     // one of the programs suffices
	Programs []string // or libraries
}

// The uses that scenarios and flags ask for by themselves.
const (
	Captures       = "captures"
	Containers     = "guests in containers"
	SubnetManagers = "subnet managers"
)

// uses is the table of optional programs.
var uses = []Use{
	{Captures, "`--pcap`", true, []string{"wireshark", "tshark", "tcpdump"}},
	{"programs in guests", "`programs`, `fabemu exec`; the scenarios `guest/*` call these", false, []string{"iperf3", "ping", "python3"}},
	{Containers, "`guest: {container: NAME}`", true, []string{"docker", "podman"}},
	{"virtual machines", "`guest: {vm: DEVICE}`", false, []string{"qemu-system-x86_64"}},
	{"namespaces made by hand", "`guest: {netns: NAME}`", false, []string{"ip", "tc"}},
	{SubnetManagers, "`--subnet`, `subnet: {in-band: true}`", false, []string{"opensm", Umad2sim}},
	{"diagnostic programs of InfiniBand", "`fabemu subnet exec`", false, []string{"ibnetdiscover", "perfquery"}},
}

// packages are the packages of Debian and Ubuntu, each with the programs that a scenario or a guest
// is likely to call.
var packages = map[string][]string{
	"chromium":         {"chromium"},
	"curl":             {"curl"},
	"docker.io":        {"docker"},
	"ethtool":          {"ethtool"},
	"ibsim-utils":      {Umad2sim, "ibsim"},
	"ibverbs-utils":    {"ibv_rc_pingpong", "ibv_devinfo", "ibv_devices"},
	"infiniband-diags": {"ibnetdiscover", "iblinkinfo", "smpquery", "perfquery", "ibtracert", "ibping", "ibstat", "sminfo", "saquery", "ibqueryerrors", "ibroute", "ibswitches", "ibhosts", "ibportstate", "ibccconfig", "ibccquery"},
	"iperf3":           {"iperf3"},
	"iproute2":         {"ip", "tc", "ss", "bridge"},
	"iputils-ping":     {"ping"},
	"netcat-openbsd":   {"nc"},
	"netperf":          {"netperf", "netserver"},
	"nuttcp":           {"nuttcp"},
	"opensm":           {"opensm"},
	"perftest":         {"ib_write_bw", "ib_send_bw", "ib_read_bw", "ib_write_lat", "ib_send_lat", "ib_read_lat"},
	"podman":           {"podman"},
	"python3":          {"python3"},
	"qemu-system-x86":  {"qemu-system-x86_64"},
	"socat":            {"socat"},
	"tcpdump":          {"tcpdump"},
	"tshark":           {"tshark"},
	"wireshark":        {"wireshark"},
	"wireshark-common": {"dumpcap"},
}

// Uses returns the optional programs by what needs them.
func Uses() []Use { return slices.Clone(uses) }

// UseOf returns the use of a name.
func UseOf(name string) Use {
	i := slices.IndexFunc(uses, func(u Use) bool { return u.Name == name })
	return uses[i]
}

// Package returns the package of Debian and Ubuntu that has a program or a library, or nothing if
// that is unknown.
func Package(program string) string {
	for name, programs := range packages {
		if slices.Contains(programs, program) {
			return name
		}
	}
	return ""
}

// PackagesOf returns the packages of programs, each once.
func PackagesOf(programs []string) (all []string) {
	for _, p := range programs {
		if name := Package(p); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Missing returns the programs that have to be installed for u: none where the others suffice.
func (u Use) Missing() []string {
	missing := slices.DeleteFunc(slices.Clone(u.Programs), Installed)
	if u.Any && len(missing) < len(u.Programs) {
		return nil
	}
	return missing
}

// Umad2sim is the library that connects programs of InfiniBand to a run.
const Umad2sim = "libumad2sim.so"

// Library returns the path of a library, or its name alone if it is in none of the usual places.
func Library(name string) string {
	folder := strings.TrimSuffix(strings.TrimPrefix(name, "lib"), ".so")
	for _, root := range []string{"/usr/local/lib*", "/usr/lib*", "/usr/lib/*"} {
		if found, _ := filepath.Glob(filepath.Join(root, folder, name)); len(found) > 0 { // the pattern is right
			return found[0]
		}
	}
	return name
}

// Installed reports whether a program is in PATH, or a library in one of the usual places.
func Installed(program string) bool {
	if strings.HasSuffix(program, ".so") {
		return Library(program) != program
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// MissingIn returns the programs with a known package that a command of a shell names and this
// machine does not have, each once.
func MissingIn(command string) (missing []string) {
	for _, word := range strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(" \t\n;|&(){}<>`'\"$=", c) }) {
		if Package(word) != "" && !slices.Contains(missing, word) && !Installed(word) {
			missing = append(missing, word)
		}
	}
	return missing
}

// NoCommand says that a command is not on this machine, and names the package that has it.
func NoCommand(name string) string {
	what := "command"
	if strings.HasSuffix(name, ".so") {
		what = "library"
	}
	text := fmt.Sprintf("there is no %s %s on this machine", what, name)
	if p := Package(name); p != "" {
		text += fmt.Sprintf(": Debian and Ubuntu have it in the package %s", p)
	}
	return text
}

// NoUse says that none of the programs of u is there, of which one suffices (Any); nothing if one
// is.
func (u Use) NoUse() string {
	if u.Missing() == nil {
		return ""
	}
	return fmt.Sprintf("%s need one of %s, and this machine has none: Debian and Ubuntu have them in the packages %s",
		u.Name, strings.Join(u.Programs, ", "), strings.Join(PackagesOf(u.Programs), ", "))
}
