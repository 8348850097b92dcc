package resolve

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Scaled is a scenario on another scale of time: rates are multiplied by Num/Den, times by Den/Num,
// and bytes, packets and shares stay. Quotients of these stay too: the packets on a link, buffers
// and thresholds in packets, timeouts in round trips.
type Scaled struct {
	*scenario.Scenario
	Text     []byte   // the scenario as Resolved prints it
	Num, Den int64    // without a common factor
	Left     []string // values that are not, or only nearly, in proportion, a sentence each
}

// ScaledSuffix is the suffix of the name of a scaled scenario.
const ScaledSuffix = "-scaled"

// TimeOf returns the power of time in the unit of a metric: 1 for seconds, -1 for a rate.
// Package metrics has one.
type TimeOf func(metric string) int

// Scale returns a scenario on the scale of time on which its fastest link has a rate. The types of
// the fields identify rates and times. The dilation is 1: model time is real time.
func Scale(s *scenario.Scenario, to unit.Rate, metrics MetricChecker, timeOf TimeOf) (*Scaled, error) {
	if to <= 0 {
		return nil, fmt.Errorf("a rate of %v: it is above zero", to)
	}
	fastest := unit.Rate(0)
	for i := range s.Links {
		fastest = max(fastest, s.Links[i].Rate)
	}
	ratio := big.NewRat(int64(to), int64(fastest))
	x := &scaler{num: ratio.Num().Int64(), den: ratio.Denom().Int64()}
	from := *s
	// Without flowlets, or without loads, these times have their defaults, and need not be in
	// proportion.
	if !s.Routing.Balance.ByFlowlet() {
		from.Routing.Idle = 0
	}
	if !s.Routing.Balance.Adaptive() || s.Routing.LoadWeight == 0 {
		from.Routing.Sample = 0
	}
	want := mapped("", reflect.ValueOf(from), x.value).Interface().(scenario.Scenario)
	if from.Routing.Idle == 0 {
		want.Routing.Idle = s.Routing.Idle
	}
	if from.Routing.Sample == 0 {
		want.Routing.Sample = s.Routing.Sample
	}
	if n := len(x.wrong); n > named {
		x.wrong = append(x.wrong[:named], fmt.Errorf("and %d more", n-named))
	}
	if len(x.wrong) > 0 {
		return nil, errors.Join(x.wrong...)
	}
	want.Name += ScaledSuffix
	want.Wall.Dilation = 1
	want.Expect = slices.Clone(want.Expect)
	for i := range want.Expect {
		c := &want.Expect[i]
		f := math.Pow(float64(x.den)/float64(x.num), float64(timeOf(c.Metric)))
		c.Low, c.High = c.Low*f, c.High*f
	}
	text, err := Text(&want)
	if err != nil {
		return nil, fmt.Errorf("a rate of %v for the fastest link, which has %v, makes a scenario that is not right:\n%w",
			to, fastest, err)
	}
	got, err := reload(s, want.Name, string(text), CheckMetrics(metrics))
	if err != nil {
		return nil, err
	}
	if n := len(x.rounded); n > named {
		x.rounded = append(x.rounded[:named],
			fmt.Sprintf("%d more are rounded to whole picoseconds or bits per second", n-named))
	}
	return &Scaled{Scenario: got, Text: text, Num: x.num, Den: x.den, Left: append(x.rounded, commands(got)...)}, nil
}

// named is the most items of a list in a message.
const named = 3

// scaler scales the values of a scenario.
type scaler struct {
	num, den int64
	rounded  []string
	wrong    []error
}

// value returns a time or a rate in proportion, and reports where it is rounded or has no value.
func (x *scaler) value(path string, v reflect.Value) int64 {
	num, den, wrong := x.num, x.den, "it has no rate in proportion: rates are whole numbers of bits per second"
	_, isTime := v.Interface().(unit.Duration)
	if isTime {
		num, den, wrong = den, num, fmt.Sprintf("it would be longer than %v", unit.Duration(math.MaxInt64))
	}
	if v.Int() == math.MaxInt64 { // unlimited, or without end
		return v.Int()
	}
	to, exact, ok := scaled(v.Int(), num, den)
	if !ok || to == 0 && v.Int() > 0 && !isTime {
		x.wrong = append(x.wrong, fmt.Errorf("%s: %v: %s", path, v, wrong))
	}
	if !exact {
		out := reflect.New(v.Type()).Elem()
		out.SetInt(to)
		if message := fmt.Sprintf("%s is rounded to %v", path, out); !slices.Contains(x.rounded, message) {
			x.rounded = append(x.rounded, message)
		}
	}
	return to
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

// mapped returns a copy of a value with each rate and time replaced by the result of to, which
// receives its path.
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
			case f.Anonymous || f.Name == "Params" || f.Name == "Act":
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

// commands names the programs, whose times and rates are unknown, and the checks of their output.
func commands(s *scenario.Scenario) (left []string) {
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
