package generate

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/traffic"
	"fabemu/wire/unit"
)

// Options give the size of a fabric, its links and its scheme against congestion. A field that is
// empty has the default of the kind.
type Options struct {
	// Name of the scenario (default: kind and size, such as incast-9).
	Name string `flag:"name" group:"Scenario" arg:"NAME"`
	// Number of endpoints (default: see above).
	Endpoints int `flag:"endpoints" group:"Size" arg:"N" low:"0" high:"1000000"`
	// Instead of --endpoints: ports of a switch, half of which lead down.
	Ports int `flag:"k" arg:"N" low:"0" high:"1000000"`
	// Instead of --endpoints: pods, or units of a rail-optimised fabric (default: k, or 2).
	Pods int `flag:"pods" arg:"N" low:"0" high:"1000000"`
	// Instead of --endpoints: leaf switches, in a fat tree those of each pod (default: from k).
	Leaves int `flag:"leaves" arg:"N" low:"0" high:"1000000"`
	// Instead of --endpoints: hosts at a leaf switch (default: k/2).
	PerLeaf int `flag:"hosts-per-leaf" arg:"N" low:"0" high:"1000000"`
	// Links of a host (default: 8).
	Rails int `flag:"rails" arg:"N" low:"0" high:"1000000"`
	// Rate and propagation delay of the links, for each tier from the endpoints up. The last value
	// holds for the tiers above too.
	Rates  []unit.Rate     `call:"rate"`  // 1 GB/s
	Delays []unit.Duration `call:"delay"` // those of cables in a hall
	// Capacity down over capacity up, of the leaves and of the switches above them (default: 1,1).
	Oversubscription []float64 `flag:"oversubscription" arg:"RATIO,..."`

	// Flow control: credit (InfiniBand), or pause, pfc or none (Ethernet); default: credit, or pfc
	// if the scheme needs Ethernet.
	FlowControl string `flag:"flow-control" group:"Links and traffic" arg:"WORD"`
	// Congestion control with all that it needs: an algorithm such as dcqcn, or a preset (default:
	// none).
	Scheme string `flag:"scheme" arg:"NAME"`
	// Instead of flows: messages among all endpoints, of a size or of web-search, hadoop or
	// storage. Only Clos networks have it.
	Traffic string `flag:"traffic" arg:"SIZES"`
	// Share of the rate of their links that messages take (default: 0.5).
	Load float64 `flag:"load" arg:"SHARE"`
	// In addition, at random instants, so many endpoints send 500 KB each to one, at 2 % of the
	// rate of all links, as in HPCC's Fig. 11.
	Incast int `flag:"incast" arg:"SENDERS" low:"0" high:"65535"`
}

// MaxEndpoints is the most endpoints that a file is written for: with a switch for each, as a
// parking lot has, all have LIDs (wire.MaxLID).
const MaxEndpoints = 20_000

// A Kind is a kind of fabric and traffic.
type Kind struct {
	Name      string // "fat-tree"
	What      string // description in one line
	Endpoints int    // default number
	Least     int    // least number of endpoints
	Step      int    // the number of endpoints is a multiple of it

	tiers      int      // of links that may differ in rate and delay
	dimensions []string // the flags that it takes
	lay        func(o *Options, s *scheme) (values, error)
}

func Kinds() []Kind {
	const k, pods, leaves, perLeaf, rails = "--k", "--pods", "--leaves", "--hosts-per-leaf", "--rails"
	return []Kind{
		{"dumbbell", "pairs of senders and receivers on two sides of one trunk", 16, 2, 1, 1, nil, dumbbell},
		{"incast", "all send to one", 9, 2, 1, 1, nil, incast},
		{"parking-lot", "a chain of switches with a sender at each, which all send to its end", 5, 2, 1, 1, nil, parkingLot},
		{"leaf-spine", "leaves that are all joined to all spines; each endpoint sends to a distant one", 16, 2, 1, 2,
			[]string{k, leaves, perLeaf}, leafSpine},
		{"fat-tree", "a folded Clos of three stages; each endpoint sends to a distant one", 16, 2, 1, 3,
			[]string{k, pods, leaves, perLeaf}, fatTree},
		{"rail-optimised", "hosts of eight endpoints, each at the leaf of its rail; each host sends to a distant one",
			32, 16, 8, 2, []string{k, pods, perLeaf, rails}, railOptimised},
		{paper, "the fabric of HPL-2002-224, Fig. 1: a victim between two switches", 23, 5, 1, 1, nil, hpl2002},
	}
}

// Write returns the text of a scenario. The error names the unknown kind, or the limit that is
// broken.
func Write(kind string, o Options) ([]byte, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == kind {
			return k.text(o)
		}
		names = append(names, k.Name)
	}
	why := fmt.Sprintf("there is no kind %q%s", kind, spelling.DidYouMean(spelling.Nearest(kind, names)))
	if kind == "torus" || kind == "dragonfly" {
		why = fmt.Sprintf("there is no %s: frames on its shortest paths would wait for one another in a circle. "+
			"Routes without deadlock change the lane of a frame on its path, but the switches here keep it", kind)
	}
	return nil, fmt.Errorf("%s; there are %s", why, strings.Join(names, ", "))
}

func (k *Kind) text(o Options) ([]byte, error) {
	if err := k.check(&o); err != nil {
		return nil, err
	}
	s, err := schemeOf(&o)
	if err != nil {
		return nil, err
	}
	if err := k.fit(s, o); err != nil {
		return nil, err
	}
	if o.dimension() == "" {
		o.Endpoints = cmp.Or(o.Endpoints, k.Endpoints)
	}
	o.Rates = filled(o.Rates, 8e9, 1)
	call := o.call(k.Name)
	o.Rates = filled(o.Rates, 0, k.tiers)
	hall := o.Delays == nil && k.Name != paper
	if hall {
		o.Delays = cables[:k.tiers]
	}
	o.Delays = filled(o.Delays, unit.Nanosecond, k.tiers)
	o.Oversubscription = append(o.Oversubscription, 1, 1)
	v, err := k.lay(&o, s)
	switch slow := slices.Min(o.Rates); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	case o.Endpoints < k.Least || o.Endpoints > MaxEndpoints:
		return nil, fmt.Errorf("%s has from %d to %d endpoints, not %d", k.Name, k.Least, MaxEndpoints, o.Endpoints)
	case s.credit() && slow < slowest:
		return nil, fmt.Errorf("a rate of %v is too low: at less than %v the header of a packet takes longer than a switch waits",
			slow, slowest)
	}
	v["kind"], v["call"], v["endpoints"], v["all"] = k.Name, call, o.Endpoints, o.Endpoints
	v["name"] = cmp.Or(o.Name, fmt.Sprintf("%s-%d", k.Name, o.Endpoints))
	v["from"], v["to"] = o.extent(v["sharing"].(int), s)
	if o.Traffic != "" {
		named, err := scenario.SizesOf(o.Traffic)
		if pattern := spelling.Nearest(o.Traffic, traffic.Uniform.Words()); err != nil && pattern != "" {
			return nil, fmt.Errorf("--traffic %s: %s is a pattern, and --traffic takes the sizes of messages, such as web-search; in the file, add pattern: %[2]s to the workload",
				o.Traffic, pattern)
		}
		if err != nil {
			return nil, fmt.Errorf("--traffic: %w", err)
		}
		sizes := named.Distribution()
		v["sizes"], v["load"], v["incast"] = quoted(o.Traffic), cmp.Or(o.Load, usualLoad), o.Incast
		members := o.Endpoints
		if hosts, ofRail := v["hosts"].(int); ofRail {
			members = hosts
		}
		if o.Incast < 0 || o.Incast >= members {
			return nil, fmt.Errorf("--incast %d: 1 to %d of %d endpoints can send to another", o.Incast, members-1, members)
		}
		v["warm"], v["drain"], v["to"] = o.transfers(sizes, v["to"].(unit.Duration))
	}
	if v["window"] == nil {
		v["window"] = 4 + packetsIn(2*trip(o.Delays...), o.Rates[0])
	}
	sets := o.sets(s, v["window"].(int))
	for _, section := range []string{"link", "switch", "flow"} {
		v[section] = mapping(within(sets, section))
	}
	v["notes"] = s.notes
	if hall {
		v["cables"] = metres[k.tiers-1]
	}
	v["acts"], v["bare"], v["full"] = s.Acts, s.credit() && !s.Acts, 0.98
	if s.Acts {
		v["full"] = 0.2 // the least that a scheme leaves among the kinds in their usual sizes is 0.27
	}
	var b bytes.Buffer
	if err := kindTemplates().ExecuteTemplate(&b, k.Name, v); err != nil {
		panic("generate: " + err.Error()) // a template of ours, and memory
	}
	return b.Bytes(), nil
}

// cables are the propagation delays of the cables of a hall, from the endpoints up: 5, 30 and 100 m
// at 5 ns/m.
var cables = [...]unit.Duration{25 * unit.Nanosecond, 150 * unit.Nanosecond, 500 * unit.Nanosecond}

// metres describes cables, by the number of tiers.
var metres = [...]string{"Cables of 5 m, at 5 ns/m.", "Cables of 5 m to endpoints and 30 m above, at 5 ns/m.",
	"Cables of 5 m to endpoints, 30 m in pods and 100 m between them, at 5 ns/m."}

// paper is the kind that is the fabric of a paper, which has no cables.
const paper = "hpl2002"

// fit fits a scheme to the fabric, as it is without the scheme.
func (k *Kind) fit(s *scheme, o Options) error {
	if !s.depends() {
		return nil
	}
	o.Scheme, o.FlowControl = "", s.control
	text, err := k.text(o)
	if err != nil {
		return err
	}
	bare, err := resolve.Load(k.Name, text, nil)
	if err != nil {
		return err
	}
	s.fit(bare)
	return nil
}

// usualLoad is the load of a workload that is not given.
const usualLoad = 0.5

// counted is how many transfers of a fabric count in figures: enough for p99.9, and for ten bands
// of sizes with a p99.
const counted = 1000

// transfers returns the time until the largest transfer could have left, in which the fabric fills;
// the time without arrivals at the end, in which as large ones can complete with the slowdown of a
// busy link several times over; and the end of the run. In between, arrivals count for at least so
// long, and until there are enough of them.
func (o *Options) transfers(sizes traffic.Sizes, least unit.Duration) (warm, drain, end unit.Duration) {
	load := cmp.Or(o.Load, usualLoad)
	gap := unit.Duration(float64(o.Rates[0].Serialise(unit.Size(sizes.Mean())+1)) / load)
	warm = rounded(o.Rates[0].Serialise(sizes.Largest()))
	drain = rounded(unit.Duration(5 * float64(warm) / max(1-load, 0.1)))
	return warm, drain, warm + rounded(max(least, 4*gap, gap*counted/unit.Duration(max(o.Endpoints, 1)))) + drain
}

// flag is a dimension of a fabric: the name of its flag and its value, 0 if it is not given.
type flag struct {
	name  string
	value int
}

// check refuses options that the kind does not have, or that have no meaning.
func (k *Kind) check(o *Options) error {
	for _, f := range o.flags() {
		switch {
		case f.value == 0:
		case !slices.Contains(k.dimensions, f.name):
			var having []string
			for _, other := range Kinds() {
				if slices.Contains(other.dimensions, f.name) {
					having = append(having, other.Name)
				}
			}
			return fmt.Errorf("%s has no %s: leave it out, or write a %s", k.Name, f.name, strings.Join(having, " or a "))
		case f.value < 1 || f.value > MaxEndpoints:
			return fmt.Errorf("%s %d: from 1 to %d are possible", f.name, f.value, MaxEndpoints)
		}
	}
	if d := o.dimension(); d != "" && o.Endpoints != 0 {
		return fmt.Errorf("%s and --endpoints both give the size: leave one of them out", d)
	}
	switch {
	case o.Traffic != "" && k.tiers == 1:
		return fmt.Errorf("%s has its own flows and no --traffic: omit it, or write a fabric of several tiers, such as leaf-spine", k.Name)
	case (o.Load != 0 || o.Incast != 0) && o.Traffic == "":
		return errors.New("--load and --incast are a load of flows: give their sizes, too, such as --traffic web-search")
	case o.Load != 0 && !(o.Load > 0 && o.Load <= 1):
		return fmt.Errorf("--load %v: it is a share of the link rate, above 0 and at most 1", o.Load)
	}
	if o.Ports%2 == 1 {
		return fmt.Errorf("--k %d: half of the ports of a switch lead downwards, so k is even: %d or %d",
			o.Ports, o.Ports-1, o.Ports+1)
	}
	for _, d := range o.Delays {
		if d < unit.Nanosecond {
			return errors.New("a delay of less than 1ns: no latency in a model is zero")
		}
	}
	for _, over := range o.Oversubscription {
		if !(over >= 1 && over <= MaxEndpoints) {
			return fmt.Errorf("an oversubscription of %v: it is the capacity downwards over the capacity upwards, 1 or more",
				over)
		}
	}
	for _, list := range []struct {
		name       string
		have, most int
	}{
		{"rate", len(o.Rates), k.tiers},
		{"delay", len(o.Delays), k.tiers},
		{"oversubscription", len(o.Oversubscription), k.tiers - 1},
	} {
		switch {
		case list.most == 0 && list.have > 0:
			return fmt.Errorf("%s has no --%s: leave it out, or write a fabric of several tiers, such as leaf-spine",
				k.Name, list.name)
		case list.have > list.most:
			return fmt.Errorf("%d values of --%s: %s takes %d, one for each tier from the endpoints up",
				list.have, list.name, k.Name, list.most)
		}
	}
	return nil
}

// filled returns n values, of which those behind the given ones are as the last one.
func filled[T any](given []T, usual T, n int) []T {
	if len(given) == 0 {
		given = []T{usual}
	}
	for len(given) < n {
		given = append(given[:len(given):len(given)], given[len(given)-1])
	}
	return given
}

// call returns the arguments of the command that writes the file.
func (o *Options) call(kind string) string {
	words, v := []string{kind}, reflect.ValueOf(*o)
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, text := cmp.Or(tag.Get("flag"), tag.Get("call")), fmt.Sprint(v.Field(i).Interface())
		if v.Field(i).Kind() == reflect.Slice {
			text = strings.ReplaceAll(strings.Trim(text, "[]"), " ", ",")
		} else if v.Field(i).IsZero() {
			text = ""
		} else {
			text = quoted(text)
		}
		if name != "name" && text != "" {
			words = append(words, "--"+name, text)
		}
	}
	return strings.Join(words, " ")
}

// quoted returns a word of a command, in quotes where it needs them.
func quoted(word string) string {
	if strings.ContainsAny(word, " ,") {
		return `"` + word + `"`
	}
	return word
}

//go:embed kinds.tmpl
var kindsText string

// kindTemplates are the texts of the scenarios, by kind. The template "KIND traffic" writes the
// flows and the claims of a kind, and nothing else does.
func kindTemplates() *template.Template {
	functions := template.FuncMap{"names": names, "joined": joined}
	return template.Must(template.New("").Funcs(functions).Parse(kindsText))
}
