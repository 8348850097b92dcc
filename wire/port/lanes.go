package port

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fabemu/wire"
)

// MaxDataLanes is the number of data lanes that an InfiniBand link can have at most, VL0 to VL14.
// ManagementLane is VL15, which has no credits and carries no data (IBTA Volume 1, 7.6.1).
const (
	MaxDataLanes   = 15
	ManagementLane = wire.ManagementLane
)

// ServiceLevels is the number of service levels (SLs).
const ServiceLevels = 16

// Unmapped as an entry of SLToVL means that packets of the SL are dropped (IBTA Volume 1, 7.6.6).
const Unmapped = ManagementLane

// SLToVL is the lane of an output for each service level. Packets are dropped if the link does not
// have the lane of their SL, or if the SL is Unmapped.
type SLToVL [ServiceLevels]uint8

// Of returns the lane of a service level.
func (t *SLToVL) Of(sl uint8) uint8 { return t[sl%ServiceLevels] & 15 }

// UsualSLToVL returns the mapping that spreads the service levels over the data lanes of a link: SL
// modulo lanes.
func UsualSLToVL(lanes int) (t SLToVL) {
	for sl := range t {
		t[sl] = uint8(sl % max(lanes, 1))
	}
	return t
}

// ParseSLToVL reads the lanes of service levels, from SL 0 on, in the form of opensm.conf:
// "0,1,2,3". The list repeats for the remaining service levels.
func ParseSLToVL(s string) (t SLToVL, err error) {
	texts := strings.Split(s, ",")
	if len(texts) > ServiceLevels {
		return t, fmt.Errorf("%q has %d lanes: there are %d service levels", s, len(texts), ServiceLevels)
	}
	for sl := range t {
		text := strings.TrimSpace(texts[sl%len(texts)])
		vl, err := strconv.ParseUint(text, 10, 8)
		if err != nil || vl > ManagementLane {
			return t, fmt.Errorf("%q is not a lane: they are 0 to %d, and %d drops packets", text, MaxDataLanes-1, Unmapped)
		}
		t[sl] = uint8(vl)
	}
	return t, nil
}

// VLWeight is an entry of a VL arbitration table: on its turn, VL may send Weight units of 64
// bytes. An entry with a Weight of 0, or with a lane that the link does not have, is skipped.
type VLWeight struct{ VL, Weight uint8 }

// MaxWeights is the maximum number of entries in a VL arbitration table.
const MaxWeights = 64

// Arbitration is the VL arbitration of an output (IBTA Volume 1, 7.6.9.2). The lanes in High
// precede those in Low, except that after Limit units of 4 KiB from High one packet from Low may
// leave. A Limit of 0 means one packet, and NoLimit no bound. A lane that is in neither table sends
// nothing.
type Arbitration struct {
	High, Low []VLWeight
	Limit     uint8
}

// NoLimit is the Limit at which lanes in High always precede those in Low.
const NoLimit = 255

// limitUnit is 4 KiB in blocks.
const limitUnit = 64

// usualWeight is the weight of each lane if there are no tables: a packet of the largest MTU.
const usualWeight = 64

// UsualArbitration returns the arbitration that treats all data lanes of a link equally.
func UsualArbitration(lanes int) (a Arbitration) {
	for vl := range max(lanes, 1) {
		a.Low = append(a.Low, VLWeight{uint8(vl), usualWeight})
	}
	return a
}

// ParseVLWeights reads a VL arbitration table in the form of opensm.conf: "0:64,1:192".
func ParseVLWeights(s string) (table []VLWeight, err error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(s, ",") {
		first, second, ok := strings.Cut(strings.TrimSpace(text), ":")
		vl, err := strconv.ParseUint(strings.TrimSpace(first), 10, 8)
		weight, wrong := strconv.ParseUint(strings.TrimSpace(second), 10, 8)
		if !ok || err != nil || wrong != nil || vl >= MaxDataLanes {
			return nil, fmt.Errorf("%q is not a lane and a weight: they are joined by a colon, lanes are 0 to %d, and weights 0 to 255",
				strings.TrimSpace(text), MaxDataLanes-1)
		}
		table = append(table, VLWeight{uint8(vl), uint8(weight)})
	}
	if len(table) > MaxWeights {
		return nil, fmt.Errorf("%d entries: a table has at most %d", len(table), MaxWeights)
	}
	return table, nil
}

// Arbiter is the state of the VL arbitration of an output.
type Arbiter struct {
	high, low turns
	active    *turns // from which Next took its last answer
	limit     int    // of high, in blocks
	left      int    // of limit, until low has an opportunity
}

// turns is a VL arbitration table and the entry whose turn it is.
type turns struct {
	entries []VLWeight
	lanes   uint16 // with a weight, a bit each
	at      int
	left    int // weight of that entry, in blocks
}

// NewArbiter returns the arbiter of an output with the given number of data lanes.
func NewArbiter(a Arbitration, lanes int) *Arbiter {
	r := &Arbiter{high: newTurns(a.High, lanes), low: newTurns(a.Low, lanes), limit: max(int(a.Limit)*limitUnit, 1)}
	if a.Limit == NoLimit {
		r.limit = math.MaxInt
	}
	r.left, r.active = r.limit, &r.low
	return r
}

func newTurns(entries []VLWeight, lanes int) (t turns) {
	t.entries, t.at = entries, len(entries)-1
	for _, e := range entries {
		if int(e.VL) < lanes && e.Weight > 0 {
			t.lanes |= 1 << e.VL
		}
	}
	return t
}

// Next returns the lane whose turn it is among lanes, a bit each, which have a packet and credit
// for it. ok is false if none of them is in a table. The result stays the same until the lanes
// change or Sent is called.
func (a *Arbiter) Next(can uint16) (lane uint8, ok bool) {
	high, low := can&a.high.lanes, can&a.low.lanes
	switch {
	case high|low == 0:
		return 0, false
	case high != 0 && (a.left > 0 || low == 0):
		a.active = &a.high
		return a.high.next(high), true
	}
	a.active = &a.low
	return a.low.next(low), true
}

// next returns the lane whose turn it is among lanes with a weight, of which there is at least one.
func (t *turns) next(can uint16) uint8 {
	for t.left <= 0 || can>>t.entries[t.at].VL&1 == 0 {
		if t.at++; t.at >= len(t.entries) {
			t.at = 0
		}
		if t.left = 0; t.lanes>>t.entries[t.at].VL&1 == 1 {
			t.left = int(t.entries[t.at].Weight)
		}
	}
	return t.entries[t.at].VL
}

// Sent accounts for a packet on the lane that Next last returned. Its length is in blocks, the last
// of which may be incomplete.
func (a *Arbiter) Sent(blocks int) {
	a.active.left -= blocks
	if a.active == &a.low || a.left <= 0 { // low has had its opportunity
		a.left = a.limit
	}
	if a.active == &a.high {
		a.left -= blocks
	}
}
