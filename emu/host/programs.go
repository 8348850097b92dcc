package host

import (
	"fmt"
	"slices"
)

// debianPackages are the packages of Debian and Ubuntu, each with the programs that a scenario or a
// guest is likely to call.
var debianPackages = map[string][]string{
	"curl":             {"curl"},
	"ethtool":          {"ethtool"},
	"ibverbs-utils":    {"ibv_rc_pingpong", "ibv_devinfo", "ibv_devices"},
	"infiniband-diags": {"ibnetdiscover", "iblinkinfo", "smpquery", "perfquery", "ibtracert", "ibping", "ibstat", "sminfo", "saquery", "ibqueryerrors", "ibroute", "ibswitches", "ibhosts"},
	"iperf3":           {"iperf3"},
	"iproute2":         {"ip", "tc", "ss", "bridge"},
	"iputils-ping":     {"ping"},
	"netcat-openbsd":   {"nc"},
	"netperf":          {"netperf"},
	"nuttcp":           {"nuttcp"},
	"opensm":           {"opensm"},
	"perftest":         {"ib_write_bw", "ib_send_bw", "ib_read_bw", "ib_write_lat", "ib_send_lat", "ib_read_lat"},
	"qemu-system-x86":  {"qemu-system-x86_64"},
	"socat":            {"socat"},
	"tcpdump":          {"tcpdump"},
	"tshark":           {"tshark"},
	"wireshark":        {"wireshark"},
	"wireshark-common": {"dumpcap"},
}

// debianPackage returns the package of Debian and Ubuntu that has a program, or nothing if it is
// unknown.
func debianPackage(program string) string {
	for name, programs := range debianPackages {
		if slices.Contains(programs, program) {
			return name
		}
	}
	return ""
}

// NoCommand says that a command is not on this machine, and names the package that has it.
func NoCommand(name string) string {
	if p := debianPackage(name); p != "" {
		return fmt.Sprintf("there is no command %s on this machine: Debian and Ubuntu have it in the package %s", name, p)
	}
	return fmt.Sprintf("there is no command %s on this machine", name)
}
