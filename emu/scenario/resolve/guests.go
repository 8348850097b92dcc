package resolve

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// addressGuests gives guests without an address the next free ones, and refuses addresses of two
// guests.
func (r *resolver) addressGuests() {
	given, hardware := map[netip.Addr]string{}, map[scenario.MAC]string{}
	for e := range each(r.s.Endpoints, r.endpointNodes) {
		r.checkPlace(e)
		if m := e.Guest.MAC; m.MAC != 0 {
			if other, taken := hardware[m]; taken {
				r.Add(r.guestSpot(e.Name, "mac"), "%s has the hardware address %v, and %s has it already", e.Name, m, other)
			}
			hardware[m] = e.Name
		}
		for key, has := range map[string]scenario.Address{"address": e.Guest.Address, "ipv6": e.Guest.IPv6} {
			if has.None() {
				continue
			}
			at, a := r.guestSpot(e.Name, key), has.Addr()
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
	for e := range each(r.s.Endpoints, r.endpointNodes) {
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
func (r *resolver) checkPlace(e *scenario.Endpoint) {
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
func (r *resolver) guestSpot(endpoint, key string) place.Spot {
	m := r.nodes[endpoint]
	sub := m.View.Sub("guest")
	if n := cmp.Or(sub.Chain[:]...); n != nil {
		return sub.Spot(key, n.Spot)
	}
	return m.Spot
}

// guestRoom returns the length of the longest packet of IP that a packet of a flow can carry.
func (r *resolver) guestRoom(f *scenario.Flow, kind scenario.GuestKind) unit.Size {
	family := r.FamilyOf(f.From)
	room := unit.Size(family.BodyRoom(uint32(f.Packet)))
	if kind == scenario.Tap && family != wire.Ethernet {
		room -= tapOverhead
	}
	return room
}

// tapOverhead is the most that a frame of a TAP device has in addition to its packet of IP: both
// addresses, the EtherType, and a tag (IEEE 802.1Q). On Ethernet they do not count.
const tapOverhead = 18

// The default MTU of a guest is Ethernet's (IEEE 802.3, 3.2.7). The least MTU is from RFC 791.
const (
	usualMTU unit.Size = 1500
	leastMTU unit.Size = 68
)

// checkGuests refuses flows between guests that nothing distinguishes, or that have their own
// traffic. It also computes the MTU of guests.
func (r *resolver) checkGuests() {
	if all, _ := r.s.Guests(); all == 0 {
		return
	}
	type queue struct {
		from, to string
		priority uint8
	}
	first := map[queue]*scenario.Flow{}
	tightest := map[string]int{}    // by guest, the index of the flow with the least room, plus one
	frames, packets := false, false // whether guests send frames of Ethernet, packets of IP
	for f, of := range each(r.s.Flows, r.flowOrigins) {
		kinds := [...]scenario.GuestKind{r.GuestKindOf(f.From), r.GuestKindOf(f.To)}
		if kinds[0] == "" || kinds[1] == "" {
			continue
		}
		for k, name := range []string{f.From, f.To} {
			frames, packets = frames || kinds[k] == scenario.Tap, packets || kinds[k] != scenario.Tap
			if t := tightest[name]; t == 0 || r.guestRoom(f, kinds[k]) < r.guestRoom(&r.s.Flows[t-1], kinds[k]) {
				tightest[name] = of.Index + 1
			}
		}
		if g := r.EndpointOf(f.From).Guest; g.Adapter != "" && r.FamilyOf(f.From) != wire.Ethernet {
			r.Add(r.guestSpot(f.From, "adapter"), "guest %s has an adapter for RoCEv2, which crosses Ethernet, and its link has credit: omit adapter", f.From)
		}
		if f.Transport.Acks() && r.FamilyOf(f.From) == wire.Ethernet {
			r.Add(of.Spot, "flow %s carries the frames of guest %s, which cross Ethernet as they are: omit its transport: rocev2",
				f.Name, f.From)
		}
		if n := of.View.Node("traffic"); n != nil && f.Traffic != traffic.Greedy {
			r.Add(n.Spot, "flow %s carries the packets of a guest, %s, to another and cannot have other traffic",
				f.Name, f.From)
		}
		w := queue{f.From, f.To, f.Priority}
		if other := first[w]; other != nil {
			r.Add(of.Spot,
				"flows %s and %s both take packets of guest %s to %s with priority %d, and nothing distinguishes these: give the flows different priorities",
				other.Name, f.Name, f.From, f.To, f.Priority)
		}
		first[w] = f
	}
	if frames && packets {
		tap := r.firstGuest(true)
		r.Add(r.guestSpot(tap, "kind"),
			"guest %s has a TAP device, for Ethernet, and guest %s sends IP packets: guests that send to each other need devices of the same kind",
			tap, r.firstGuest(false))
	}
	for e := range each(r.s.Endpoints, r.endpointNodes) {
		if e.Guest.Kind != "" {
			r.adaptGuest(e, tightest[e.Name]-1)
		}
	}
}

// adaptGuest gives a guest its MTU, and refuses an MTU that does not fit into the packets of its
// flow with the least room; -1: it has no flow to another guest.
func (r *resolver) adaptGuest(e *scenario.Endpoint, flow int) {
	g := &e.Guest
	if g.Kind == scenario.Netstack && g.TCP != "" && !slices.Contains(scenario.NetstackTCP(), g.TCP) {
		r.Add(r.guestSpot(e.Name, "tcp"), "guest %s has no congestion control %q: a netstack has %s",
			e.Name, g.TCP, strings.Join(scenario.NetstackTCP(), " and "))
	}
	if flow < 0 {
		g.MTU = cmp.Or(g.MTU, usualMTU)
		return
	}
	f, of := &r.s.Flows[flow], r.flowOrigins[flow]
	switch room := r.guestRoom(f, g.Kind); {
	case room < leastMTU:
		r.Add(of.Spot,
			"packets of flow %s, of %v, have no room for the packets of guests, of %v at least: give it a packet of %v",
			f.Name, f.Packet, leastMTU, f.Packet+usualMTU-room)
	case g.MTU == 0:
		g.MTU = min(usualMTU, room)
	case g.MTU > room:
		r.Add(r.guestSpot(e.Name, "mtu"),
			"packets of flow %s, of %v, have no room for more than %v of guest %s: give it an mtu of %v, or give the flow packets of %v",
			f.Name, f.Packet, room, e.Name, room, f.Packet+g.MTU-room)
	}
}

// firstGuest returns the first guest with or without a TAP device.
func (r *resolver) firstGuest(tap bool) string {
	for i := range r.s.Endpoints {
		if e := &r.s.Endpoints[i]; e.Guest.Kind != "" && (e.Guest.Kind == scenario.Tap) == tap {
			return e.Name
		}
	}
	return ""
}
