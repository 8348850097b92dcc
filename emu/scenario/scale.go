package scenario

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Scaled is a scenario on another scale of time: rates are multiplied by Num/Den, times by Den/Num,
// and bytes, packets and shares stay. Quotients of these stay too: the packets on a line, buffers and
// thresholds in packets, timeouts in round trips.
type Scaled struct {
	*Scenario
	Text     []byte   // the file, with the comments of the original
	Num, Den int64    // without a common factor
	Left     []string // values that are not, or only nearly, in proportion, a sentence each
}

// ScaledSuffix is the suffix of the name of a scaled scenario.
const ScaledSuffix = "-scaled"

// TimeOf returns the power of time in the unit of a metric: 1 for seconds, -1 for a rate.
// Package metrics has one.
type TimeOf func(metric string) int

// Scale returns the scenario in the text of a file on the scale of time on which its
// fastest link has a rate. The types of the fields identify rates and times.
// It writes out defaults that do not follow from given values. The dilation is 1: model
// time is real time.
func Scale(name string, src []byte, to unit.Rate, metrics MetricChecker, timeOf TimeOf) (*Scaled, error) {
	x := &scaler{file: filepath.ToSlash(name), text: strings.TrimPrefix(string(src), "\uFEFF"), metrics: metrics, timeOf: timeOf}
	res, err := x.load(x.text)
	if err != nil {
		return nil, err
	}
	x.root, x.lines = res.root, res.lines
	fastest := unit.Rate(0)
	for i := range res.s.Links {
		fastest = max(fastest, res.s.Links[i].Rate)
	}
	if to <= 0 {
		return nil, fmt.Errorf("a rate of %v: it is above zero", to)
	}
	ratio := big.NewRat(int64(to), int64(fastest))
	x.num, x.den = ratio.Num().Int64(), ratio.Denom().Int64()
	out := &Scaled{Num: x.num, Den: x.den}

	x.given()
	want := x.want(&res.s)
	if n := len(x.wrong); n > named {
		x.wrong = append(x.wrong[:named], fmt.Errorf("and %d more", n-named))
	}
	if len(x.wrong) > 0 {
		return nil, errors.Join(x.wrong...)
	}
	got, text, err := x.completed(res, want)
	if err != nil {
		return nil, fmt.Errorf("a rate of %v for the fastest link, which has %v, makes a scenario that is not right:\n%w",
			to, fastest, err)
	}
	apart(want, &got.s, func(path string, want, got reflect.Value) {
		if d := want.Int() - got.Int(); max(d, -d) <= 1+want.Int()/1e9 {
			x.round(path, got)
			return
		}
		out.Left = append(out.Left, fmt.Sprintf("%s is %v, where %v would be in proportion", path, got, want))
	})
	if n := len(x.rounded); n > named {
		x.rounded = append(x.rounded[:named],
			fmt.Sprintf("%d more are rounded to whole picoseconds or bits per second", n-named))
	}
	out.Scenario, out.Text = &got.s, []byte(text)
	out.Left = slices.Concat(x.rounded, out.Left, commands(&got.s))
	return out, nil
}

// load reads a text of the scenario.
func (x *scaler) load(text string) (*resolver, error) {
	r := newReports(x.file, text)
	root := r.parse(text)
	if root == nil {
		return nil, r.err()
	}
	return r.load(root, nil, options{metrics: x.metrics})
}

// completed returns the text with all values in proportion, and its scenario.
func (x *scaler) completed(res *resolver, want *Scenario) (got *resolver, text string, err error) {
	x.complete(res, want, &res.s, true)
	for try := range 2 { // the second time with defaults that did not follow in proportion
		text = x.edited()
		if got, err = x.load(text); err != nil && try == 0 {
			// Defaults that follow from others, as from a preset, do not fit: they are written out too.
			x.complete(res, want, &res.s, false)
			text = x.edited()
			got, err = x.load(text)
		}
		if err != nil {
			return nil, "", err
		}
		x.complete(res, want, &got.s, false)
	}
	return got, text, nil
}

// named is the most items of a list in a message.
const named = 3

// scaler makes the changes of a text.
type scaler struct {
	file     string
	text     string
	lines    []string
	root     *node
	metrics  MetricChecker
	timeOf   TimeOf
	num, den int64

	edits   []edit
	added   []addition
	rounded []string
	wrong   []error
}

// given enters the changes of all values that are given.
func (x *scaler) given() {
	root := x.root
	x.values(root)
	if n := root.get("name"); n != nil {
		x.replace(n, n.text+ScaledSuffix)
	}
	if n := root.get("wall").get("dilation"); n != nil {
		x.replace(n, "1")
	} else {
		x.add(x.mapping("wall"), "wall", "dilation", "1")
	}
	if n := root.get("short").get("dilation"); n != nil {
		x.replace(n, "1")
	}
	if expect := root.get("expect"); expect != nil {
		for _, c := range expect.items {
			factor := x.factor(c.get("metric").text)
			for _, key := range []string{"low", "high"} {
				n := c.get(key)
				if v, ok := n.value.(float64); ok && factor != 1 {
					x.replace(n, strconv.FormatFloat(v*factor, 'f', -1, 64))
				}
			}
		}
	}
}

// values enters the changes of the rates and times in a node.
func (x *scaler) values(n *node) {
	for _, e := range n.entries {
		x.values(e.value)
	}
	for _, item := range n.items {
		x.values(item)
	}
	if !strings.ContainsAny(n.text, "0123456789") {
		return // a word, as unlimited
	}
	switch v := n.value.(type) {
	case unit.Duration:
		x.replace(n, scaleAt(x, n, v).String())
	case unit.Rate:
		to := scaleAt(x, n, v)
		text := to.String()
		if strings.HasSuffix(strings.TrimSpace(n.text), "b/s") {
			text = to.InBits()
		}
		x.replace(n, text)
	case startAt:
		text := scaleAt(x, n, v.first).String()
		if v.step != 0 {
			text += " + " + scaleAt(x, n, v.step).String()
		}
		x.replace(n, text)
	}
}

// scaleAt scales a time or a rate at a node.
func scaleAt[T unit.Duration | unit.Rate](x *scaler, n *node, v T) T {
	num, den, wrong := x.num, x.den, "it has no rate in proportion: rates are whole numbers of bits per second"
	_, time := any(v).(unit.Duration)
	if time {
		num, den, wrong = den, num, fmt.Sprintf("it would be longer than %v", unit.Duration(math.MaxInt64))
	}
	to, exact, ok := scaled(int64(v), num, den)
	if !ok || to == 0 && v > 0 && !time {
		x.refuse(n, wrong)
	}
	if !exact {
		x.round(n.path, T(to))
	}
	return T(to)
}

// refuse reports a mistake in a value.
func (x *scaler) refuse(n *node, wrong string) {
	x.wrong = append(x.wrong, fmt.Errorf("%s:%d:%d: %s: %s: %s", x.file, n.at.line, n.at.column, n.path, n.text, wrong))
}

func (x *scaler) round(path string, v any) {
	if message := fmt.Sprintf("%s is rounded to %v", path, v); !slices.Contains(x.rounded, message) {
		x.rounded = append(x.rounded, message)
	}
}

// scaled returns v num / den, rounded to the nearest.
func scaled(v, num, den int64) (to int64, exact, ok bool) {
	hi, lo := bits.Mul64(uint64(v), uint64(num))
	lo, carry := bits.Add64(lo, uint64(den)/2, 0)
	if hi += carry; v < 0 || hi >= uint64(den) {
		return v, true, v < 0
	}
	q, rest := bits.Div64(hi, lo, uint64(den))
	return int64(min(q, math.MaxInt64)), rest == uint64(den)/2, q <= math.MaxInt64
}

// want returns a scenario with all rates and times in proportion, including those that follow from
// others.
func (x *scaler) want(s *Scenario) *Scenario {
	out := mapped("", reflect.ValueOf(*s), func(_ string, v reflect.Value) int64 {
		num, den := x.num, x.den
		if v.Type() == reflect.TypeFor[unit.Duration]() {
			num, den = den, num
		}
		if v.Int() == math.MaxInt64 { // unlimited, or without end
			return v.Int()
		}
		n, _, _ := scaled(v.Int(), num, den)
		return n
	}).Interface().(Scenario)
	out.Name += ScaledSuffix
	out.Wall.Dilation = 1
	for i := range out.Expect {
		c := &out.Expect[i]
		f := x.factor(c.Metric)
		c.Low, c.High = c.Low*f, c.High*f
	}
	return &out
}

// factor returns the factor of the figures of a metric.
func (x *scaler) factor(metric string) float64 {
	return math.Pow(float64(x.den)/float64(x.num), float64(x.timeOf(metric)))
}

// mapped returns a copy of a value with each rate and time replaced by the result of to, which receives
// its path.
func mapped(path string, v reflect.Value, to func(path string, v reflect.Value) int64) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Int64:
		switch v.Interface().(type) {
		case unit.Duration, unit.Rate:
			out.SetInt(to(path, v))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			key, keyed := f.Tag.Lookup("key")
			switch {
			case f.Anonymous || f.Name == "Params":
				out.Field(i).Set(mapped(path, v.Field(i), to))
			case keyed && f.IsExported():
				out.Field(i).Set(mapped(param.Path(path, key), v.Field(i), to))
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(mapped(path, v.Elem(), to))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(mapped(itemName(path, i, v.Index(i)), v.Index(i), to))
		}
	}
	return out
}

// itemName is the path of an item of a list: by its name where it has one.
func itemName(path string, i int, item reflect.Value) string {
	if item.Kind() == reflect.Struct {
		if name := item.FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String {
			return path + "." + name.String()
		}
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

// apart visits the rates and times that differ in two scenarios of one shape.
func apart(want, got *Scenario, visit func(path string, want, got reflect.Value)) {
	all := map[string]reflect.Value{}
	mapped("", reflect.ValueOf(*want), func(path string, v reflect.Value) int64 { all[path] = v; return 0 })
	mapped("", reflect.ValueOf(*got), func(path string, v reflect.Value) int64 {
		if w, ok := all[path]; ok && w.Int() != v.Int() {
			visit(path, w, v)
		}
		return 0
	})
}

// complete adds the values of a scenario that are not in proportion and not given, each to the
// mapping that it belongs to: a parameter of a scheme beside the name of the scheme, others under
// the defaults. With fixed it adds only defaults that do not follow from other values.
func (x *scaler) complete(res *resolver, want, got *Scenario, fixed bool) {
	missing := func(v view, to *node, path string, want, got any) {
		for i := range v.of.Params {
			p := &v.of.Params[i]
			if !p.Sets() || p.Kind != param.Duration && p.Kind != param.Rate || v.given(p.Key) || fixed && !p.Fixed() {
				continue
			}
			if d := p.Number(want) - p.Number(got); d < -1 || d > 1 {
				x.add(to, path, p.Key, p.Text(want))
			}
		}
	}
	object := func(v view, path string, want, got any) { missing(v, x.mapping(path), path, want, got) }
	scheme := func(v view, key string, t *table, chosen string, want, got any) {
		v = v.sub(key)
		v.of = t.find(chosen)
		for _, n := range v.chain {
			if n.get(t.by) != nil && v.of != nil && want != nil && got != nil {
				missing(v, n, "", want, got)
				return
			}
		}
	}
	top := view{of: res.tables.language, chain: [2]*node{x.root}}
	object(top.sub("wall"), "wall", want.Wall, got.Wall)
	object(top.sub("routing"), "routing", want.Routing, got.Routing)
	object(top.sub("measure"), "measure", want.Measure, got.Measure)
	for i, w := range want.Switches {
		g, v := got.Switches[i], res.machines[w.Name].view
		object(v, "defaults.switch", w, g)
		scheme(v, "marking", res.tables.points, w.Marking.Scheme, w.Marking.Params, g.Marking.Params)
	}
	for i, w := range want.Endpoints {
		object(res.machines[w.Name].view, "defaults.endpoint", w, got.Endpoints[i])
	}
	for i, w := range want.Links {
		object(res.links[i].view, "defaults.link", w, got.Links[i])
		if w.FlowControl == port.ChannelCredits {
			object(res.links[i].view.sub("cbfc"), "defaults.link.cbfc", w.CBFC, got.Links[i].CBFC)
		}
		again := res.links[i].view.sub("retry")
		for _, n := range again.chain { // under the defaults other links would have it, too
			if w.Retry.On() && n != nil && n.kind == mapping {
				missing(again, n, "", w.Retry, got.Links[i].Retry)
				break
			}
		}
	}
	source := func(v view, w, g *Source) {
		scheme(v, "control", res.tables.laws, w.Control.Law, w.Control.Params, g.Control.Params)
		scheme(v, "transport", res.tables.transports, w.Transport.Kind, w.Transport.Params, g.Transport.Params)
	}
	for i, w := range want.Flows {
		object(res.flows[i].view, "defaults.flow", w, got.Flows[i])
		source(res.flows[i].view, &w.Source, &got.Flows[i].Source)
	}
	for i, w := range want.Workloads {
		object(res.workloads[i].view, "defaults.flow", w, got.Workloads[i])
		source(res.workloads[i].view, &w.Source, &got.Workloads[i].Source)
	}
}

// commands names the programs, whose times and rates are unknown, and the checks of their output.
func commands(s *Scenario) (left []string) {
	var programs, checks []string
	for _, p := range s.Programs {
		programs = append(programs, p.Name)
	}
	for _, c := range s.Expect {
		if m, ok := s.ProgramMetric(c.Metric); ok && m.Path != nil {
			checks = append(checks, c.ID)
		}
	}
	if len(programs) > 0 {
		left = append(left,
			"times and rates in the commands of programs are unchanged: "+strings.Join(programs, ", "))
	}
	if len(checks) > 0 {
		left = append(left, "so are the ranges of numbers that programs print: "+strings.Join(checks, ", "))
	}
	return left
}
