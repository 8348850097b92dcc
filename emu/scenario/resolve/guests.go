package resolve

import (
	"cmp"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// guestRoom returns the length of the longest packet of IP that a packet of a flow can carry.
func guestRoom(r *scenario.Site, f *scenario.Flow, kind scenario.GuestKind) unit.Size {
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

// guests is the guests of a scenario with all of its traffic.
type guests struct {
	*source
	*names
	*scenario.Site
	origins []origin // for each flow
}

// checkGuests refuses flows between guests that nothing distinguishes, or that have their own
// traffic. It also computes the MTU of guests.
func (r *guests) checkGuests() {
	if all, _ := r.Guests(); all == 0 {
		return
	}
	type queue struct {
		from, to string
		priority uint8
	}
	first := map[queue]*scenario.Flow{}
	tightest := map[string]int{}    // by guest, the index of the flow with the least room, plus one
	frames, packets := false, false // whether guests send frames of Ethernet, packets of IP
	for f, of := range each(r.Flows, r.origins) {
		kinds := [...]scenario.GuestKind{r.GuestKindOf(f.From), r.GuestKindOf(f.To)}
		if kinds[0] == "" || kinds[1] == "" {
			continue
		}
		for k, name := range []string{f.From, f.To} {
			frames, packets = frames || kinds[k] == scenario.Tap, packets || kinds[k] != scenario.Tap
			if t := tightest[name]; t == 0 || guestRoom(r.Site, f, kinds[k]) < guestRoom(r.Site, &r.Flows[t-1], kinds[k]) {
				tightest[name] = of.Index + 1
			}
		}
		if g := r.EndpointOf(f.From).Guest; g.Adapter != "" && r.FamilyOf(f.From) != wire.Ethernet {
			r.Add(guestSpot(r.names, f.From, "adapter"), "guest %s has an adapter for RoCEv2, which crosses Ethernet, and its link has credit: omit adapter", f.From)
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
		r.Add(guestSpot(r.names, tap, "kind"),
			"guest %s has a TAP device, for Ethernet, and guest %s sends IP packets: guests that send to each other need devices of the same kind",
			tap, r.firstGuest(false))
	}
	for e := range each(r.Endpoints, r.EndpointNodes) {
		if e.Guest.Kind != "" {
			r.adaptGuest(e, tightest[e.Name]-1)
		}
	}
}

// adaptGuest gives a guest its MTU, and refuses an MTU that does not fit into the packets of its
// flow with the least room; -1: it has no flow to another guest.
func (r *guests) adaptGuest(e *scenario.Endpoint, flow int) {
	g := &e.Guest
	if g.Kind == scenario.Netstack && g.TCP != "" && !slices.Contains(scenario.NetstackTCP(), g.TCP) {
		r.Add(guestSpot(r.names, e.Name, "tcp"), "guest %s has no congestion control %q: a netstack has %s",
			e.Name, g.TCP, strings.Join(scenario.NetstackTCP(), " and "))
	}
	if flow < 0 {
		g.MTU = cmp.Or(g.MTU, usualMTU)
		return
	}
	f, of := &r.Flows[flow], r.origins[flow]
	switch room := guestRoom(r.Site, f, g.Kind); {
	case room < leastMTU:
		r.Add(of.Spot,
			"packets of flow %s, of %v, have no room for the packets of guests, of %v at least: give it a packet of %v",
			f.Name, f.Packet, leastMTU, f.Packet+usualMTU-room)
	case g.MTU == 0:
		g.MTU = min(usualMTU, room)
	case g.MTU > room:
		r.Add(guestSpot(r.names, e.Name, "mtu"),
			"packets of flow %s, of %v, have no room for more than %v of guest %s: give it an mtu of %v, or give the flow packets of %v",
			f.Name, f.Packet, room, e.Name, room, f.Packet+g.MTU-room)
	}
}

// firstGuest returns the first guest with or without a TAP device.
func (r *guests) firstGuest(tap bool) string {
	for i := range r.Endpoints {
		if e := &r.Endpoints[i]; e.Guest.Kind != "" && (e.Guest.Kind == scenario.Tap) == tap {
			return e.Name
		}
	}
	return ""
}
