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

const (
	attrCongestionKey = 0x12
	serviceLevels     = metrics.ServiceLevels
	cctBlock          = 64                     // entries of a table in a MAD
	cctBlocks         = 255                    // ControlTableCap
	ccTick            = 1024 * unit.Nanosecond // of time stamps
	portsInBlock      = 32                     // of SwitchPortCongestionSetting
	// libumad2sim passes on the first 224 bytes of a MAD: 11 of the 13 events of the CongestionLog
	// of a channel adapter, and 12 of the 15 of a switch.
	adapterLog, switchLog = 11, 12
)

// congestion is the congestion control of a node (Annex A10).
type congestion struct {
	key     [14]byte         // CongestionKeyInfo: CC_Key, protect bit, lease period, violations
	setting [192]byte        // SwitchCongestionSetting, or CACongestionSetting
	ports   [][4]byte        // SwitchPortCongestionSetting, by number of the port
	limit   uint16           // CCTI_Limit
	table   []uint16         // CongestionControlTable
	changed bool             // setting or table, since the run had them
	fixed   bool             // the run has an algorithm that Annex A10 does not describe
	gaps    string           // cp.CCAParams.MarkingGaps
	source  rp.CCAParams     // parameters that no attribute has
	logged  map[int]int64    // by flow, the entries in the log
	events  uint16           // ThresholdEventCounter, or LogEventsCounter
	levels  uint16           // ThresholdCongestionEventMap
	log     []metrics.Marked // CongestionLogEvents of a channel adapter, the latest first
	// What the run has.
	controls [serviceLevels]scenario.CCAControl
	marking  scenario.CCAMarking
}

// beginCongestion sets the congestion control of a node to that of the scenario; without CCA all
// is 0.
func (s *Subnet) beginCongestion(i int) {
	n := &s.nodes[i]
	c, d := &n.cc, n.cc.setting[:]
	if n.isSwitch {
		c.ports = make([][4]byte, len(n.ports))
		p, cca := n.Switch.Marking.Params.(cp.CCAParams)
		if c.fixed = !cca && n.Switch.Marking.Scheme != scenario.NoScheme; cca {
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
			all, _ := p.Ports.Read()
			for _, x := range all {
				if x.Port >= len(c.ports) {
					continue
				}
				e := &c.ports[x.Port]
				e[0], e[1] = 0x80|byte(x.Threshold), byte(x.PacketSize)
				if be.PutUint16(e[2:], uint16(x.MarkingRate)); x.Starves {
					e[0] |= 0x40
					be.PutUint16(e[2:], codeOf(x.Delay))
				}
			}
		} else {
			p = param.Defaults(p)
		}
		c.gaps = p.MarkingGaps
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

// maskOf returns a mask of ports, as scenarios have it.
func maskOf(b []byte) cp.PortMask {
	if digits := strings.TrimLeft(hex.EncodeToString(b), "0"); digits != "" {
		return cp.PortMask("0x" + digits)
	}
	return cp.NoPorts
}

// asMarking returns the marking that SwitchCongestionSetting and SwitchPortCongestionSetting
// describe.
func (c *congestion) asMarking() (m scenario.CCAMarking) {
	d, ports := c.setting[:], []cp.PortSetting{}
	for k, e := range c.ports {
		if x := (cp.PortSetting{Port: k, Threshold: int(e[0] & 15), PacketSize: int(e[1]), MarkingRate: int(be.Uint16(e[2:]))}); e[0]>>7 == 1 {
			if x.Starves = e[0]>>6&1 == 1; x.Starves {
				x.Delay = wire.CCTEntry{Shift: int(e[2] >> 6), Multiplier: x.MarkingRate & 0x3FFF}
			}
			ports = append(ports, x)
		}
	}
	m.Threshold, m.PacketSize, m.MarkingRate, m.MarkingGaps = int(d[68]>>4), int(d[69]), int(be.Uint16(d[74:])), c.gaps
	m.VictimMask, m.CreditMask, m.Ports = maskOf(d[4:36]), maskOf(d[36:68]), cp.PortSettingsOf(ports)
	m.CSThreshold, m.CSDelay = int(d[70]>>4), cp.ReturnDelay(entryOf(be.Uint16(d[72:])))
	return m
}

// asControl returns the control that CACongestionSetting and the table describe for a service
// level. A CCTI_Min above the limit becomes the limit. Without an increase, the timer has no
// effect.
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

// Congested returns the events by which the run follows changes of congestion control since the
// last call.
func (s *Subnet) Congested() (events []scenario.Event) {
	for i := range s.nodes {
		if c := &s.nodes[i].cc; c.changed && s.nodes[i].isSwitch {
			if now := c.asMarking(); now != c.marking {
				c.marking = now
				events = append(events, scenario.Event{Switch: s.nodes[i].Name, Act: scenario.MarkingChange{Marking: now}})
			}
		}
	}
	for k := range s.flows {
		f := &s.flows[k]
		if c := &s.nodes[s.fabric.Flows[k].Src].cc; c.changed {
			if now := c.asControl(f.SL); now != c.controls[f.SL] {
				c.controls[f.SL] = now
				events = append(events, scenario.Event{Endpoint: f.From, Act: scenario.ControlChange{Control: now}})
			}
		}
	}
	for i := range s.nodes {
		s.nodes[i].cc.changed = false
	}
	return events
}

// admits reports whether the agent may answer a MAD with its CC_Key, and counts a violation if not.
func (c *congestion) admits(m *mad) bool {
	key, attr := be.Uint64(c.key[:]), m.attribute()
	if key == 0 || key == m.key() || attr == attrClassPortInfo || attr == attrCongestionKey && !m.sets() {
		return true
	}
	be.PutUint16(c.key[12:], max(be.Uint16(c.key[12:])+1, be.Uint16(c.key[12:])))
	return false
}

func (s *Subnet) congestionInfo(at place, _, r *mad) uint16 {
	if d := r.data(); s.nodes[at.node].isSwitch {
		d[1] = 1 // credit starvation
	} else {
		d[2] = cctBlocks
	}
	return statusOK
}

// congestionKey serves CongestionKeyInfo. It hides a key that is protected from those that do not
// know it.
func (s *Subnet) congestionKey(at place, m, r *mad) uint16 {
	k, d := &s.nodes[at.node].cc.key, m.data()
	if m.sets() {
		copy(k[:8], d)
		k[8] = d[8] & 0x80
		copy(k[10:12], d[10:])
		if d[12]|d[13] == 0 { // any other value leaves the counter as it is
			clear(k[12:])
		}
	}
	if copy(r.data(), k[:]); !m.sets() && k[8] != 0 && be.Uint64(k[:]) != m.key() {
		clear(r.data()[:8])
	}
	return statusOK
}

// settingFields are the parts of SwitchCongestionSetting that a bit of Control_Map selects.
var settingFields = [...][2]int{{4, 36}, {36, 68}, {68, 70}, {70, 74}, {74, 76}}

// switchSetting serves SwitchCongestionSetting.
func (s *Subnet) switchSetting(at place, m, r *mad) uint16 {
	c, d := &s.nodes[at.node].cc, m.data()
	if m.sets() {
		for bit, f := range settingFields {
			if d[3]>>bit&1 == 1 {
				copy(c.setting[f[0]:f[1]], d[f[0]:])
			}
		}
		copy(c.setting[:4], d)
		c.changed = true
	}
	copy(r.data(), c.setting[:])
	return statusOK
}

// switchPortSetting serves SwitchPortCongestionSetting, a block of ports.
func (s *Subnet) switchPortSetting(at place, m, r *mad) uint16 {
	n, first := &s.nodes[at.node], int(m.modifier())*portsInBlock
	if first >= len(n.ports) {
		return statusValue
	}
	ports := n.cc.ports[first:min(first+portsInBlock, len(n.ports))]
	for k := range ports {
		if m.sets() && first+k > 0 {
			copy(ports[k][:], m.data()[4*k:])
			n.cc.changed = true
		}
		copy(r.data()[4*k:], ports[k][:])
	}
	return statusOK
}

// adapterSetting serves CACongestionSetting. Set changes nothing if a value is invalid.
func (s *Subnet) adapterSetting(at place, m, r *mad) uint16 {
	c, d := &s.nodes[at.node].cc, m.data()
	if m.sets() {
		next := c.setting
		for sl := range serviceLevels {
			e := d[4+8*sl:]
			switch {
			case be.Uint16(d[2:])>>sl&1 == 0:
			case be.Uint16(e) == 0 && e[2] > 0: // a timer of 0, and an increase
				return statusValue
			default:
				copy(next[4+8*sl:], e[:5])
			}
		}
		if (d[1]&1 == 1) != (c.source.PortControl != rp.CCAPerQP) {
			return statusValue // a run cannot change what owns a CCTI
		}
		copy(next[:4], d)
		c.setting, c.changed = next, true
	}
	copy(r.data(), c.setting[:])
	return statusOK
}

// congestionTable serves CongestionControlTable.
func (s *Subnet) congestionTable(at place, m, r *mad) uint16 {
	c, d, first, limit := &s.nodes[at.node].cc, m.data(), int(m.modifier())*cctBlock, be.Uint16(m.data())
	switch {
	case m.modifier() >= cctBlocks, m.sets() && limit >= cctBlocks*cctBlock:
		return statusValue
	case m.sets():
		c.limit, c.changed = limit, true
		for most := max(int(limit), first); len(c.table) <= most; {
			c.table = append(c.table, make([]uint16, cctBlock)...)
		}
		for i := range cctBlock {
			c.table[first+i] = be.Uint16(d[4+2*i:])
		}
	}
	be.PutUint16(r.data(), c.limit)
	for i := first; i < min(first+cctBlock, len(c.table)); i++ {
		be.PutUint16(r.data()[4+2*(i-first):], c.table[i])
	}
	return statusOK
}

func (s *Subnet) timeStamp(_ place, _, r *mad) uint16 {
	be.PutUint32(r.data(), s.stamp(s.now))
	return statusOK
}

// stamp returns a model time as a time stamp.
func (s *Subnet) stamp(t unit.Time) uint32 { return uint32(unit.Duration(t) / ccTick) }

// congestionLog serves CongestionLog: of a channel adapter, flows at the trigger threshold, and of
// a switch, packets that it has marked.
func (s *Subnet) congestionLog(at place, _, r *mad) uint16 {
	n, d := &s.nodes[at.node], r[32:]
	c := &n.cc
	if !n.isSwitch {
		d[0] = 2
		be.PutUint16(d[2:], c.events)
		be.PutUint16(d[4:], c.levels)
		be.PutUint32(d[8:], s.stamp(s.now))
		for i, x := range c.log {
			f, e := &s.fabric.Flows[x.Flow], d[12+16*i:]
			be.PutUint32(e, f.QP<<8|uint32(s.flows[x.Flow].SL)<<4)
			be.PutUint32(e[4:], f.QP<<8)
			be.PutUint16(e[8:], s.own(f.Src).lid())
			be.PutUint16(e[10:], s.own(f.Dst).lid())
			be.PutUint32(e[12:], s.stamp(x.At))
		}
		return statusOK
	}
	d[0] = 1
	be.PutUint32(d[4:], s.stamp(s.now))
	events := int64(0)
	for k := 1; k < len(n.ports) && len(s.totals) > 0; k++ {
		if marks := s.totals[n.ports[k].number].marked; marks > 0 {
			events += marks
			d[39-k/8] |= 1 << (k % 8)
		}
	}
	be.PutUint16(d[2:], uint16(events))
	for i, x := range c.log {
		f, e := &s.fabric.Flows[x.Flow], d[40+12*i:]
		be.PutUint16(e, s.own(f.Src).lid())
		be.PutUint16(e[2:], s.own(f.Dst).lid())
		e[4] = s.flows[x.Flow].SL << 4
		be.PutUint32(e[8:], s.stamp(x.At))
	}
	return statusOK
}

// logCongestion notes the packets that switches have marked, and the entries that the reaction
// points of flows have made.
func (s *Subnet) logCongestion(v *metrics.View) {
	for i := range s.nodes {
		if c := &s.nodes[i].cc; s.nodes[i].isSwitch {
			c.log = v.Marked(i, c.log[:0], switchLog)
		}
	}
	for k := range s.fabric.Flows {
		c, logged := &s.nodes[s.fabric.Flows[k].Src].cc, v.Logged(k)
		more := logged - c.logged[k]
		if more == 0 {
			continue
		}
		c.logged[k] = logged
		c.events += uint16(more)
		c.levels |= 1 << s.flows[k].SL
		c.log = slices.Insert(c.log, 0, metrics.Marked{Flow: k, At: s.now})
		c.log = c.log[:min(len(c.log), adapterLog)]
	}
}
