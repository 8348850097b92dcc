package resolve_test

import (
	"strings"
	"testing"

	"fabemu/emu/scenario/resolve"
)

// TestPlacesOfGuests: a guest that is there keeps its settings, and has one place. A right one is
// printed so that it reads the same again.
func TestPlacesOfGuests(t *testing.T) {
	for guest, want := range map[string]string{
		"{netns: web}": "", "{pid: 7, device: lossless0, address: 10.1.0.1/24, ipv6: 'fd00::1/64'}": "",
		"{kind: tap, container: clab-x-r1, device: eth1, address: none}": "",
		"{interface: eth1}": "", "{vm: tap3}": "",
		"{kind: tap, mac: 'AA-C1-AB-00-00-01'}": "",
		"{mac: 'aa:c1:ab:00:00:01'}":            "guest a has no device of Ethernet in a namespace: leave mac out, or give it kind: tap",
		"{vm: t0, mac: 'aa:c1:ab:00:00:01'}":    "guest a has no device of Ethernet in a namespace: leave mac out",
		"{kind: tap, mac: 'aa:c1:ab:00:00:02'}": "b has the hardware address aa:c1:ab:00:00:02, and a has it already",
		"{kind: tap, mac: '02:00:00:00:00:02'}": "is an address of the fabric itself",
		"{kind: tap, mac: '01:00:5e:00:00:01'}": "is not the hardware address of a device",
		"{kind: tap, mac: 'aa:c1:ab:00:00'}":    "is not the hardware address of a device",
		"{netns: web, pid: 7}":                  "guest a is in several places: give it one of netns, pid, container, interface, vm",
		"{netns: web, address: none}":           "guest a has no address, and a device of IP needs one: give it kind: tap, or an address",
		"{netns: web, tcp: reno}":               "guest a existed before the run, and keeps the settings of its kernel: omit tcp",
		"{kind: netstack, netns: web}":          "guest a is a host in this program, of kind netstack: it has no netns",
		"{kind: tun, interface: eth1}":          "guest a is an interface of Ethernet: leave kind out, or give it kind: tap",
		"{vm: t0, address: 10.1.0.1/24}":        "guest a is an interface, and the scenario has no address of it: leave it out",
		"{vm: t0, strict-source: true}":         "guest a is an interface, and the scenario has no strict-source of it: leave it out",
		"{ipv6: 'fd00::2/64'}":                  "b has the address fd00::2, and a has it already",
		"{pid: 0}":                              `"0" is not a whole number from 1 to 4194304`,
	} {
		text := `
name: pair
model: {duration: 1s}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: pfc}}
switches: {S: {kind: output-queued}}
endpoints: [{name: a, guest: ` + guest + `}, {name: b, guest: {kind: KIND, ipv6: 'fd00::2/64'}}]
links: ["a - S", "b - S"]
flows: [{name: ab, from: a, to: b}, {name: ba, from: b, to: a}]
`
		kind := "tun"
		if strings.Contains(guest, "tap") || strings.Contains(guest, "interface") || strings.Contains(guest, "vm") {
			kind = "tap"
		}
		if strings.Contains(want, "hardware address aa") {
			kind += ", mac: 'aa:c1:ab:00:00:02'"
		}
		s, err := resolve.Load("pair.yaml", []byte(strings.Replace(text, "KIND", kind, 1)), nil)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", guest, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", guest, err)
			continue
		}
		out, err := resolve.Text(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := resolve.Load("again.yaml", out, nil)
		if err != nil {
			t.Errorf("%s: again: %v\n%s", guest, err, out)
		} else if got, want := again.Endpoints[0].Guest, s.Endpoints[0].Guest; got != want {
			t.Errorf("%s: again %v, at first %v", guest, got, want)
		}
	}
}
