package resolve

import (
	"cmp"
	"net/netip"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
)

// addressGuests gives guests without an address the next free ones, and refuses addresses of two
// guests.
func (r *fabric) addressGuests() {
	given, hardware := map[netip.Addr]string{}, map[scenario.MAC]string{}
	for e := range each(r.Endpoints, r.EndpointNodes) {
		r.checkPlace(e)
		if m := e.Guest.MAC; m.MAC != 0 {
			if other, taken := hardware[m]; taken {
				r.Add(guestSpot(r.names, e.Name, "mac"), "%s has the hardware address %v, and %s has it already", e.Name, m, other)
			}
			hardware[m] = e.Name
		}
		for key, has := range map[string]scenario.Address{"address": e.Guest.Address, "ipv6": e.Guest.IPv6} {
			if has.None() {
				continue
			}
			at, a := guestSpot(r.names, e.Name, key), has.Addr()
			if other, taken := given[a]; taken {
				r.Add(at, "%s has the address %v, and %s has it already", e.Name, a, other)
			}
			if !a.IsGlobalUnicast() {
				r.Add(at, "%s would have the address %v, which no host can have", e.Name, a)
			}
			given[a] = e.Name
		}
	}
	next := scenario.Address{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), 16)}
	for e := range each(r.Endpoints, r.EndpointNodes) {
		if g := &e.Guest; g.Kind != "" && !g.Address.IsValid() {
			for given[next.Addr()] != "" {
				next = next.Next()
			}
			g.Address = next
			next = next.Next()
		}
	}
}

// checkPlace refuses fields of a guest that contradict its place.
func (r *fabric) checkPlace(e *scenario.Endpoint) {
	g := &e.Guest
	v := r.nodes[e.Name].View.Sub("guest")
	refuse := func(key, format string, args ...any) {
		if n := v.Node(key); n != nil {
			r.Add(n.Spot, "guest %s "+format, append([]any{e.Name}, args...)...)
		}
	}
	if g.Kind == "" {
		return
	}
	places := []string{"netns", "pid", "container", "interface", "vm"}
	for i := len(places) - 1; g.Places() > 1 && i >= 0; i-- {
		refuse(places[i], "is in several places: give it one of %s", strings.Join(places, ", "))
	}
	if g.Kind != scenario.Tap || g.Card() {
		refuse("mac", "has no device of Ethernet in a namespace: leave mac out, or give it kind: tap")
	}
	if g.Kind == scenario.Netstack {
		for _, key := range append(places, "device", "ipv6") {
			refuse(key, "is a host in this program, of kind netstack: it has no %s", key)
		}
	}
	if g.Kind == scenario.Tun && g.Card() {
		refuse("kind", "is an interface of Ethernet: leave kind out, or give it kind: tap")
	} else if g.Kind != scenario.Tap && g.Address == scenario.NoAddress() {
		refuse("address", "has no address, and a device of IP needs one: give it kind: tap, or an address")
	}
	if g.Card() {
		for key, value := range map[string]string{"address": g.Address.String(), "ipv6": g.IPv6.String(), "device": "", "tcp": "", "strict-source": ""} {
			if value == scenario.NoAddress().String() {
				continue
			}
			refuse(key, "is an interface, and the scenario has no %s of it: leave it out", key)
		}
	}
	if g.Attached() {
		refuse("tcp", "existed before the run, and keeps the settings of its kernel: omit tcp")
	}
}

// guestSpot returns the spot of a key of a guest, or else of the guest.
func guestSpot(r *names, endpoint, key string) place.Spot {
	m := r.nodes[endpoint]
	sub := m.View.Sub("guest")
	if n := cmp.Or(sub.Chain[:]...); n != nil {
		return sub.Spot(key, n.Spot)
	}
	return m.Spot
}
