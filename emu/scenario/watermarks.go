package scenario

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/port"
)

// SetMemories computes the watermarks of output-queued switches, and refuses those with
// which a lossless link could lose a frame.
func (r *Site) SetMemories() {
	for i, m := range r.SwitchNodes {
		s := &r.Switches[i]
		if s.Kind != OutputQueued {
			continue
		}
		r.checkWatchdog(s, &s.Watchdog, r.Switch(i).Path())
		control := r.FlowControlOf(s)
		stops := control.Pauses() && s.Stops(control)
		switch {
		case s.Alpha > 0 && !stops:
			r.Found.Add(r.Switch(i).Where("alpha"), "switch %s has alpha: %v, and stops no sender by watermarks: its links have flow-control: %s, and its lossless priorities are %v",
				s.Name, s.Alpha, control, s.Lossless)
			s.Alpha = 0
		case s.Alpha == 0 && s.XonOffset != auto && r.Switch(i).Mention("xon-offset").Given():
			r.Found.Add(r.Switch(i).Where("xon-offset"), "switch %s has xon-offset: %v, which is for watermarks that alpha gives: give it alpha, or low instead", s.Name, s.XonOffset)
		}
		if control == port.ChannelCredits {
			r.setChannels(s, m)
			continue
		}
		if !s.Stops(control) {
			s.High, s.Low = 0, 0
			continue
		}
		a := r.memory(s, m)
		if s.Alpha > 0 {
			r.setDynamic(s, m, a)
			continue
		}
		a.key, a.high, a.low = "memory", &s.High, &s.Low
		r.setWatermarks(a)
	}
}

// SetAdapters computes the watermarks of endpoints on Ethernet, and refuses those with
// which a slow endpoint could lose a frame.
func (r *Site) SetAdapters() {
	slowed := map[string]bool{}
	for _, e := range r.Events {
		x := e.Touch()
		slowed[e.Endpoint] = slowed[e.Endpoint] || x.Service > 0 && x.Service != Unlimited || x.Stops
	}
	for i, m := range r.EndpointNodes {
		e := &r.Endpoints[i]
		if r.FamilyOf(e.Name) != wire.Ethernet {
			continue
		}
		a := &losslessBuffer{node: e.Name, kind: "endpoint", owner: m, item: m.Item, room: e.Ingress, key: "ingress",
			called: fmt.Sprintf("its ingress, %v", e.Ingress), high: &e.High, low: &e.Low, factor: 1}
		if e.Ingress == 0 {
			a.room = math.MaxInt64 / 4
		}
		if e.Ingress > 0 && (e.Service != Unlimited || slowed[e.Name]) { // else no queue builds up, or none overflows
			a.inputs = r.inputs(m, e.Name, 0xFF)
		}
		r.setWatermarks(a)
	}
}
