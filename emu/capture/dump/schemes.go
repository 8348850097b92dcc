package dump

import "fabemu/wire"

// limited is a flow that BCN may limit; of queue pair 0, all flows of its source.
type limited struct {
	run uint32
	src wire.LID
	qp  uint32
}

// limit is what a capture shows of a flow, and of all of a source whether there are messages
// to it.
type limit struct {
	met   bool // there is a data frame, or a message to the source,
	begun bool // and the first frame is that with which the flow begins
}

// tag is one of a congestion point, for a flow.
type tag struct {
	limited
	point uint64
}

// tagged checks that a rate-limited tag follows a message of its congestion point about a
// queue above Qeq, and that a message about one below answers a tag. Where the capture
// does not look at the links that the flow begins on, or the messages go back on, there is
// no proof: it has then not seen the begin of the flow, or no message to its source.
func (c *Checker) tagged(p *Packet, run uint32) {
	f := &p.Frame
	switch {
	case f.Kind == wire.BCN:
		known(c.limits, limited{run, f.Dst, 0}).met = true
		of := limited{run, f.Dst, f.QP}
		switch {
		case f.Sampled().QOffset < 0 || f.Flags&wire.BCNSevere != 0:
			c.above[tag{of, f.CPID}] = true
		case c.tags[tag{of, f.CPID}]:
			c.Checked[Tags]++
		case known(c.limits, of).begun:
			c.found(p, Tags,
				"congestion point %#x tells queue pair %d of a queue that is not above Qeq, and no frame has carried its tag",
				f.CPID, f.QP)
		default:
			c.Gaps[NoMessages]++
		}
	case f.Kind == wire.Data && f.Family != wire.InfiniBand:
		of := limited{run, f.Src, f.QP}
		l := known(c.limits, of)
		if !l.met {
			l.met, l.begun = true, f.PSN == 0
		}
		switch carried := (tag{of, f.CPID}); {
		case f.CPID == 0:
			return
		case c.above[carried]:
			c.Checked[Tags]++
		case c.tags[carried]: // as the first, of which it was said
		case l.begun && known(c.limits, limited{run, f.Src, 0}).met:
			c.found(p, Tags,
				"a frame of queue pair %d has the tag of congestion point %#x, which has not told its source of a queue above Qeq",
				f.QP, f.CPID)
		default:
			c.Gaps[NoMessages]++
		}
		c.tags[tag{of, f.CPID}] = true
	}
}

// probes is what a capture shows of the probes of a flow: the last that it has met of each
// number modulo the size of the ring.
type probes struct{ ring [256]wire.Frame }

// answered checks that a probe says the same on all of its way, and that an answer says of
// its probe what that has said, and came no earlier. Where the capture has met no probe of
// the flow, or not that one, there is no proof.
func (c *Checker) answered(p *Packet, run uint32) {
	f := &p.Frame
	if f.Kind != wire.Probe {
		return
	}
	answer := f.Flags&wire.ProbeAnswer != 0
	of := limited{run, f.Src, f.QP}
	if answer {
		of.src = f.Dst
	}
	ring := &known(c.probes, of).ring
	was := &ring[f.PSN%uint32(len(ring))]
	met := was.Kind == wire.Probe && was.PSN == f.PSN
	switch {
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
		c.found(p, Probes, "probe %d of queue pair %d was sent at %v, and this says %v",
			f.PSN, f.QP, was.Probe().SentAt, f.Probe().SentAt)
	case f.Flags&wire.ProbeCounted == 0 && f.Probe().Bytes != was.Probe().Bytes:
		c.found(p, Probes, "probe %d of queue pair %d counts %d bytes, and this says %d",
			f.PSN, f.QP, was.Probe().Bytes, f.Probe().Bytes)
	case answer && f.Probe().CameAt < f.Probe().SentAt:
		c.found(p, Probes, "probe %d of queue pair %d came at %v, before it was sent", f.PSN, f.QP, f.Probe().CameAt)
	}
}
