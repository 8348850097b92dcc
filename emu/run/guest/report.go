package guest

import (
	"fmt"
	"net/netip"

	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
)

// Counts are the packets of a guest, by their fate.
type Counts struct {
	Sent        int64 `json:"sent"`                  // read from its device
	Received    int64 `json:"received"`              // written to it
	NoFlow      int64 `json:"no_flow,omitempty"`     // sent, without a flow to the destination; answered by ICMP, or dropped
	NotIP       int64 `json:"not_ip,omitempty"`      // sent, and neither IP nor Ethernet
	Damaged     int64 `json:"damaged,omitempty"`     // sent, with a wrong checksum or length in the header of IP; a guest of kind tun: dropped
	TooLong     int64 `json:"too_long,omitempty"`    // sent, and longer than the packets of the flow
	Spoofed     int64 `json:"spoofed,omitempty"`     // sent with a source that is not the guest's, where strict-source is given
	NotTaken    int64 `json:"not_taken,omitempty"`   // not taken by its kernel
	KernelDrops int64 `json:"kernel_drops"`          // sent, and dropped by its kernel before they could be read
	LostInside  int64 `json:"lost_inside,omitempty"` // dropped by its kernel on the path in
}

// Report describes a guest after a run.
type Report struct {
	Name      string             `json:"name"`
	Place     string             `json:"place,omitempty"` // of a guest that was there, or of an interface
	Kind      scenario.GuestKind `json:"kind"`
	Namespace string             `json:"namespace,omitempty"` // of a real host
	Address   netip.Addr         `json:"address"`
	MTU       int64              `json:"mtu"`
	RoCE      *RoCECounts        `json:"roce,omitempty"` // of its adapter
	Counts
}

// Where returns the address of the guest; of a guest whose address was left alone its place.
func (r *Report) Where() string {
	if r.Address.IsValid() {
		return r.Address.String()
	}
	return r.Place
}

// Event is a change of a guest in the middle of a run, by another process.
type Event struct {
	AtPs       int64
	Guest      string
	Name, Text string // such as device-gone, and a sentence
}

// Events returns the changes of guests, in their order.
func (g *Guests) Events() []Event { return g.events }

// Times returns the times of the guests' kernels, at a dilation above 1.
func (g *Guests) Times() []KernelTime { return g.times }

// Errors returns by how much longer than in the model the packets between real hosts took, in ns,
// at dilation 1; nothing otherwise.
func (g *Guests) Errors() pace.Histogram {
	if !g.Serve() {
		return pace.Histogram{}
	}
	return g.errors
}

// Serve reports whether real programs see the time of the model: there are real hosts, and the
// dilation is 1. g may be nil.
func (g *Guests) Serve() bool {
	if g == nil || g.fabric.Scenario.Wall.Dilation != 1 {
		return false
	}
	_, real := g.fabric.Scenario.Guests()
	return real > 0
}

// Report returns the packets of each guest, and warnings. Call it before Close.
func (g *Guests) Report() ([]Report, []string) {
	var all []Report
	adapters := g.Adapters(nil)
	for _, x := range g.all {
		sent, received, err := x.device.Dropped()
		if err != nil && !g.warned["device-gone."+x.name] {
			g.warnOnce("counters."+x.name, "guest %s: the counters of its device cannot be read: %v", x.name, err)
		}
		x.count.KernelDrops, x.count.LostInside = int64(sent), int64(received)
		if sent > 0 {
			if x.stack == nil {
				g.record(x, "queue-full", fmt.Sprintf("its kernel dropped %d packets for lack of room", sent))
			}
			g.warnOnce("drops."+x.name,
				"the kernel of guest %s has dropped %d packets that the fabric had not taken yet: more than its queue of %d holds. They are no loss of the fabric; a larger guest.queue keeps them",
				x.name, sent, x.scene.Queue)
		}
		if x.scene.Address.None() {
			x.scene.Address = scenario.Address{}
		}
		r := Report{Name: x.name, Place: PlaceOf(&x.scene), Address: x.scene.Address.Addr(), MTU: int64(x.scene.MTU), Kind: x.scene.Kind,
			Namespace: x.space, Counts: x.count}
		if x.nic != nil {
			r.RoCE, adapters = &adapters[0].RoCECounts, adapters[1:]
			for _, p := range x.nic.peers {
				r.RoCE.CNPIgnored += int64(len(p.early))
			}
		}
		all = append(all, r)
	}
	return all, g.warnings
}
