package rp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// CCAParams are the parameters of a source in the congestion control of InfiniBand (IBTA
// Volume 1, Annex A10). They are called as opensm.conf calls them, behind
// cc_ca_cong_setting_. The defaults are the values that ibccconfig(8) prints for
// CACongestionSetting and CongestionControlTable.
type CCAParams struct {
	// Congestion control table as in cc_cct of opensm.conf: shift:multiplier for each CCTI from 0
	// on. After each packet there is a delay of (its time on the wire >> shift) x multiplier.
	// linear: 0:0,0:1 to 0:127, so that the rate is the link rate over 1 + CCTI.
	// Source: ibccconfig(8)
	CCT   CCT `key:"cct" def:"linear" also:"cc_cct"`
	Limit int `key:"ccti-limit" computed:"the last entry of cct" low:"0" high:"16319" also:"ccti_limit" doc:"Maximum CCTI."`
	// CCTI increase per BECN.
	// Source: ibccconfig(8)
	Increase int `key:"ccti-increase" def:"1" low:"0" high:"255" also:"cc_ca_cong_setting_ccti_increase" search:"1..16"`
	// Interval at which the CCTI decreases by 1, in units of 1.024us of model time.
	// Source: ibccconfig(8)
	Timer int `key:"ccti-timer" def:"150" low:"1" high:"65535" also:"cc_ca_cong_setting_ccti_timer" search:"10"`
	// How a BECN affects the timer. idle: starts it if it does not run; becn: restarts it, so that
	// the CCTI decreases only without BECNs.
	// Source: Linux, hfi1/rc.c, process_becn
	TimerStart string `key:"timer-start" def:"idle" words:"idle|becn"`
	// Minimum CCTI.
	// Source: ibccconfig(8)
	Min int `key:"ccti-min" def:"0" low:"0" high:"255" also:"cc_ca_cong_setting_ccti_min"`
	// A BECN that leaves the CCTI at this or above logs an event, congestion-log. 0: none.
	// Source: ibccconfig(8)
	Trigger int `key:"trigger-threshold" def:"0" low:"0" high:"255" also:"cc_ca_cong_setting_trigger_threshold"`
	// What owns a CCTI. qp: each flow; sl: each service level of an endpoint, whose flows share a
	// limiter; port: as sl, but the highest CCTI slows down the whole port.
	// Source: opensm; port: Linux, hfi1/init.c, set_link_ipg
	PortControl string `key:"port-control" def:"qp" words:"qp|sl|port" also:"cc_ca_cong_setting_port_control"`
	// Service level for port-control sl and port.
	SL int `key:"sl" computed:"sl of the flow" low:"0" high:"15" also:"service-level"`
}

// The words of parameters that the algorithm compares.
const (
	StartBECN  = "becn" // TimerStart: a BECN starts the timer again; else it starts one that does not run
	CCAPerQP   = "qp"   // PortControl: the scope of a CCTI
	CCAPerSL   = "sl"
	CCAPerPort = "port" // as CCAPerSL, and the highest counts for all
)

// serviceLevels is how many service levels InfiniBand has (IBTA Volume 1, 7.6.5).
const serviceLevels = 16

// CCT is a congestion control table as it is written: linearCCT, or a list.
type CCT string

// linearCCT stands for the table that ibccconfig(8) prints.
const linearCCT CCT = "linear"

// The bounds of a table: 255 blocks of 64 entries (the 8 bits of ControlTableCap; opensm sets
// up to 128 entries).
const (
	linearEntries = 128
	maxEntries    = 255 * 64
)

// Form describes how tables are written. Numbers are as in C: 0x10 and 020 are 16.
func (CCT) Form() param.Form {
	const entry = `\s*[0-9xXa-fA-F]+\s*:\s*[0-9xXa-fA-F]+\s*`
	return param.Form{
		Wanted: `a table such as "0:0,0:1,0:2", or linear`, Words: []string{string(linearCCT)}, Listed: true,
		Pattern: param.Spaced("linear|" + entry + "(," + entry + ")*"),
		Read: func(s string) (any, error) {
			t := CCT(strings.Join(strings.Fields(s), ""))
			if t == linearCCT {
				return t, nil
			}
			_, err := CCT(s).Entries()
			return t, err
		},
	}
}

// Entries reads a table.
func (t CCT) Entries() (all []wire.CCTEntry, err error) {
	if t == linearCCT {
		for i := range linearEntries {
			all = append(all, wire.CCTEntry{Multiplier: i})
		}
		return all, nil
	}
	at, wrong := 0, 0
	for text := range strings.SplitSeq(string(t), ",") {
		e, why := wire.ParseCCTEntry(text)
		if why == "" && len(all) == maxEntries {
			why = fmt.Sprintf("a table has at most %d entries", maxEntries)
		}
		if why != "" {
			if wrong++; wrong == 1 {
				offset := at + len(text) - len(strings.TrimLeft(text, " \t"))
				err = param.Misread{Err: fmt.Errorf("entry %d of the table (CCTI %d, column %d of it), %q: %s",
					len(all)+1, len(all), offset+1, strings.TrimSpace(text), why), At: offset}
			}
		}
		all, at = append(all, e), at+len(text)+1
	}
	switch e, _ := err.(param.Misread); wrong {
	case 0, 1:
		return all, err
	case 2:
		return nil, param.Misread{Err: fmt.Errorf("%w; and another entry is wrong", e.Err), At: e.At}
	default:
		return nil, param.Misread{Err: fmt.Errorf("%w; and %d more entries are wrong", e.Err, wrong-1), At: e.At}
	}
}

// Complete fills in the limit.
func (p *CCAParams) Complete(given func(key string) bool) {
	if !given("ccti-limit") {
		all, _ := p.CCT.Entries()
		p.Limit = max(len(all)-1, 0)
	}
}

// Traits puts flows under one reaction point that have no CCTI: the flows of a
// service level, or all of them.
func (p CCAParams) Traits() Traits {
	t := Traits{Warns: p.warns}
	switch p.PortControl {
	case CCAPerSL:
		t.Key, t.By = p.SL, "port-control"
	case CCAPerPort:
		t.Key, t.By = serviceLevels, "port-control"
	}
	return t
}

// period returns the time after which the CCTI is lowered.
func (p CCAParams) period() unit.Duration { return unit.Duration(p.Timer) * 1024 * unit.Nanosecond }

// CheckSite refuses a limit that the table does not reach, or that is below the minimum.
func (p CCAParams) CheckSite(s Site) (string, error) {
	all, err := p.CCT.Entries()
	switch {
	case err != nil:
		return "cct", err
	case p.Limit >= len(all):
		return "ccti-limit", fmt.Errorf("the limit is CCTI %d, and the table ends at CCTI %d", p.Limit, len(all)-1)
	case p.Min > p.Limit:
		return "ccti-min", fmt.Errorf("the least CCTI is %d, and the limit %d", p.Min, p.Limit)
	case rateAfter(s, all[p.Limit]) < 1:
		return "cct", fmt.Errorf("at CCTI %d the rate is less than 1b/s", p.Limit)
	}
	return "", nil
}

// rateAfter returns the rate of packets with the delay of an entry behind each.
func rateAfter(s Site, e wire.CCTEntry) unit.Rate {
	packet := s.Line.Serialise(s.Length)
	if delay := e.Delay(packet); delay > 0 {
		return unit.RateOf(s.Length, packet+delay)
	}
	return s.Line
}

// warns doubts tables and timers with which sources cannot get below the share of a link.
// All flows that cross the busiest link of the path are taken to send at once.
func (p CCAParams) warns(s Site) (doubts []Doubt) {
	doubt := func(key, format string, args ...any) {
		doubts = append(doubts, Doubt{key, fmt.Sprintf(format, args...)})
	}
	all, err := p.CCT.Entries()
	if err != nil || p.Limit >= len(all) || p.Min > p.Limit {
		return nil
	}
	all = all[:p.Limit+1]
	if p.Increase == 0 || p.Limit == 0 {
		key := "ccti-increase"
		if p.Limit == 0 {
			key = "ccti-limit"
		}
		doubt(key, "the CCTI stays at 0 whatever BECNs arrive: nothing slows down")
		return doubts
	}
	table := "cct" // the parameter that ends the table
	if written, _ := p.CCT.Entries(); p.Limit < len(written)-1 {
		table = "ccti-limit"
	}
	if first := all[p.Min].Slowdown(); first > 1 {
		key := "cct"
		if p.Min > 0 {
			key = "ccti-min"
		}
		doubt(key, "without any BECN the flow gets 1/%.4g of its link rate: the delay of entry %d, the lowest CCTI, is not 0",
			first, p.Min)
	}
	for i := range all[1:] {
		if all[i+1].Slowdown() < all[i].Slowdown() {
			doubt("cct", "entry %d of the table (CCTI %d) has a shorter delay than the one before: a BECN there raises the rate, and the CCTI does not settle",
				i+2, i+1)
			break
		}
	}
	if s.Flows == 0 || s.Capacity == 0 {
		return doubts
	}
	slowest := 1.0
	for _, e := range all {
		slowest = max(slowest, e.Slowdown())
	}
	if sum := float64(s.Flows) * float64(s.Line) / slowest; sum > float64(s.Capacity)*(1+1e-9) {
		wanted := float64(s.Flows) * float64(s.Line) / float64(s.Capacity)
		doubt(table, "the table is too short: the lowest rate is the link rate over %.4g, and %d such flows, which share the busiest link of the path, have %.4g times its %v; an entry with 1 + multiplier / 2^shift of %.4g or more is needed, such as 0:%.0f",
			slowest, s.Flows, sum/float64(s.Capacity), s.Capacity, wanted, math.Ceil(wanted-1-1e-9))
		return doubts
	}
	share := s.Marked
	if share == 0 {
		share = 1
	}
	fair := min(float64(s.Capacity)/float64(s.Flows), float64(s.Line))
	packets := p.period().Seconds() * fair / 8 / float64(s.Length)
	if rise := packets * share * float64(p.Increase); rise < 1 && fair < float64(s.Line) {
		doubt("ccti-timer",
			"the timer is too short: at its fair share of %v, one of %d, a flow sends %.3g packets in the %v of the timer, of which at most %.3g are marked: the CCTI rises by %.3g and falls by 1, and never reaches the value for that rate; use a ccti-timer of at least %.0f",
			unit.Rate(fair), s.Flows, packets, p.period(), packets*share, rise, math.Ceil(float64(p.Timer)/rise))
	}
	return doubts
}

func ccaAlgorithm() Algorithm {
	return row(Algorithm{Name: "cca", Also: []string{"ibta", "a10"}, Feedback: Echoes,
		Doc:    "delays packets by a table, at an index that BECNs raise and a timer lowers (InfiniBand, Annex A10)",
		Trials: []Trial{{Point: "cca"}, {Name: "threshold 8", Point: "cca", Marking: []string{"threshold=8"}}}},
		func(p CCAParams, s Site) Reaction { return newCCA(p, s).Reaction() })
}

// CCA is the reaction point of InfiniBand's congestion control: an index into a table,
//
//	BECN            CCTI := min(CCTI + increase, limit), and the timer runs
//	timer expires   CCTI := max(CCTI - 1, min), and it runs on while CCTI > min
//	delay           (packet time >> shift) * multiplier, of entry CCTI, behind each packet
//
// so that the rate is the rate of the link over 1 + multiplier / 2^shift. Linux's driver of the
// adapter hfi1 is the source of each rule: rc.c (process_becn), init.c (cca_timer_fn,
// set_link_ipg); a parameter covers other adapters. There the delay is that
// of a packet of the MTU whatever comes before it, here of the packet itself: the same where
// all are of one size.
type CCA struct {
	rates  []unit.Rate // by CCTI
	levels []ccaLevel  // one; with CCAPerPort one for each service level
	of     map[uint32]int
	last   *ccaLevel // which took in feedback last
	rate   unit.Rate
	floor  unit.Rate // the rate that it comes back to
	next   unit.Time // the first timer to expire
}

// ccaLevel is a CCTI and its timer.
type ccaLevel struct {
	CCAParams
	joined  bool
	ccti    int
	expires unit.Time
}

// NewCCA returns a reaction point at the rate of the line.
func NewCCA(p CCAParams, s Site) (*CCA, error) { return checked(p, s, newCCA) }

func newCCA(p CCAParams, s Site) *CCA {
	entries, _ := p.CCT.Entries() // CheckSite has read them
	c := &CCA{levels: make([]ccaLevel, 1), next: unit.Never}
	for _, e := range entries[:p.Limit+1] {
		c.rates = append(c.rates, rateAfter(s, e))
	}
	if p.PortControl == CCAPerPort {
		c.levels, c.of = make([]ccaLevel, serviceLevels), map[uint32]int{}
	}
	for i := range c.levels {
		c.levels[i] = ccaLevel{CCAParams: p, ccti: p.Min, expires: unit.Never}
	}
	c.last = &c.levels[0]
	c.settle()
	c.floor = c.rate
	return c
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (c *CCA) Reaction() Reaction {
	return Reaction{Controller: c, Target: c.Target, Join: c.Join, Log: c.Log, Inherit: c.Inherit}
}

// Join notes the service level of a flow. The first flow of each sets the increase, timer and
// minimum it has.
func (c *CCA) Join(qp uint32, params any) {
	p := params.(CCAParams)
	if c.of == nil {
		return
	}
	c.of[qp] = p.SL
	if l := &c.levels[p.SL]; !l.joined {
		p.Limit, p.Min = min(p.Limit, len(c.rates)-1), min(p.Min, len(c.rates)-1)
		*l = ccaLevel{CCAParams: p, joined: true, ccti: p.Min, expires: unit.Never}
		c.settle()
		c.floor = c.rate
	}
}

// Inherit takes over the CCTI of another CCA, and the time until it falls, within its own bounds.
func (c *CCA) Inherit(now unit.Time, from Controller) {
	old, ok := from.(*CCA)
	if !ok || len(old.levels) != len(c.levels) {
		return
	}
	for i := range c.levels {
		l, was := &c.levels[i], &old.levels[i]
		if l.ccti = min(max(was.ccti, l.Min), l.Limit); l.ccti > l.Min {
			l.expires = min(was.expires, now.Add(l.period()))
		}
	}
	c.settle()
}

// Sent changes nothing.
func (*CCA) Sent(unit.Time, unit.Size) {}

// Feedback takes in an ACK; one without a mark changes nothing.
func (c *CCA) Feedback(now unit.Time, f wire.Frame) {
	c.last = nil
	if !f.BECN {
		return
	}
	l := &c.levels[c.of[f.QP]]
	c.last = l
	l.ccti = max(l.ccti, min(l.ccti+l.Increase, l.Limit))
	if l.expires == unit.Never || l.TimerStart == StartBECN {
		l.expires = now.Add(l.period())
	}
	c.settle()
}

// Advance lowers each CCTI whose timer has expired.
func (c *CCA) Advance(now unit.Time) {
	if now < c.next {
		return
	}
	for i := range c.levels {
		l := &c.levels[i]
		for l.expires <= now {
			l.ccti = max(l.ccti-1, l.Min)
			if l.expires = l.expires.Add(l.period()); l.ccti == l.Min {
				l.expires = unit.Never
			}
		}
	}
	c.settle()
}

// settle finds the rate and the next timer.
func (c *CCA) settle() {
	highest := 0
	c.next = unit.Never
	for i := range c.levels {
		highest = max(highest, c.levels[i].ccti)
		c.next = min(c.next, c.levels[i].expires)
	}
	c.rate = c.rates[highest]
}

// Rate returns the rate that the highest CCTI leaves.
func (c *CCA) Rate() unit.Rate { return c.rate }

// Target returns the rate at the lowest CCTI.
func (c *CCA) Target() unit.Rate { return c.floor }

// Deadline returns when the next timer expires.
func (c *CCA) Deadline() unit.Time { return c.next }

// Log returns the CCTI that the last BECN has left, if it is one for the log.
func (c *CCA) Log() (ccti int, ok bool) {
	if c.last == nil || c.last.Trigger == 0 || c.last.ccti < c.last.Trigger {
		return 0, false
	}
	return c.last.ccti, true
}

// Explain describes the range of rates that follows from the table.
func (p CCAParams) Explain() string {
	all, err := p.CCT.Entries()
	if err != nil || p.Limit >= len(all) || p.Min > p.Limit {
		return ""
	}
	slowdowns := make([]float64, 0, len(all))
	for _, e := range all[:p.Limit+1] {
		slowdowns = append(slowdowns, e.Slowdown())
	}
	return fmt.Sprintf("rates from link rate / %.4g at CCTI %d to link rate / %.4g; the timer has %v",
		all[p.Min].Slowdown(), p.Min, slices.Max(slowdowns), p.period())
}
