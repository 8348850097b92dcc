package subnet

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Attributes of congestion control (Annex A10).
const (
	attrCongestionInfo   = 0x11
	attrCongestionKey    = 0x12
	attrCongestionLog    = 0x13
	attrSwitchCongestion = 0x14
	attrPortCongestion   = 0x15
	attrCACongestion     = 0x16
	attrCCT              = 0x17
	attrTimeStamp        = 0x18
)

const (
	serviceLevels = 16
	cctBlock      = 64                     // entries of a table in a MAD
	cctBlocks     = 255                    // ControlTableCap
	ccTick        = 1024 * unit.Nanosecond // of time stamps
	portsInBlock  = 48                     // of SwitchPortCongestionSetting
	logEntries    = 11                     // of 13 in the CongestionLog of a channel adapter: libumad2sim does not pass on the last
)

// congestion is the congestion control of a node.
type congestion struct {
	key     [16]byte  // CongestionKeyInfo: CC_Key, protect bit, lease period, violations
	setting [192]byte // SwitchCongestionSetting, or CACongestionSetting
	limit   uint16    // CCTI_Limit
	table   []uint16  // CongestionControlTable
	changed bool      // setting or table, since the run had them

	fixed    bool                               // the run has an algorithm that Annex A10 does not describe
	gaps     string                             // cp.CCAParams.MarkingGaps
	source   rp.CCAParams                       // parameters that no attribute has
	controls [serviceLevels]scenario.CCAControl // what the run has
	marking  scenario.CCAMarking                // what the run has
	logged   map[int]int64                      // by flow, the entries in the log
	events   uint16                             // ThresholdEventCounter, or LogEventsCounter
	levels   uint16                             // ThresholdCongestionEventMap
	log      [][16]byte                         // CongestionLogEvents, the latest first
}

// settingFields are the parts of SwitchCongestionSetting that a bit of Control_Map selects.
var settingFields = [...][2]int{{4, 36}, {36, 68}, {68, 70}, {70, 74}, {74, 76}}

// beginCongestion sets the congestion control of a node to that of the scenario; without CCA all is 0.
func (s *Subnet) beginCongestion(i int) {
	n := &s.nodes[i]
	c := &n.cc
	d := c.setting[:]
	if n.isSwitch {
		p, cca := n.Switch.Marking.Params.(cp.CCAParams)
		c.fixed, c.gaps = !cca && n.Switch.Marking.Scheme != scenario.NoScheme, param.Defaults(p).MarkingGaps
		if cca {
			c.gaps = p.MarkingGaps
			hosts := make([]bool, len(n.Ports))
			for k, at := range n.Ports {
				hosts[k] = s.fabric.Nodes[s.fabric.Peer(at).Node].Switch == nil
			}
			for k := range n.Ports {
				for at, mask := range map[int]cp.PortMask{35: p.VictimMask, 67: p.CreditMask} {
					if mask.Has(k, hosts) {
						d[at-(k+1)/8] |= 1 << ((k + 1) % 8)
					}
				}
			}
			delay, _ := wire.ParseCCTEntry(string(p.CSDelay))
			d[3], d[68], d[69], d[70] = 0x1F, byte(p.Threshold<<4), byte(p.PacketSize), byte(p.CSThreshold<<4)
			be.PutUint16(d[72:], codeOf(delay))
			be.PutUint16(d[74:], uint16(p.MarkingRate))
		}
		c.marking = c.asMarking()
		return
	}
	c.fixed, c.source, c.table = len(s.fabric.Scenario.Workloads) > 0, param.Defaults(rp.CCAParams{}), make([]uint16, cctBlock)
	c.logged = map[int]int64{}
	for k := range s.fabric.Flows {
		f := &s.fabric.Flows[k]
		if f.Src != i {
			continue
		}
		p, cca := f.Control.Params.(rp.CCAParams)
		if !cca {
			c.fixed = c.fixed || s.fabric.Scenario.Algorithm(f.Flow).Feedback != rp.Nothing
			continue
		}
		entries, _ := p.CCT.Entries()
		c.source, c.limit, c.table = p, uint16(p.Limit), make([]uint16, (len(entries)+cctBlock-1)/cctBlock*cctBlock)
		for j, e := range entries {
			c.table[j] = codeOf(e)
		}
		if p.PortControl != rp.CCAPerQP {
			d[1] = 1
		}
		be.PutUint16(d[2:], be.Uint16(d[2:])|1<<f.SL)
		e := d[4+8*int(f.SL):]
		be.PutUint16(e, uint16(p.Timer))
		e[2], e[3], e[4] = byte(p.Increase), byte(p.Trigger), byte(p.Min)
	}
	for sl := range uint8(serviceLevels) {
		c.controls[sl] = c.asControl(sl)
	}
}

// codeOf returns the code of an entry of a table.
func codeOf(e wire.CCTEntry) uint16 { return uint16(e.Shift<<14 | e.Multiplier) }

// entryOf returns the entry of a table with a code, as scenarios have it.
func entryOf(code uint16) string { return fmt.Sprintf("%d:%d", code>>14, code&0x3FFF) }

// asMarking returns the marking that SwitchCongestionSetting describes.
func (c *congestion) asMarking() (m scenario.CCAMarking) {
	d := c.setting[:]
	mask := func(b []byte) cp.PortMask {
		if digits := strings.TrimLeft(hex.EncodeToString(b), "0"); digits != "" {
			return cp.PortMask("0x" + digits)
		}
		return cp.NoPorts
	}
	m.Threshold, m.PacketSize, m.MarkingRate, m.MarkingGaps = int(d[68]>>4), int(d[69]), int(be.Uint16(d[74:])), c.gaps
	m.VictimMask, m.CreditMask = mask(d[4:36]), mask(d[36:68])
	m.CSThreshold, m.CSDelay = int(d[70]>>4), cp.ReturnDelay(entryOf(be.Uint16(d[72:])))
	return m
}

// asControl returns the control that CACongestionSetting and the table describe for a service level. A CCTI_Min above the
// limit becomes the limit. Without an increase, the timer has no effect.
func (c *congestion) asControl(sl uint8) scenario.CCAControl {
	e, p := c.setting[4+8*int(sl):], c.source
	entries := make([]string, c.limit+1)
	for i := range entries {
		entries[i] = entryOf(c.table[i])
	}
	p.CCT, p.Limit, p.SL = rp.CCT(strings.Join(entries, ",")), int(c.limit), int(sl)
	p.Timer, p.Increase, p.Trigger, p.Min = max(1, int(be.Uint16(e))), int(e[2]), int(e[3]), min(int(e[4]), p.Limit)
	return scenario.CCAControl{CCAParams: p}
}

// Congested returns the events by which the run follows changes of congestion control since the last call.
func (s *Subnet) Congested() (events []scenario.Event) {
	for i := range s.nodes {
		c := &s.nodes[i].cc
		if now := c.asMarking(); c.changed && s.nodes[i].isSwitch && now != c.marking {
			c.marking = now
			events = append(events, scenario.Event{Switch: s.nodes[i].Name, Marking: now})
		}
	}
	for k := range s.flows {
		f := &s.flows[k]
		if c := &s.nodes[s.fabric.Flows[k].Src].cc; c.changed {
			if now := c.asControl(f.SL); now != c.controls[f.SL] {
				c.controls[f.SL] = now
				events = append(events, scenario.Event{Endpoint: f.From, Control: now})
			}
		}
	}
	for i := range s.nodes {
		s.nodes[i].cc.changed = false
	}
	return events
}

// congestion serves the congestion control of a node. ok is false if the CC_Key is wrong: the agent must not answer.
func (s *Subnet) congestion(at place, m *mad) (status uint16, ok bool) {
	n, d, set, attr := &s.nodes[at.node], m[64:256], m.method() == methodSet, m.attribute()
	c := &n.cc
	key, hidden := be.Uint64(c.key[:]), false
	if key != 0 && key != be.Uint64(m[24:]) && attr != attrClassPortInfo {
		if set || attr != attrCongestionKey {
			be.PutUint16(c.key[12:], max(be.Uint16(c.key[12:])+1, be.Uint16(c.key[12:])))
			return 0, false
		}
		hidden = c.key[8] != 0
	}
	known := false
	switch attr {
	case attrClassPortInfo, attrCongestionInfo, attrCongestionLog, attrTimeStamp:
		known = !set
	case attrCongestionKey:
		known = true
	case attrSwitchCongestion, attrPortCongestion:
		known = n.isSwitch && !c.fixed
	case attrCACongestion, attrCCT:
		known = !n.isSwitch && !c.fixed
	}
	if !known {
		return statusAttribute, true
	}
	if set {
		if status = c.set(attr, m.modifier(), d); status != statusOK {
			return status, true
		}
	}
	clear(d)
	switch attr {
	case attrClassPortInfo:
		d[0], d[1], d[7] = 1, 2, 18 // RespTimeValue
	case attrCongestionInfo:
		if n.isSwitch {
			d[1] = 1 // credit starvation
		} else {
			d[2] = cctBlocks
		}
	case attrCongestionKey:
		if copy(d, c.key[:]); hidden {
			clear(d[:8])
		}
	case attrCongestionLog:
		clear(m[32:64])
		s.congestionLog(at, m[32:256])
	case attrSwitchCongestion, attrCACongestion:
		copy(d, c.setting[:])
	case attrPortCongestion:
		if int(m.modifier()) > len(n.ports)/portsInBlock {
			return statusValue, true
		}
	case attrCCT:
		block := m.modifier()
		if block >= cctBlocks {
			return statusValue, true
		}
		be.PutUint16(d, c.limit)
		for i := range cctBlock {
			if k := int(block)*cctBlock + i; k < len(c.table) {
				be.PutUint16(d[4+2*i:], c.table[k])
			}
		}
	case attrTimeStamp:
		be.PutUint32(d, s.stamp())
	}
	return statusOK, true
}

// set sets an attribute. It changes nothing if a value is invalid.
func (c *congestion) set(attr uint16, mod uint32, d []byte) uint16 {
	switch attr {
	case attrCongestionKey:
		copy(c.key[:8], d)
		c.key[8] = d[8] & 0x80
		copy(c.key[10:12], d[10:])
		if d[12]|d[13] == 0 { // any other value leaves the counter as it is
			clear(c.key[12:14])
		}
		return statusOK
	case attrSwitchCongestion:
		for bit, f := range settingFields {
			if d[3]>>bit&1 == 1 {
				copy(c.setting[f[0]:f[1]], d[f[0]:])
			}
		}
		copy(c.setting[:4], d)
	case attrPortCongestion: // all ports have the setting of the switch
		for i := range portsInBlock {
			if d[4*i]>>7 == 1 {
				return statusValue
			}
		}
	case attrCACongestion:
		levels := be.Uint16(d[2:])
		next := c.setting
		for sl := range serviceLevels {
			e := d[4+8*sl:]
			if levels>>sl&1 == 0 {
				continue
			}
			if be.Uint16(e) == 0 && e[2] > 0 { // a timer of 0, and an increase
				return statusValue
			}
			copy(next[4+8*sl:], e[:5])
		}
		if (d[1]&1 == 1) != (c.source.PortControl != rp.CCAPerQP) {
			return statusValue // a run cannot change what owns a CCTI
		}
		copy(next[:4], d)
		c.setting = next
	case attrCCT:
		limit := be.Uint16(d)
		if mod >= cctBlocks || limit >= cctBlocks*cctBlock {
			return statusValue
		}
		c.limit = limit
		for most := max(int(limit)/cctBlock, int(mod)); len(c.table) <= most*cctBlock; {
			c.table = append(c.table, make([]uint16, cctBlock)...)
		}
		for i := range cctBlock {
			c.table[int(mod)*cctBlock+i] = be.Uint16(d[4+2*i:])
		}
	}
	c.changed = true
	return statusOK
}

// stamp returns the model time as a time stamp.
func (s *Subnet) stamp() uint32 { return uint32(unit.Duration(s.now) / ccTick) }

// congestionLog writes the CongestionLog of a node. That of a switch has no events: the run does not tell which of its
// ports has marked a packet of which flow.
func (s *Subnet) congestionLog(at place, d []byte) {
	n := &s.nodes[at.node]
	if c := &n.cc; !n.isSwitch {
		d[0] = 2
		be.PutUint16(d[2:], c.events)
		be.PutUint16(d[4:], c.levels)
		be.PutUint32(d[8:], s.stamp())
		for i := range c.log {
			copy(d[12+16*i:], c.log[i][:])
		}
		return
	}
	d[0] = 1
	be.PutUint32(d[4:], s.stamp())
	marks := int64(0)
	for k := 1; k < len(n.ports); k++ {
		if t := s.tally(place{at.node, k}); t != nil && t.out.Marked > 0 {
			marks += t.out.Marked
			d[39-k/8] |= 1 << (k % 8)
		}
	}
	be.PutUint16(d[2:], uint16(marks))
}

// logCongestion notes the entries that the reaction points of flows have made.
func (s *Subnet) logCongestion(v *metrics.View) {
	for k := range s.fabric.Flows {
		f := &s.fabric.Flows[k]
		c, logged := &s.nodes[f.Src].cc, v.Flow(k).Logged
		more := logged - c.logged[k]
		if more == 0 {
			continue
		}
		c.logged[k] = logged
		c.events += uint16(more)
		c.levels |= 1 << s.flows[k].SL
		var e [16]byte
		be.PutUint32(e[0:], f.QP<<8|uint32(s.flows[k].SL)<<4)
		be.PutUint32(e[4:], f.QP<<8)
		copy(e[8:], s.own(f.Src).info[16:18])
		copy(e[10:], s.own(f.Dst).info[16:18])
		be.PutUint32(e[12:], s.stamp())
		c.log = slices.Insert(c.log, 0, e)
		c.log = c.log[:min(len(c.log), logEntries)]
	}
}
