package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

// environment has the variables of the tests.
func environment(name string) (string, bool) {
	value, set := map[string]string{"SET": "set", "EMPTY": "", "MTU": "2000", "KIND": "linux"}[name]
	return value, set
}

// Topologies of all features, and the scenarios that come of them, with the parts that are left
// out.
func TestFromClab(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/clab/*.clab.yml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		x, err := generate.FromClab(file, text, environment)
		if err != nil {
			t.Fatal(err)
		}
		for _, why := range x.Left {
			if !strings.Contains(string(x.Scenario), "# Left out: "+why+"\n") {
				t.Errorf("%s: the head of the scenario lacks %q", file, why)
			}
		}
		if _, err := resolve.Load(file, x.Scenario, nil); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		golden.File(t, strings.TrimSuffix(file, ".clab.yml")+".yaml", string(x.Scenario))
	}
}

// Variables are replaced before the text is read, as in a shell; other dollar signs stay.
func TestClabVariables(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"$SET": "set", "${SET}": "set", "a$SET/b": "aset/b", "$$SET": "$SET", "$$$SET": "$set",
		"${NO:-x}": "x", "${NO:=x}": "x", "${NO-x}": "x", "${NO=x}": "x", "${NO:-}": "", "${NO:-a b}": "a b",
		"${SET:-x}": "set", "${SET-x}": "set", "${SET:=x}": "set", "${EMPTY:-x}": "x", "${EMPTY:=x}": "x", "${EMPTY-x}": "",
		"${NO+x}": "", "${NO:+x}": "", "${SET+x}": "x", "${SET:+x}": "x", "${EMPTY+x}": "x", "${EMPTY:+x}": "",
		"${NO:-$SET}": "set", "${NO:-a${NO:-b}c}": "abc", "${NO:-${SET}}${NO:-y}": "sety", "${SET:?no}": "set",
		"$NO": "$NO", "${NO}": "$NO", "$1": "$1", "${1}": "${1}", "${SET%.*}": "${SET%.*}", "$": "$", "a$": "a$", "$_": "$_", "${}": "${}",
		"$(date)": "$(date)", "é$SET": "éset",
	} {
		got, err := generate.Expand("\n"+name+"\n", environment)
		if err != nil || got != "\n"+want+"\n" {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a\n${NO:?set it to 1}": "line 2: set it to 1",
		"${NO:?}":               "line 1: the environment has no NO: set it",
		"${EMPTY:?}":            "line 1: the environment has no EMPTY: set it",
		"\n\n${SET\n}":          "line 3: ${SET has no } in its line",
		strings.Repeat("${NO:-", 99) + strings.Repeat("}", 99): "line 1: more than 20 defaults of variables in one another",
	} {
		if got, err := generate.Expand(text, environment); err == nil || err.Error() != want {
			t.Errorf("%.40s: %q, %v; want %s", text, got, err, want)
		}
	}
}

// The names of interfaces become names of devices, by the rule of each kind.
func TestClabDevices(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"linux:eth1": "eth1", "linux:net0": "net0", ":eth1": "eth1", "arista_ceos:eth1_1": "eth1_1", "cisco_xrd:Gi0-0-0-1": "Gi0-0-0-1",
		"nokia_srlinux:ethernet-1/2": "e1-2", "srl:ethernet-1/2/3": "e1-2-3", "srl:e1-2": "e1-2", "srl:mgmt0": "mgmt0",
		"nokia_srsim:1/2/3": "e1-2-3", "nokia_srsim:1/2/c3/4": "e1-2-c3-4", "nokia_srsim:1/x2/3/4": "e1-x2-3-4",
		"nokia_srsim:1/x2/3/c4/5": "e1-x2-3-c4-5", "nokia_srsim:e1-1-c1-1": "e1-1-c1-1",
		"vr-sros:1/1/7": "eth7", "nokia_sros:1/1/c7/1": "eth7", "vr-sros:eth2": "eth2",
		"aruba_aoscx:1/1/3": "eth3", "arista_veos:Ethernet1/4": "eth4", "arista_veos:Et1/4": "eth4", "cisco_n9kv:Ethernet1/5": "eth5",
		"cisco_iol:Ethernet0/1": "eth1", "cisco_iol:e0/3": "eth3", "cisco_iol:Ethernet1/0": "eth4", "cisco_iol:Ethernet 2/3": "eth11",
		"cisco_csr1000v:Gi2": "eth1", "cisco_c8000v:GigabitEthernet5": "eth4", "cisco_vios:Gi0": "eth1", "cisco_asav:GigabitEthernet0/0": "eth1",
		"cisco_cat9kv:Gi1/0/3": "eth3", "vr-xrv:Gi0/0/0/0": "eth1", "vr-xrv9k:TenGigE0/0/0/2": "eth3", "cisco_xrd_vrouter:Te0/0/0/1": "eth2",
		"juniper_vjunosswitch:ge-0/0/0": "eth1", "vr-vmx:xe-0/0/3": "eth4", "vr-vqfx:et-0/0/1": "eth2", "cjunosevolved:et-0/0/0": "eth4",
		"mikrotik_ros:ether2": "eth1", "fortinet_fortigate:port3": "eth2", "paloalto_panos:Ethernet1/2": "eth2", "f5_bigip-ve:1.2": "eth2",
		"ciena_saos:4": "eth4", "nvidia_cumulusvx:swp1": "eth1", "freebsd:vtnet1": "eth1", "openbsd:vio2": "eth2", "spirent_stc:port1": "eth1",
	} {
		kind, name, _ := strings.Cut(names, ":")
		if got, err := generate.Device(kind, name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %s", names, got, err, want)
		}
	}
	for names, want := range map[string]string{
		"cisco_iol:Ethernet0/0": "of kind cisco_iol is not one of e#/# Ethernet#/# eth#", // for management
		"cisco_iol:Ethernet0/4": "of kind cisco_iol", "cisco_iol:eth0": "of kind cisco_iol", "cisco_iol:Gi1": "of kind cisco_iol",
		"cisco_csr1000v:Gi1": "of kind cisco_csr1000v", "vr-sros:1/1/c1/2": "of kind vr-sros", "vr-sros:2/1/1": "of kind vr-sros",
		"mikrotik_ros:ether99999999999999999999": "of kind mikrotik_ros", "juniper_vmx:ge-0/0/": "of kind juniper_vmx",
		"linux:eth0/1": "is not the name of a device", "linux:": "is not the name of a device", "linux:eth0123456789abc": "is not the name of a device",
		"nokia_srlinux:ethernet-1/0": "is not the name of a device", "nokia_srsim:1/1": "is not the name of a device",
	} {
		kind, name, _ := strings.Cut(names, ":")
		if got, err := generate.Device(kind, name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", names, got, err, want)
		}
	}
}
