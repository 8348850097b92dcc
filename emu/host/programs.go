package host

import "fmt"

// debianPackage returns the package of Debian and Ubuntu that has a program, or nothing if it is
// unknown or has the name of the program.
func debianPackage(program string) string {
	switch program {
	case "ping":
		return "iputils-ping"
	case "ip", "tc", "ss", "bridge":
		return "iproute2"
	case "iperf3", "tcpdump", "tshark", "wireshark", "netperf", "opensm", "nuttcp", "socat", "ethtool", "curl":
		return program
	case "nc":
		return "netcat-openbsd"
	case "dumpcap":
		return "wireshark-common"
	case "qemu-system-x86_64":
		return "qemu-system-x86"
	case "ib_write_bw", "ib_send_bw", "ib_read_bw", "ib_write_lat", "ib_send_lat", "ib_read_lat":
		return "perftest"
	case "ibv_rc_pingpong", "ibv_devinfo", "ibv_devices":
		return "ibverbs-utils"
	case "ibnetdiscover", "iblinkinfo", "smpquery", "perfquery", "ibtracert", "ibping", "ibstat", "sminfo", "saquery", "ibqueryerrors", "ibroute", "ibswitches", "ibhosts":
		return "infiniband-diags"
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
