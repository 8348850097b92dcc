package resolve

import (
	"cmp"
	"math"

	"fabemu/emu/scenario"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// fit reports parts that do not fit together.
func (r *resolver) fit() {
	linked, changes := r.linked(), r.timed() && r.sound(eventSections)
	if linked {
		r.checkPorts()
		r.checkLimits()
		r.checkForwarding()
	}
	if linked && changes {
		r.checkQuanta()
	}
	if !r.crossed {
		return
	}
	r.checkBuffers()
	r.checkFull()
	r.checkPriorities()
	if changes {
		r.checkRetries()
		r.checkChannels()
	}
	r.checkLanes()
	if changes {
		r.SetMemories()
		r.SetAdapters()
		r.events.Fit()
	}
	r.checkPoints()
	if changes {
		r.checkAlgorithms()
	}
	r.checkLimiters()
}

// checkRun reports a duration or a window that does not fit the run.
func (r *resolver) checkRun() {
	if r.timed() && r.right("wall.dilation") {
		r.checkDilation()
	}
	if !r.linked() || !r.sound("flows") {
		return
	}
	if r.timed() && r.right("measure.window") {
		r.checkWindow()
	}
	if r.sound("routing") {
		r.checkBalance()
	}
}

// checkDilation refuses a run that takes too long.
func (r *resolver) checkDilation() {
	n := r.top().Sub("wall").Node("dilation")
	if ns := int64(r.s.Model.Duration/unit.Nanosecond) + 1; r.s.Wall.Dilation > math.MaxInt64/2/ns {
		r.Add(cmp.Or(n, r.Root.Get("model"), r.Root).At.Of("wall.dilation"),
			"%v of model time %d times slower is more wall time than a clock can count",
			r.s.Model.Duration, r.s.Wall.Dilation)
	}
}

// checkPorts refuses links that have not enough UDP ports.
func (r *resolver) checkPorts() {
	if n := r.top().Sub("wall").Node("udp-port"); n != nil && r.s.Wall.UDPPort > 0 {
		if last := r.s.Wall.UDPPort + 2*len(r.s.Links) - 1; last > 65535 {
			r.Add(n.Spot, "%d links need %d ports, from %d to %d; the last port is 65535",
				len(r.s.Links), 2*len(r.s.Links), r.s.Wall.UDPPort, last)
		}
	}
}

// checkBuffers refuses a buffer with no room for the largest packet that crosses the link.
func (r *resolver) checkBuffers() {
	for l, of := range each(r.s.Links, r.LinkOrigins) {
		n, f := of.View.Node("buffer"), r.Largest(of.Index)
		if f == nil || l.Buffer.Bytes == 0 || n == nil {
			continue
		}
		need, have := scenario.BlocksOf(f.Packet), int(l.Buffer.Bytes/wire.BlockSize)
		if have < need {
			r.Add(n.Spot,
				"the buffer of link %s cannot hold a packet of flow %s: %v and %d bytes of headers and CRCs are %d blocks of %d bytes, %dB, but %v are %d blocks",
				l.Name, f.Name, f.Packet, wireOverhead, need, wire.BlockSize, need*wire.BlockSize, l.Buffer.Bytes, have)
		}
	}
}

// wireOverhead is the length of a packet on the wire without its payload.
const wireOverhead = wire.HeaderSize + wire.ICRCSize + wire.VCRCSize

// checkFull refuses a full-at above every buffer of the switch: it would never
// be reached.
func (r *resolver) checkFull() {
	for s, m := range each(r.s.Switches, r.SwitchNodes) {
		n := m.View.Sub("marking").Node("full-at")
		full := cp.TraitsOf(s.Marking.Params).Full
		if n == nil || full == (unit.Room{}) || s.Kind != scenario.InputBuffered {
			continue
		}
		reached := false
		for _, i := range m.Links {
			room := r.s.Links[i].Buffer
			payload := unit.Size(wire.MaxPayload)
			if f := r.Largest(i); f != nil {
				payload = f.Packet
			}
			reached = reached || scenario.BlocksIn(full, payload) <= scenario.BlocksIn(room, payload)
		}
		if !reached {
			r.Add(n.Spot, "full-at is more than any buffer of switch %s holds: it would never be reached", s.Name)
		}
	}
}

// maxWindows is the most windows that a run can have, in the smallest fabric. A larger fabric has
// more figures, and room for fewer windows (package metrics).
const maxWindows = 512 << 10

// checkWindow refuses a measuring window longer than the run, or shorter than a packet.
func (r *resolver) checkWindow() {
	measure := r.top().Sub("measure")
	n := measure.Node("window")
	if n == nil {
		r.s.Measure.Window = r.s.UsualWindow()
	}
	w, end := r.s.Measure.Window, r.s.Model.Duration
	at := cmp.Or(n, r.Root.Get("model"), r.Root).At.Of("measure.window")
	if n == nil && r.cut.Set != nil {
		at.At = r.cut
	}
	if w > end {
		r.Add(at, "the window of %v does not fit: %s", w, r.runEnds())
	}
	if n := int64(end / w); w > 0 && n > maxWindows {
		r.Add(at,
			"%v of model time are %d windows of %v, and at most %d can be kept: choose a shorter model.duration, or a wider window",
			end, n, w, maxWindows)
	}
	for _, f := range r.s.Flows {
		for _, i := range r.Nodes[f.From].Links {
			l := r.s.Links[i]
			if t := l.Rate.Serialise(r.Length(&f)); t > w {
				r.Add(at, "the window of %v is shorter than one packet of flow %s, which takes %v on link %s",
					w, f.Name, t, l.Name)
				return
			}
		}
	}
}
