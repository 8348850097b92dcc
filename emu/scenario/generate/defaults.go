package generate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/sets"
	"fabemu/node/rp"
	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// A scheme is a preset with the flow control of the links.
type scheme struct {
	scenario.Preset
	control string
	notes   []string // where its parameters come from
}

// credit reports whether the links are links of InfiniBand.
func (s *scheme) credit() bool { return s.Family == wire.InfiniBand }

// Schemes returns the word for none, the algorithms that a file can have, and the schemes without
// an algorithm.
func Schemes() (all []string) {
	tables := scenario.BuiltIn()
	for _, p := range tables.Presets() {
		name := p.Name
		if p.Acts {
			name = p.Algorithm
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// schemeOf returns the scheme that the options name. The name of an algorithm stands for its first
// preset, unless the algorithm belongs to several congestion points.
func schemeOf(o *Options) (*scheme, error) {
	words := port.Credits.Words()
	if o.FlowControl != "" && !slices.Contains(words, o.FlowControl) {
		return nil, fmt.Errorf("there is no flow control %q%s; there are %s", o.FlowControl,
			spelling.DidYouMean(spelling.Nearest(o.FlowControl, words)), strings.Join(words, ", "))
	}
	plain := strings.NewReplacer(" ", "").Replace
	name := cmp.Or(o.Scheme, rp.NoPoint)
	var named, ofAlgorithm []scenario.Preset
	tables := scenario.BuiltIn()
	for _, p := range tables.Presets() {
		if plain(p.Name) == plain(name) {
			named = append(named, p)
		}
		if p.Algorithm == name {
			ofAlgorithm = append(ofAlgorithm, p)
		}
	}
	if named == nil {
		named = ofAlgorithm
	}
	if named == nil {
		return nil, fmt.Errorf("there is no scheme %q%s; there are %s", name,
			spelling.DidYouMean(spelling.Nearest(name, Schemes())), strings.Join(Schemes(), ", "))
	}
	first := slices.IndexFunc(named, func(p scenario.Preset) bool {
		return o.FlowControl == "" || (p.Family == wire.InfiniBand) == (o.FlowControl == port.Credits.String())
	})
	if first < 0 {
		return nil, fmt.Errorf("the scheme %s is not compatible with flow control %s: change one of them", name, o.FlowControl)
	}
	s := &scheme{Preset: named[first], control: o.FlowControl}
	var rivals []string
	for _, p := range named[first:] {
		if p.Family == s.Family && p.Point != s.Point {
			rivals = append(rivals, fmt.Sprintf("%q", p.Name))
		}
	}
	if rivals != nil {
		return nil, fmt.Errorf("%s supports several congestion points: give --scheme %q, or %s",
			name, s.Name, strings.Join(rivals, ", "))
	}
	if s.control == "" {
		s.control = port.Credits.String()
		if !s.credit() {
			s.control = port.PriorityPauseFrames.String()
		}
	}
	return s, nil
}

// SchemeOf returns a scheme, and the changes that put it in the place of the one that a scenario
// has: its algorithm, marking, telemetry, thresholds and transport, with the sets of parameters
// that suit the links.
func SchemeOf(name string, base *scenario.Scenario) (scenario.Preset, []scenario.Set, error) {
	o := Options{Scheme: name}
	if len(base.Links) > 0 { // without a link the scenario is wrong, as loading it reports
		o.FlowControl = base.Links[0].FlowControl.String()
	}
	s, err := schemeOf(&o)
	if err != nil {
		return scenario.Preset{}, nil, err
	}
	s.fit(base)
	var sets []scenario.Set
	for _, section := range []string{"switch.marking", "flow.control", "flow.transport"} {
		sets = append(sets, scenario.Set{Path: "defaults." + section})
	}
	if s.Point == "" {
		sets = append(sets, scenario.Set{Path: markingScheme, Value: rp.NoPoint})
	}
	return s.Preset, append(sets, s.Sets...), nil
}

// fit gives a scheme what it needs in a fabric, and the sets of parameters that suit it, with the
// values of their rules there. Its own parameters stay.
func (s *scheme) fit(base *scenario.Scenario) {
	p, ok := sets.Of(base)
	if !ok {
		return
	}
	place := &p
	s.suit(base, place)
	tables := scenario.BuiltIn()
	set := ""
	for i := range tables.Algorithms {
		if l := &tables.Algorithms[i]; l.Name == s.Algorithm {
			set = s.choose(place, "defaults.flow.control.", param.Of(l.Params), "")
		}
	}
	for i := range tables.Points {
		p := &tables.Points[i]
		if p.Name != s.Point {
			continue
		}
		const marking = "defaults.switch.marking."
		if of := param.Of(p.Params); s.Marks != "" {
			s.Sets = slices.DeleteFunc(slices.Clone(s.Sets), func(x scenario.Set) bool {
				key, in := strings.CutPrefix(x.Path, marking)
				return in && of.Find(key) != nil && of.Find(key).Grows != ""
			})
			set = s.Marks
		}
		s.choose(place, marking, param.Of(p.Params), set)
	}
}

// suit adds the fields that the scheme has in a fabric such as this. Trimming that switches have
// stays as it is.
func (s *scheme) suit(base *scenario.Scenario, place *sets.Place) {
	words := strings.NewReplacer(rp.Oversubscription, strconv.FormatFloat(place.Oversubscription, 'g', 4, 64),
		rp.Timer, rounded(15*unit.Microsecond+6*place.Rate.Serialise(longestQueue(base))).String(), rp.ThreeTrips, rounded(3*place.Trip).String())
	add := func(is bool, all []scenario.Set) {
		for _, x := range all {
			if !is || slices.ContainsFunc(s.Sets, func(y scenario.Set) bool { return y.Path == x.Path }) {
				continue
			}
			x.Value = words.Replace(x.Value)
			s.Sets = append(s.Sets[:len(s.Sets):len(s.Sets)], x)
			if x.Path == markingScheme {
				s.Point = x.Value
			}
		}
	}
	add(true, s.Fabric)
	add(place.Several && base.Routing.Paths == scenario.ECMP && base.Routing.Balance == switchd.Hash, s.Paths)
	add(slices.ContainsFunc(base.Links, func(l scenario.Link) bool { return l.FlowControl == port.NoFlowControl }) &&
		!slices.ContainsFunc(base.Switches, func(w scenario.Switch) bool { return w.Trim.Size > 0 }), s.Drops)
	add(place.Oversubscription > 1, s.Narrow)
}

// longestQueue returns how long a queue of a switch may become: its limit, or all of the memory.
func longestQueue(s *scenario.Scenario) (most unit.Size) {
	ports := map[string]int{}
	for i := range s.Links {
		ports[s.Links[i].A]++
		ports[s.Links[i].B]++
	}
	for i := range s.Switches {
		w := &s.Switches[i]
		room := w.Memory.Total(ports[w.Name])
		if w.OutputLimit > 0 {
			room = min(room, w.OutputLimit)
		}
		most = max(most, room)
	}
	return most
}

const markingScheme = "defaults.switch.marking.scheme"

// depends reports whether the scheme depends on the fabric.
func (s *scheme) depends() bool {
	if s.Fabric != nil || s.Paths != nil || s.Drops != nil || s.Narrow != nil {
		return true
	}
	tables := scenario.BuiltIn()
	for i := range tables.Algorithms {
		if l := &tables.Algorithms[i]; l.Name == s.Algorithm && param.Of(l.Params).Sets() != nil {
			return true
		}
	}
	return slices.ContainsFunc(tables.Points, func(p cp.Point) bool {
		return p.Name == s.Point && param.Of(p.Params).Sets() != nil
	})
}

// choose adds the values that suit a place to a section of the defaults, and notes the set.
func (s *scheme) choose(place *sets.Place, section string, of *param.Struct, like string) string {
	set, values := place.Choose(of, like, func(key string) (string, bool) {
		i := slices.IndexFunc(s.Sets, func(x scenario.Set) bool { return x.Path == section+key })
		if i < 0 {
			return "", false
		}
		return s.Sets[i].Value, true
	})
	if set == "" {
		return ""
	}
	note := fmt.Sprintf("%s of %s", set, of.Sets().SourceIn(set))
	for _, v := range values {
		s.Sets = append(s.Sets[:len(s.Sets):len(s.Sets)], scenario.Set{Path: section + v.Key, Value: v.Text})
		if rule := of.Find(v.Key).RuleIn(set); rule != "" {
			note += fmt.Sprintf(", %s = %s", v.Key, rule)
		}
	}
	s.notes = append(s.notes, strings.TrimSuffix(strings.TrimPrefix(section, "defaults."), ".")+": the set "+note)
	return set
}

// The figures of a packet of 2048 bytes, and of links and switches.
const (
	packetBytes = 2068           // on the line
	mostBlocks  = 2048           // of credit that a link grants in advance
	blocks      = 33             // of a packet
	slowest     = unit.Rate(4e9) // at which the 20 bytes of a header take the forwarding delay of a switch, 40 ns
)

// trip returns the time that delays add to the path there and back, of links without one.
func trip(delays ...unit.Duration) (sum unit.Duration) {
	for _, d := range delays {
		sum += 2 * (d - unit.Nanosecond)
	}
	return sum
}

// packetsIn returns how many packets leave by a link in a time.
func packetsIn(d unit.Duration, rate unit.Rate) int {
	return int(math.Ceil(float64(d) / float64(rate.Serialise(packetBytes))))
}

// extent returns the start of the measurement and the end of the run. Each of the flows that share
// a link has the time for 30 packets, of which the last 20 are measured. A scheme needs longer
// until rates are settled.
func (o *Options) extent(sharing int, s *scheme) (from, end unit.Duration) {
	end = max(unit.Duration(30*sharing), 500)*slices.Min(o.Rates).Serialise(packetBytes) + 60*trip(o.Delays...)
	if s.Acts || o.Traffic != "" { // with a workload all schemes run equally long
		end = max(20*end, settling)
	}
	end = rounded(end)
	return end / 3 / unit.Microsecond * unit.Microsecond, end
}

// settling is the time that algorithms need whose timers do not depend on rates.
const settling = 10 * unit.Millisecond

// sets returns the defaults of a file, as fields of links, switches and flows.
func (o *Options) sets(s *scheme, window int) (all []scenario.Set) {
	add := func(path, format string, value ...any) {
		all = append(all, scenario.Set{Path: path, Value: fmt.Sprintf(format, value...)})
	}
	add("link.rate", "%v", o.Rates[0])
	if o.Delays[0] > unit.Nanosecond {
		add("link.propagation", "%v", o.Delays[0])
	}
	if s.credit() {
		add("link.buffer", "%d packets", o.buffer(0))
	} else {
		add("link.flow-control", "%s", s.control)
		add("switch.kind", "output-queued")
		if kb := o.memory(); kb > usualMemory {
			add("switch.memory", "%dKB per port", kb)
		}
	}
	if s.Point == "" {
		add("switch.marking.scheme", rp.NoPoint)
	}
	add("flow.packet", "2048B")
	if s.credit() {
		add("flow.window", "%d", window)
	}
	for _, set := range s.Sets {
		add(strings.TrimPrefix(set.Path, "defaults."), "%s", set.Value)
	}
	return all
}

// buffer is how many packets a link of a tier holds: four, and those on the path of a credit, as
// far as a link grants.
func (o *Options) buffer(tier int) int {
	return min(4+packetsIn(trip(o.Delays[tier]), o.Rates[tier]), mostBlocks/blocks)
}

// memory is how many kilobytes of memory a port of a switch has: 80 for each Gb/s of an endpoint,
// at least the usual 300, and for frames in flight when two priorities are stopped more, in
// hundreds. An empty switch of HPCC's simulator (run.py) stops a priority of an input at an eighth
// of its memory, 16 MB times the rate over 50 Gb/s: that is 40 KB for each Gb/s, and here two
// priorities, such as those of data and CNPs, share the memory of a port.
func (o *Options) memory() int {
	kb := max(usualMemory, int(o.Rates[0]/1e9)*80)
	longest := 0.0
	for i, d := range o.Delays {
		longest = max(longest, 2*d.Seconds()*float64(o.Rates[i])/8)
	}
	if longest < 20e3 {
		return kb
	}
	return kb + 100*int(math.Ceil(2*longest/100e3))
}

// usualMemory is the memory of a port that is not given, in kilobytes.
const usualMemory = 300

// link returns a link or links of a tier as an item of the list, with the fields that differ from
// the defaults.
func (o *Options) link(s *scheme, tier int, between string) string {
	fields := ""
	if o.Rates[tier] != o.Rates[0] {
		fields += fmt.Sprintf(", rate: %v", o.Rates[tier])
	}
	if o.Delays[tier] != o.Delays[0] {
		fields += fmt.Sprintf(", propagation: %v", o.Delays[tier])
	}
	if n := o.buffer(tier); s.credit() && n != o.buffer(0) {
		fields += fmt.Sprintf(", buffer: %d packets", n)
	}
	if fields == "" {
		return "- " + between
	}
	return "- {between: " + between + fields + "}"
}

// mapping writes fields as YAML: {marking: {scheme: ecn}}.
func mapping(sets []scenario.Set) string {
	var keys, items []string
	for _, s := range sets {
		key, _, deeper := strings.Cut(s.Path, ".")
		switch {
		case !deeper:
			items = append(items, key+": "+s.Value)
		case !slices.Contains(keys, key):
			keys = append(keys, key)
			items = append(items, key+": "+mapping(within(sets, key)))
		}
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// within returns the fields of a section.
func within(sets []scenario.Set, section string) (all []scenario.Set) {
	for _, s := range sets {
		if rest, in := strings.CutPrefix(s.Path, section+"."); in {
			all = append(all, scenario.Set{Path: rest, Value: s.Value})
		}
	}
	return all
}
