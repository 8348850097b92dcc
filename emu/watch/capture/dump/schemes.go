package dump

import "fabemu/wire"

// flow is a flow of a run; with queue pair 0, all flows of its source.
type flow struct {
	run uint32
	src wire.LID
	qp  uint32
}

// flowRecord is the record of a flow, or of all flows of a source.
type flowRecord struct {
	met    bool              // the capture has a data frame of the flow, or a message to the source
	begun  bool              // and that is the frame with which the flow begins
	points map[uint64]*point // congestion points
	probes *[256]wire.Frame  // the last probe of each number modulo the size of the ring; nil: there was none
}

// point is the record of a congestion point and a flow.
type point struct {
	above  bool // it has sent a message about a queue above Qeq
	tagged bool // a frame has carried its tag
}

// checkTag checks that a rate-limited tag follows a message of its congestion point about a queue
// above Qeq, and that a message about a queue below Qeq answers a tag. There is no proof if the
// capture does not have the start of the flow, or no message to its source: it may not look at
// their links.
func (c *Checker) checkTag(p *Packet, run uint32) {
	f := &p.Frame
	switch {
	case f.Kind == wire.BCN:
		entry(&c.flows, flow{run, f.Dst, 0}).met = true
		to := entry(&c.flows, flow{run, f.Dst, f.QP})
		switch of := entry(&to.points, f.CPID); {
		case f.Sampled().QOffset < 0 || f.Flags&wire.BCNSevere != 0:
			of.above = true
		case of.tagged:
			c.Checked[Tags]++
		case to.begun:
			c.found(p, Tags, "congestion point %#x reports to queue pair %d a queue that is not above Qeq, "+
				"and no frame has carried its tag", f.CPID, f.QP)
		default:
			c.Gaps[NoMessages]++
		}
	case f.Kind == wire.Data && f.Family != wire.InfiniBand:
		from := entry(&c.flows, flow{run, f.Src, f.QP})
		if !from.met {
			from.met, from.begun = true, f.PSN == 0
		}
		if f.CPID == 0 {
			return
		}
		of := entry(&from.points, f.CPID)
		switch {
		case of.above:
			c.Checked[Tags]++
		case of.tagged: // the first such frame was reported
		case from.begun && entry(&c.flows, flow{run, f.Src, 0}).met:
			c.found(p, Tags, "a frame of queue pair %d has the tag of congestion point %#x, "+
				"which has not reported a queue above Qeq to its source", f.QP, f.CPID)
		default:
			c.Gaps[NoMessages]++
		}
		of.tagged = true
	}
}

// checkProbe checks that a probe stays the same on all of its path, that an answer repeats its
// probe, and that the probe arrived no earlier than it was sent. There is no proof if the capture
// does not have the probe.
func (c *Checker) checkProbe(p *Packet, run uint32) {
	f := &p.Frame
	if f.Kind != wire.Probe {
		return
	}
	answer := f.Flags&wire.ProbeAnswer != 0
	of := flow{run, f.Src, f.QP}
	if answer {
		of.src = f.Dst
	}
	record := entry(&c.flows, of)
	if record.probes == nil {
		record.probes = new([256]wire.Frame)
	}
	was := &record.probes[f.PSN%uint32(len(record.probes))]
	switch met := was.Kind == wire.Probe && was.PSN == f.PSN; {
	case !met && answer:
		c.Gaps[NoProbes]++
		return
	case !met:
		*was = *f
		return
	}
	c.Checked[Probes]++
	switch {
	case f.Probe().SentAt != was.Probe().SentAt:
		c.found(p, Probes, "probe %d of queue pair %d was sent at %v, and this frame has %v",
			f.PSN, f.QP, was.Probe().SentAt, f.Probe().SentAt)
	case f.Flags&wire.ProbeCounted == 0 && f.Probe().Bytes != was.Probe().Bytes:
		c.found(p, Probes, "probe %d of queue pair %d counts %d bytes, and this frame has %d",
			f.PSN, f.QP, was.Probe().Bytes, f.Probe().Bytes)
	case answer && f.Probe().CameAt < f.Probe().SentAt:
		c.found(p, Probes, "probe %d of queue pair %d came at %v, before it was sent", f.PSN, f.QP, f.Probe().CameAt)
	}
}
