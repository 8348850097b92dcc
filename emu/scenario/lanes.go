package scenario

import (
	"slices"
	"strings"

	"fabemu/node/rp"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Lanes are the data virtual lanes of an InfiniBand link, in both directions. The fields have the
// names of opensm.conf, without their prefix.
type Lanes struct {
	// Data lanes from VL0 on, each with the link's buffer and credits.
	MaxVLs int `key:"max-vls" def:"1" low:"1" high:"15" values:"1, 2, 4, 8 or 15" also:"qos_max_vls|vls|vlcap|oper-vls"`
	// Lane by service level from 0 on, repeated; 15 drops packets. modulo: SL modulo max-vls.
	SL2VL LaneMap `key:"sl2vl" def:"modulo" also:"qos_sl2vl"`
	// Lanes that go first, with weights in units of 64 bytes.
	High LaneWeights `key:"vlarb-high" def:"none" also:"qos_vlarb_high"`
	// The other lanes. equal: 64 each. A lane in neither table sends nothing.
	Low LaneWeights `key:"vlarb-low" def:"equal" also:"qos_vlarb_low"`
	// Units of 4 KiB from vlarb-high before a packet from vlarb-low may leave. 255: no limit.
	Limit int `key:"high-limit" def:"0" low:"0" high:"255" also:"qos_high_limit"`
	// Switches discard frames that lack credit for so long.
	HeadLife unit.Duration `key:"head-of-queue-lifetime" def:"never" none:"never" low:"above 0s" also:"head_of_queue_lifetime|hoq-life|hoqlife|lifetime"`
}

// Count returns the number of data lanes.
func (l *Lanes) Count() int { return max(l.MaxVLs, 1) }

// LaneMap is lanes by service level, as port.ParseSLToVL reads them, or modulo.
type LaneMap string

// modulo is the mapping of port.UsualSLToVL.
const modulo LaneMap = "modulo"

// Form describes how mappings are written.
func (LaneMap) Form() param.Form {
	return param.Form{Wanted: `lanes such as "0,1,2,3", or modulo`, Words: []string{string(modulo)}, Read: func(s string) (any, error) {
		m := LaneMap(strings.Join(strings.Fields(s), ""))
		if m == modulo {
			return m, nil
		}
		_, err := port.ParseSLToVL(string(m))
		return m, err
	}, Pattern: param.Spaced(`modulo|[0-9]+(\s*,\s*[0-9]+)*`)}
}

// Of returns the mapping for a link with the given number of data lanes.
func (m LaneMap) Of(lanes int) port.SLToVL {
	if t, err := port.ParseSLToVL(string(m)); err == nil {
		return t
	}
	return port.UsualSLToVL(lanes)
}

// LaneWeights is a table of VL arbitration, as port.ParseVLWeights reads it, or a word.
type LaneWeights string

// The words for tables.
const (
	noWeights    LaneWeights = "none"
	equalWeights LaneWeights = "equal"
)

// Form describes how tables are written.
func (LaneWeights) Form() param.Form {
	words := []string{string(noWeights), string(equalWeights)}
	return param.Form{Wanted: `weights such as "0:64,1:192", none or equal`, Words: words, Read: func(s string) (any, error) {
		w := LaneWeights(strings.Join(strings.Fields(s), ""))
		if slices.Contains(words, string(w)) {
			return w, nil
		}
		_, err := port.ParseVLWeights(string(w))
		return w, err
	}, Pattern: param.Spaced(`none|equal|[0-9]+\s*:\s*[0-9]+(\s*,\s*[0-9]+\s*:\s*[0-9]+)*`)}
}

// of returns the table for a link with the given number of data lanes.
func (w LaneWeights) of(lanes int) []port.VLWeight {
	switch w {
	case noWeights:
		return nil
	case equalWeights:
		return port.UsualArbitration(lanes).Low
	}
	t, _ := port.ParseVLWeights(string(w))
	return t
}

// SLToVL returns the lane of each service level for frames that leave by the link.
func (l *Lanes) SLToVL() port.SLToVL { return l.SL2VL.Of(l.Count()) }

// Arbitration returns the VL arbitration of the link.
func (l *Lanes) Arbitration() port.Arbitration {
	n := l.Count()
	if *l == (Lanes{}) {
		return port.UsualArbitration(n)
	}
	return port.Arbitration{High: l.High.of(n), Low: l.Low.of(n), Limit: uint8(l.Limit)}
}

// LaneRule is an exception from the lanes of links, for frames that leave a node. Later rules
// replace earlier ones.
type LaneRule struct {
	At string `key:"at" form:"node" need:"given" also:"switch|node" doc:"Switch or endpoint that sends."`
	// Link by which frames arrive at a switch; by default all.
	From string `key:"from" form:"link" omit:"usual" also:"in|input"`
	// Link by which they leave; by default all.
	Over string `key:"over" form:"link" omit:"usual" also:"out|output|via"`
	// As sl2vl of a link.
	Lanes LaneMap `key:"lanes" omit:"usual" also:"map|vls"`
	// With the next two fields it replaces the arbitration of links.
	High LaneWeights `key:"vlarb-high" omit:"usual"`
	// None by default.
	Low LaneWeights `key:"vlarb-low" omit:"usual"`
	// As for links.
	Limit int `key:"high-limit" def:"0" low:"0" high:"255" omit:"usual"`
	// Model time from which it counts.
	Since unit.Duration `key:"since" low:"0s" def:"0s" omit:"usual" also:"from-time"`
}

// Arbitrates reports whether the rule has an arbitration.
func (l *LaneRule) Arbitrates() bool { return l.High != "" || l.Low != "" }

// Arbitration returns the arbitration of the rule for a link with the given number of data lanes.
func (l *LaneRule) Arbitration(lanes int) port.Arbitration {
	return port.Arbitration{High: l.High.of(lanes), Low: l.Low.of(lanes), Limit: uint8(l.Limit)}
}

// LanesAt returns the lanes of a link for frames that a node sends, at the start: at a switch,
// frames from a link.
func (s *Scenario) LanesAt(node, from string, l *Link) Lanes {
	lanes := l.Lanes
	for _, r := range s.LaneRules {
		if r.At != node || r.Over != "" && r.Over != l.Name || r.From != "" && r.From != from || r.Since > 0 {
			continue
		}
		if r.Lanes != "" {
			lanes.SL2VL = r.Lanes
		}
		if r.Arbitrates() {
			lanes.High, lanes.Low, lanes.Limit = r.High, r.Low, r.Limit
		}
	}
	return lanes
}

// AcksAsData reports whether the ACKs of all flows on InfiniBand have a service level, so that no
// link has a lane for ACKs.
func (s *Scenario) AcksAsData() bool {
	apart := func(f *Source) bool { return f.AckSL == AcksApart }
	return !slices.ContainsFunc(s.Flows, func(f Flow) bool { return apart(&f.Source) }) &&
		!slices.ContainsFunc(s.Workloads, func(w Workload) bool { return apart(&w.Source) }) && len(s.Flows)+len(s.Workloads) > 0
}

// AcksApart is the AckSL of flows whose ACKs have a lane apart.
const AcksApart = -1

// expires reports whether switches discard frames that wait for too long.
func (s *Scenario) expires() bool {
	for i := range s.Links {
		if s.Links[i].Lanes.HeadLife > 0 {
			return true
		}
	}
	return false
}

// SetCCTILevel gives the CCTI of a flow a service level.
func (f *Flow) SetCCTILevel(sl uint8) {
	if p, ok := f.Control.Params.(rp.CCAParams); ok {
		p.SL = int(sl)
		f.Control.Params = p
	}
}

// SetSL gives the packets of a flow a service level, and its CCTI if that had the one of its
// packets.
func (f *Flow) SetSL(sl uint8) {
	if p, ok := f.Control.Params.(rp.CCAParams); ok && p.SL == int(f.SL) {
		f.SetCCTILevel(sl)
	}
	f.SL = sl
}
