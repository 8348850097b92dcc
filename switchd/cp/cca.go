package cp

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// CCAParams are the parameters of a switch in the congestion control of InfiniBand (IBTA
// Volume 1, Annex A10). They are called as opensm.conf calls them, behind
// cc_sw_cong_setting_: opensm/osm_subnet.c describes each. The defaults are the values that
// ibccconfig(8) prints for SwitchCongestionSetting, but for its mask of victims, which is that
// of all ports.
type CCAParams struct {
	// An output is congested when the frames waiting for it at all inputs, without the one being
	// sent, exceed (16 - threshold)/16 of an input buffer. 0: never.
	// Source: ibccconfig(8); the fractions are ours
	Threshold int `key:"threshold" def:"15" low:"0" high:"15" also:"cc_sw_cong_setting_threshold" search:"1..15"`
	// Frames with fewer credits of 64 bytes are not marked.
	// Source: ibccconfig(8)
	PacketSize int `key:"packet-size" def:"8" low:"0" high:"255" also:"cc_sw_cong_setting_packet_size"`
	// Mean number of unmarked frames between marked ones at a congested output. 0: all are marked.
	// Source: ibccconfig(8)
	MarkingRate int `key:"marking-rate" def:"1" low:"0" high:"65535" also:"cc_sw_cong_setting_marking_rate" search:"1..32"`
	// geometric: each frame is marked with probability 1/(marking-rate + 1); fixed: exactly
	// marking-rate frames lie between marked ones, which can synchronise with alternating flows.
	// Source: ours; opensm: "mean number"
	MarkingGaps string `key:"marking-gaps" def:"geometric" words:"geometric|fixed"`
	// Outputs that mark even without credit, as victims of congestion elsewhere. hosts: those to
	// endpoints; a hexadecimal mask has a bit per port, bit 1 for the switch's first link.
	// Source: ours; ibccconfig(8) has all ports
	VictimMask PortMask `key:"victim-mask" def:"hosts" also:"cc_sw_cong_setting_victim_mask"`

	// Starvation is for neighbours without congestion control.

	// Inputs whose neighbours, which ignore marks, get credit late for frames that leave a
	// congested output. Masks as in victim-mask.
	// Source: opensm/osm_subnet.c
	CreditMask PortMask `key:"credit-mask" def:"none" also:"cc_sw_cong_setting_credit_mask"`
	// As threshold, for credit-mask. 0: credit is never late.
	// Source: ibccconfig(8)
	CSThreshold int `key:"credit-starvation-threshold" def:"0" low:"0" high:"15" also:"cc_sw_cong_setting_credit_starvation_threshold"`
	// Credit returns (time on the wire >> shift) x multiplier after the frame's tail has left, and
	// at least that plus the time on the wire after the previous credit: the neighbour sends at
	// most at the link rate over 1 + multiplier/2^shift.
	// Source: opensm/osm_subnet.c for the form; the effect is ours
	CSDelay ReturnDelay `key:"credit-starvation-return-delay" def:"0:0" also:"cc_sw_cong_setting_credit_starvation_return_delay"`
	// Settings of single ports, numbered from 1: threshold, packet-size and marking-rate of an
	// output; with cs, threshold and return delay of an input whose neighbour gets credit late.
	// Source: ibccconfig(8), SwitchPortCongestionSetting
	Ports PortSettings `key:"ports" def:"none" omit:"usual"`
}

// GeometricCCAGaps and FixedCCAGaps are the words of MarkingGaps.
const (
	GeometricCCAGaps = "geometric"
	FixedCCAGaps     = "fixed"
)

// PortMask selects ports of a switch: one of the words, or a mask as opensm.conf
// has it, 0x and up to 64 hexadecimal digits.
type PortMask string

// The words for masks.
const (
	NoPorts   PortMask = "none"
	HostPorts PortMask = "hosts" // those that lead to an endpoint
	AllPorts  PortMask = "all"
)

// Form describes how masks are written.
func (PortMask) Form() param.Form {
	words := []string{string(NoPorts), string(HostPorts), string(AllPorts)}
	wanted := "none, hosts, all, or a mask of ports such as 0x1E"
	return param.Form{Wanted: wanted, Words: words, Pattern: param.Spaced("none|hosts|all|0[xX][0-9a-fA-F]{1,64}"),
		Read: func(s string) (any, error) {
			s = strings.TrimSpace(s)
			for _, w := range words {
				if s == w {
					return PortMask(s), nil
				}
			}
			digits, hex := strings.CutPrefix(strings.ToLower(s), "0x")
			if !hex || digits == "" || len(digits) > 64 || strings.Trim(digits, "0123456789abcdef") != "" {
				return nil, fmt.Errorf("%q is not a mask of ports: expected %s", s, wanted)
			}
			return PortMask("0x" + digits), nil
		}}
}

// Has reports whether a port, numbered from 0, is in the mask; hosts has the ports that lead to an
// endpoint.
func (m PortMask) Has(port int, hosts []bool) bool {
	switch m {
	case NoPorts:
		return false
	case AllPorts:
		return true
	case HostPorts:
		return port < len(hosts) && hosts[port]
	}
	digits := strings.TrimPrefix(string(m), "0x")
	bit := port + 1 // bit 0 is the bit of the switch's own port
	at := len(digits) - 1 - bit/4
	if at < 0 {
		return false
	}
	digit, err := strconv.ParseUint(digits[at:at+1], 16, 8)
	return err == nil && digit>>(bit%4)&1 == 1
}

// ReturnDelay is an entry of a congestion control table as it is written (wire.CCTEntry).
type ReturnDelay string

// Form describes how delays are written.
func (ReturnDelay) Form() param.Form {
	return param.Form{Wanted: "shift:multiplier, such as 0:3", Pattern: param.Spaced(`[0-9xXa-fA-F]+\s*:\s*[0-9xXa-fA-F]+`),
		Read: func(s string) (any, error) {
			if _, wrong := wire.ParseCCTEntry(s); wrong != "" {
				return nil, fmt.Errorf("%q is not a delay: %s", s, wrong)
			}
			return ReturnDelay(strings.Join(strings.Fields(s), "")), nil
		}}
}

// PortSettings are settings of single ports as they are written:
// PORT=THRESHOLD:PACKET-SIZE:MARKING-RATE, or PORT=cs:THRESHOLD:SHIFT:MULTIPLIER, joined by commas,
// or none.
type PortSettings string

// PortSetting is what a port has instead of the parameters of its switch.
type PortSetting struct {
	Port                               int  // from 1
	Starves                            bool // it is about the input: Threshold and Delay; else about the output
	Threshold, PacketSize, MarkingRate int
	Delay                              wire.CCTEntry
}

const noSettings PortSettings = "none"

var portSetting = regexp.MustCompile(`^(\d{1,3})=(cs:)?(\d{1,2}):(\d{1,3}):(\d{1,5})$`)

// Form describes how settings are written.
func (PortSettings) Form() param.Form {
	return param.Form{Wanted: `settings such as "1=15:8:3,2=cs:4:0:9", or none`, Words: []string{string(noSettings)}, Listed: true,
		Pattern: param.Spaced(`none|[0-9]+=(cs:)?[0-9]+:[0-9]+:[0-9]+(\s*,\s*[0-9]+=(cs:)?[0-9]+:[0-9]+:[0-9]+)*`),
		Read: func(s string) (any, error) {
			p := PortSettings(strings.Join(strings.Fields(s), ""))
			_, err := p.Read()
			return p, err
		}}
}

// Read returns the settings, or an error that names the first that is wrong.
func (p PortSettings) Read() (all []PortSetting, err error) {
	if p == noSettings || p == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(string(p), ",") {
		m := portSetting.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("%q is not the setting of a port: expected such as 1=15:8:3 or 2=cs:4:0:9", text)
		}
		var n [6]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i]) // of the others it is 0
		}
		x, most := PortSetting{Port: n[1], Threshold: n[3], PacketSize: n[4], MarkingRate: n[5]}, [2]int{255, 65535}
		if m[2] != "" {
			x, most = PortSetting{Port: n[1], Starves: true, Threshold: n[3], Delay: wire.CCTEntry{Shift: n[4], Multiplier: n[5]}}, [2]int{3, 16383}
		}
		if x.Port < 1 || x.Port > 254 || x.Threshold > 15 || n[4] > most[0] || n[5] > most[1] {
			return nil, fmt.Errorf("%q: ports are 1 to 254, thresholds 0 to 15, and the other numbers up to %d and %d", text, most[0], most[1])
		}
		all = append(all, x)
	}
	return all, nil
}

// PortSettingsOf returns settings as they are written.
func PortSettingsOf(all []PortSetting) PortSettings {
	var texts []string
	for _, x := range all {
		text := fmt.Sprintf("%d=%d:%d:%d", x.Port, x.Threshold, x.PacketSize, x.MarkingRate)
		if x.Starves {
			text = fmt.Sprintf("%d=cs:%d:%d:%d", x.Port, x.Threshold, x.Delay.Shift, x.Delay.Multiplier)
		}
		texts = append(texts, text)
	}
	return PortSettings(cmp.Or(strings.Join(texts, ","), string(noSettings)))
}

// Traits returns the share of the frames that is marked of those that leave a congested
// output.
func (p CCAParams) Traits() Traits { return Traits{Share: 1 / float64(p.MarkingRate+1)} }

// Least returns the part of an input buffer that the threshold stands for.
func (p CCAParams) Least(f *wire.Frame, room unit.Size) (string, unit.Size) {
	switch {
	case f.Blocks() < p.PacketSize:
		return "packet-size", unit.MaxRoom
	case p.Threshold == 0:
		return "threshold", unit.MaxRoom
	}
	return "threshold", room * unit.Size(16-p.Threshold) / 16
}

// String returns the threshold, for pictures.
func (p CCAParams) String() string { return fmt.Sprint("threshold ", p.Threshold) }

func ccaPoints() Point {
	return Point{
		Name: "cca", Also: []string{"ibta", "a10"}, Params: CCAParams{},
		Doc: "marks some of the frames that leave a congested output, unless it is only a victim of congestion elsewhere (InfiniBand, Annex A10)",
		Marker: func(params any, s Site) (Marking, error) {
			c, err := NewCCA(params.(CCAParams), s)
			if err != nil {
				return Marking{}, err
			}
			return Marking{Marker: c, Starve: c.Starve, Congested: c.Congested}, nil
		},
	}
}

// CCA is the congestion control of InfiniBand at one switch. A frame that begins to leave is
// marked if
//
//	the data that waits behind it for its output exceeds the threshold,
//	the output has credit, or is one of those that mark as victims,
//	the frame is large enough,
//	and it is its turn.
//
// An output has no credit in this sense when the frame has had to wait for it.
type CCA struct {
	CCAParams
	random  *unit.Random
	outputs []ccaOutput
	inputs  []ccaInput
}

// ccaOutput is the congestion point of an output.
type ccaOutput struct {
	threshold, size, rate int
	victim                bool          // it marks without credit
	passed                int           // frames since the last mark, with gaps that are fixed
	lanes                 uint16        // whose data exceeds the threshold, a bit each
	since                 unit.Time     // congested is counted up to here
	congested             unit.Duration // how long some lane was
}

// ccaInput is an input whose neighbour may be starved.
type ccaInput struct {
	starves   bool
	threshold int
	delay     wire.CCTEntry
}

// NewCCA returns the congestion points of a switch.
func NewCCA(p CCAParams, s Site) (*CCA, error) {
	if err := s.check(p); err != nil {
		return nil, err
	}
	delay, _ := wire.ParseCCTEntry(string(p.CSDelay)) // check has read it
	c := &CCA{CCAParams: p, random: s.Random, outputs: make([]ccaOutput, s.Ports), inputs: make([]ccaInput, s.Ports)}
	for i := range c.outputs {
		c.outputs[i] = ccaOutput{threshold: p.Threshold, size: p.PacketSize, rate: p.MarkingRate, victim: p.VictimMask.Has(i, s.Hosts)}
		c.inputs[i] = ccaInput{p.CreditMask.Has(i, s.Hosts), p.CSThreshold, delay}
	}
	own, _ := p.Ports.Read()
	for _, x := range own {
		switch i := x.Port - 1; {
		case i >= s.Ports: // as with masks
		case x.Starves:
			c.inputs[i] = ccaInput{true, x.Threshold, x.Delay}
		default:
			c.outputs[i].threshold, c.outputs[i].size, c.outputs[i].rate = x.Threshold, x.PacketSize, x.MarkingRate
		}
	}
	c.Reset()
	return c, nil
}

// Enqueue marks nothing: frames are marked as they leave.
func (c *CCA) Enqueue(now unit.Time, f *wire.Frame, q Queue) { c.outputs[q.Output].note(now, f, &q) }

// Dequeue marks f if it should be marked.
func (c *CCA) Dequeue(now unit.Time, f *wire.Frame, q Queue) trace.Reason {
	o := &c.outputs[q.Output]
	if !o.note(now, f, &q) || q.Switch.Blocked(q.Output) && !o.victim || f.Blocks() < o.size || !c.turn(o) {
		return trace.NoReason
	}
	f.FECN = true
	return trace.OverThreshold
}

// note counts the time of congestion, and reports whether the lane of f is congested.
func (o *ccaOutput) note(now unit.Time, f *wire.Frame, q *Queue) bool {
	if o.lanes != 0 {
		o.congested += now.Sub(o.since)
	}
	o.since = now
	o.lanes &^= 1 << (f.Lane & 15)
	over := q.over(o.threshold)
	if over {
		o.lanes |= 1 << (f.Lane & 15)
	}
	return over
}

// Congested returns how long the data that waited for an output exceeded its threshold, on some
// lane (Marking.Congested).
func (c *CCA) Congested(now unit.Time, output int) unit.Duration {
	o := &c.outputs[output]
	if o.lanes == 0 {
		return o.congested
	}
	return o.congested + now.Sub(o.since)
}

// over reports whether the data that waits for the output exceeds a threshold of 0 to 15.
func (q *Queue) over(threshold int) bool {
	return threshold > 0 && q.Bytes*16 > q.Room*unit.Size(16-threshold)
}

// Starve returns how late the credit of a frame goes back that begins to leave and takes onLink on
// the link by which it arrived (Marking.Starve).
func (c *CCA) Starve(q Queue, onLink unit.Duration) unit.Duration {
	if in := &c.inputs[q.Input]; in.starves && q.over(in.threshold) {
		return in.delay.Delay(onLink)
	}
	return 0
}

// turn reports whether it is the turn of the next frame of an output.
func (c *CCA) turn(o *ccaOutput) bool {
	if c.MarkingGaps == GeometricCCAGaps {
		return c.random.Below(uint64(o.rate)+1) == 0
	}
	if o.passed++; o.passed <= o.rate {
		return false
	}
	o.passed = 0
	return true
}

// Reset restores the initial state: the first frame of each output is marked.
func (c *CCA) Reset() {
	for i := range c.outputs {
		c.outputs[i].passed, c.outputs[i].lanes = c.outputs[i].rate, 0
	}
}
