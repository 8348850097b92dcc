package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// aliases are the rules by which containerlab makes the name of a device of the name that an
// interface has in the operating system of a node, as the pages of the kinds in its documentation
// have them. A # is a number. The device is eth and the number of the port with a shift; of a slot
// and a port, there are four ports in each slot.
var aliases = []struct {
	kinds, names string
	shift        int
}{
	{"nokia_sros vr-sros vr-nokia_sros", "1/1/# 1/1/c#/1", 0},
	{"aruba_aoscx vr-aoscx vr-aruba_aoscx", "1/1/#", 0},
	{"arista_veos vr-veos vr-arista_veos", "Et1/# Ethernet1/#", 0},
	{"cisco_n9kv vr-n9kv vr-cisco_n9kv", "Et1/# Ethernet1/#", 0},
	{"cisco_iol", "e#/# Ethernet#/#", 0},
	{"cisco_csr1000v vr-csr vr-cisco_csr1000v cisco_c8000v", "Gi# GigabitEthernet#", -1},
	{"cisco_vios", "Gi# GigabitEthernet#", 1},
	{"cisco_asav cisco_ftdv", "Gi0/# GigabitEthernet0/#", 1},
	{"cisco_cat9kv", "Gi1/0/# GigabitEthernet1/0/#", 0},
	{"cisco_xrv vr-xrv vr-cisco_xrv", "Gi0/0/0/# GigabitEthernet0/0/0/#", 1},
	{"cisco_xrv9k vr-xrv9k vr-cisco_xrv9k cisco_xrd_vrouter",
		"Gi0/0/0/# GigabitEthernet0/0/0/# Te0/0/0/# TenGigE0/0/0/# TenGigabitEthernet0/0/0/#", 1},
	{"juniper_vmx vr-vmx vr-juniper_vmx juniper_vqfx vr-vqfx vr-juniper_vqfx juniper_vsrx vr-vsrx vr-juniper_vsrx " +
		"juniper_vjunosrouter juniper_vjunosswitch juniper_vjunosevolved", "ge-0/0/# xe-0/0/# et-0/0/#", 1},
	{"cjunosevolved juniper_cjunosevolved", "et-0/0/#", 4},
	{"mikrotik_ros vr-ros vr-mikrotik_ros", "ether#", -1},
	{"fortinet_fortigate", "port#", -1},
	{"paloalto_panos vr-pan vr-paloalto_panos", "Ethernet1/#", 0},
	{"f5_bigip-ve", "1.#", 0},
	{"ciena_saos vr-ciena_saos", "#", 0},
	{"nvidia_cumulusvx", "swp#", 0},
	{"freebsd", "vtnet#", 0},
	{"openbsd", "vio#", 0},
	{"spirent_stc", "port#", 0},
}

// dashed are the rules of the kinds whose device has the numbers of the name: e1-2 for
// ethernet-1/2.
var dashed = map[string]*regexp.Regexp{
	"nokia_srlinux": regexp.MustCompile(`^(?:ethernet-)([1-9]\d*(?:/[1-9]\d*){1,2})$`),
	"nokia_srsim":   regexp.MustCompile(`^([1-9]\d*/(?:x[1-9]\d*/)?[1-9]\d*/(?:c[1-9]\d*/)?[1-9]\d*)$`),
}

// numbered is the names of devices of the kinds in aliases.
var numbered = regexp.MustCompile(`^eth[1-9][0-9]*$`)

// device returns the name of the device that an interface of a node of a kind has in its container,
// or an error that names the possible ones.
func device(kind, name string) (string, error) {
	if kind == "srl" {
		kind = "nokia_srlinux"
	}
	name = strings.ReplaceAll(name, " ", "")
	if rule := dashed[kind]; rule != nil {
		if m := rule.FindStringSubmatch(name); m != nil {
			return "e" + strings.ReplaceAll(m[1], "/", "-"), nil
		}
	}
	for _, a := range aliases {
		if !slices.Contains(strings.Fields(a.kinds), kind) {
			continue
		}
		if numbered.MatchString(name) {
			return name, nil
		}
		for _, form := range strings.Fields(a.names) {
			if port, ok := portOf(form, name); ok && port+a.shift > 0 {
				return fmt.Sprintf("eth%d", port+a.shift), nil
			}
		}
		return "", fmt.Errorf("of kind %s is not one of %s eth#", kind, a.names)
	}
	if name == "" || len(name) > longestDevice || strings.ContainsAny(name, "/:\t\n") {
		return "", fmt.Errorf("is not the name of a device in a container, such as eth1")
	}
	return name, nil
}

// portOf returns the number of the port in a name of a form; ok is false if the name has another
// form.
func portOf(form, name string) (port int, ok bool) {
	parts := strings.Split(form, "#")
	for i, part := range parts {
		rest, found := strings.CutPrefix(name, part)
		if !found {
			return 0, false
		}
		if i == len(parts)-1 {
			return port, rest == ""
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseUint(rest[:digits], 10, 12)
		if err != nil || i == 1 && n > 3 {
			return 0, false
		}
		port, name = 4*port+int(n), rest[digits:]
	}
	return 0, false
}
