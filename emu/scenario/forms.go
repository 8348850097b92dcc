package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"fabemu/emu/scenario/pattern"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The patterns of names, for the schema: they accept all texts that the readers accept.
const (
	namePattern  = `[A-Za-z][A-Za-z0-9_-]*`
	rangePattern = namePattern + `(\[[0-9]+-[0-9]+\][A-Za-z0-9_-]*)?`
)

// ownForms returns the forms that need no tables, by their names in tags.
func ownForms() param.Forms {
	form := func(kind param.Kind, wanted, pattern string, read func(s string) (any, error)) param.Param {
		return param.Param{Kind: kind, Form: &param.Form{Wanted: wanted, Pattern: pattern, Read: read}}
	}
	list := func(what string, item param.Param) param.Param {
		return param.Param{Kind: param.List, Values: what, Item: &item}
	}
	name := func(s string) (any, error) { return s, pattern.Check(s) }
	forms := param.Forms{
		"scenario": form(param.Own, "a name such as hpl2002/fig3b", `^`+namePattern+`([./]`+namePattern+`)*$`,
			readScenarioName),
		"name": form(param.Own, "a name such as trunk", `^`+namePattern+`$`, name),
		"node": form(param.Own, "the name of a node", `^`+namePattern+`$`, name), // whether it exists is checked later
		"flow": form(param.Own, "a name such as local", `^`+namePattern+`(\.`+namePattern+`)*$`,
			func(s string) (any, error) { return s, pattern.CheckDotted(s, ".") }),
		"names": form(param.Own, "a name or a range of names such as A[1-10]", param.Spaced(rangePattern),
			func(s string) (any, error) { return pattern.Parse(strings.TrimSpace(s)) }),
		"joint": form(param.Own, `two nodes such as "A - B" or "A[1-10] - A"`,
			param.Spaced(rangePattern+`\s* [-x] \s*`+rangePattern), pattern.ParseJoint),
		"link": form(param.Own, "the name of a link", `\S`, readLink),
		"start": {Kind: param.Own, Form: &param.Form{
			Wanted:  "a duration such as 1ms, or a first one and a step such as 0us + 100us",
			Pattern: param.Spaced(param.DurationPattern + `(\s*\+\s*` + param.DurationPattern + `)?`),
			Units:   unit.DurationUnits(), Read: readStart}},
		"memory": {Kind: param.Own, High: unit.MaxRoom.String(), Form: &param.Form{
			Wanted: "a size such as 2MB, or 300KB per port", Pattern: param.Spaced(`(` + param.SizePattern + `)(\s*per port)?`),
			Units: unit.SizeUnits(), Read: readMemory}},
		"packet": {Kind: param.Own, Low: minPacket.String(), High: unit.Size(wire.MaxMSDU).String(), Form: &param.Form{
			Wanted: "a size such as 2048B", Pattern: param.Spaced(param.SizePattern),
			Units: unit.SizeUnits(), Read: readPacket}},
		"text": form(param.Text, "a text", "", readText),
		"metric": form(param.Text, "a metric such as trunk.A-B.utilisation or remote.rate / local.rate", "",
			readMetric),
		"address": form(param.Own, "an address such as 10.0.0.1/16, or none", param.Spaced(`([0-9.]+/[0-9]+|none)`),
			func(s string) (any, error) { return readAddress(strings.TrimSpace(s), false) }),
		"ipv6": form(param.Own, "an address such as fd00::1/64", param.Spaced(`[0-9A-Fa-f:.]+/[0-9]+`),
			func(s string) (any, error) { return readAddress(strings.TrimSpace(s), true) }),
		"mac": form(param.Own, "a hardware address such as aa:c1:ab:00:00:01", param.Spaced(`[0-9A-Fa-f:.-]+`),
			func(s string) (any, error) { return ReadMAC(s) }),
		"device":  form(param.Text, "a network device such as eth1", "", readDevice),
		"place":   form(param.Text, "a namespace or container such as web-1", "", readPlace),
		"command": form(param.Text, "a command such as iperf3 -c h2", "", readCommand),
		"word":    form(param.Text, "a word such as reno", "", readWord),
		"natural": {Kind: param.Whole, Low: "0", High: strconv.FormatUint(math.MaxUint64, 10),
			Form: &param.Form{Wanted: "a whole number such as 1", Read: readNatural}},
		"shape": {Kind: param.Decimal, Values: "a number such as 1.5", Low: float(traffic.MinShape),
			High: float(traffic.MaxShape)},
		"switches": {Kind: param.Map,
			Values: "a mapping from the names of switches to their fields, such as {A: {}, B: {}}",
			Form: &param.Form{Pattern: `^` + rangePattern + `$`,
				Read: func(s string) (any, error) { return pattern.Parse(s) }}},

		"dscp": list("a list such as [{dscp: 46, priority: 5}]",
			param.Param{Kind: param.Object, Object: param.Of(DSCPItem{})}),
		"priorities": list("a list of priorities such as [3, 4]", param.Param{Kind: param.Whole, Low: "0", High: "7"}),
		"weights": list("a list of priorities and weights such as [{priority: 3, weight: 70}, {priority: 0, weight: 30}]",
			param.Param{Kind: param.Object, Object: param.Of(Weight{})}),
	}
	return forms
}

// CheckName returns an error for a wrong name of a scenario.
func CheckName(name string) error {
	_, err := readScenarioName(name)
	return err
}

func readScenarioName(s string) (any, error) {
	if len(s) > pattern.LongestScenario {
		return nil, pattern.TooLong(s, pattern.LongestScenario)
	}
	for part := range strings.SplitSeq(s, "/") {
		if err := pattern.CheckDotted(part, "."); err != nil {
			return nil, fmt.Errorf("%q is not a name for a scenario: it is made of letters, digits, \"_\", \"-\" and \".\", each part starts with a letter, and parts are joined by \"/\"", s)
		}
	}
	return s, nil
}

// readLink reads the name of a link, or its ends. Whether it exists is checked later.
func readLink(s string) (any, error) {
	if s == "" {
		return nil, fmt.Errorf("the name of a link is missing")
	}
	odd := func(c rune) bool { return c != ' ' && unicode.IsSpace(c) }
	if s == strings.TrimSpace(s) && !strings.Contains(s, "  ") && !strings.ContainsFunc(s, odd) {
		return s, nil
	}
	return strings.Join(strings.Fields(s), " "), nil
}

// StartAt is when the members of a flow start: the first, and each further one a
// step later.
type StartAt struct{ First, Step unit.Duration }

func readStart(s string) (any, error) {
	var at StartAt
	var err error
	first, step, stepped := strings.Cut(s, "+")
	if at.First, err = unit.ParseDuration(first); err == nil && stepped {
		at.Step, err = unit.ParseDuration(step)
	}
	return at, err
}

// readMemory reads a size, of a whole switch or for each port.
func readMemory(s string) (any, error) {
	text, each := strings.CutSuffix(strings.TrimSpace(s), "per port")
	size := param.Param{Kind: param.Size, Low: "1B"}
	n, err := size.Read(strings.TrimSpace(text))
	bytes, _ := n.(unit.Size)
	return Memory{Bytes: bytes, PerPort: each}, err
}

// The payloads that a packet may have: on InfiniBand whole words of 4 bytes.
const (
	minPacket  unit.Size = 4
	maxPacket  unit.Size = wire.MaxPayload
	packetStep unit.Size = 4
)

// readPacket reads a payload of any family. The function payload checks it once the links are
// known.
func readPacket(s string) (any, error) {
	n, err := unit.ParseSize(s)
	switch {
	case err != nil:
		return nil, err
	case n < minPacket || n > wire.MaxMSDU:
		return nil, fmt.Errorf("%q cannot be a payload: it is a multiple of %d bytes from %v to %v, or on Ethernet any size from %dB to %dB",
			s, packetStep, minPacket, maxPacket, wire.MinMSDU, wire.MaxMSDU)
	}
	return n, nil
}

// CheckPayload returns an error for a payload that is not possible in a family of links.
func CheckPayload(n unit.Size, f wire.Family) error {
	least, of := minPacket, ""
	switch {
	case f == wire.Ethernet && n < wire.MinMSDU:
		return fmt.Errorf("%v cannot be a payload on Ethernet: it is any size from %dB to %dB",
			n, wire.MinMSDU, wire.MaxMSDU)
	case f == wire.UET && uint32(n) != f.Fit(uint32(n)):
		return fmt.Errorf("%v cannot be a payload of uet: it is any size from %dB to %v", n, f.Fit(0), maxPacket)
	case f == wire.RoCEv2 && uint32(n) != f.Fit(uint32(n)):
		least, of = unit.Size(f.Fit(0)), " of RoCEv2"
	case f == wire.InfiniBand && (n > maxPacket || n%packetStep != 0):
	default:
		return nil
	}
	return fmt.Errorf("%v cannot be a payload%s: it is a multiple of %d bytes from %v to %v", n, of, packetStep, least, maxPacket)
}

// readNatural reads a whole number from 0 to the largest of 64 bits.
func readNatural(s string) (any, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a whole number from 0 to %d", s, uint64(math.MaxUint64))
	}
	return v, nil
}

// readText reads any text, and brings it to one line.
func readText(s string) (any, error) {
	for _, c := range s {
		if unicode.IsControl(c) && !unicode.IsSpace(c) {
			return nil, fmt.Errorf("the text contains the control character U+%04X", c)
		}
	}
	return strings.Join(strings.Fields(s), " "), nil
}

// readMetric reads the text of a metric. Whether it can be measured is checked later.
func readMetric(s string) (any, error) {
	v, err := readText(s)
	if err == nil && v == "" {
		return nil, fmt.Errorf("a metric is missing, such as trunk.A-B.utilisation or remote.rate / local.rate")
	}
	return v, err
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
