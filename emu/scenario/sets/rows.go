package sets

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Row is a value that a scenario uses.
type Row struct {
	Object string // control, marking or transport
	Scheme string // the algorithm, the scheme of the marking, or the kind of the transport
	Key    string
	Value  string
	Set    string // empty: the scheme has none
	Made   string // for which links and round trips the set was made; empty: its source does not say
	Origin string // set, default, computed, given, or the rule of the set by which it follows from the fabric
	Source string
	Guess  bool   // it has no source
	Doubt  string // why it may not fit the fabric; empty: nothing speaks against it
}

// Heads are the heads of a table of rows.
func Heads() []string {
	return []string{"object", "scheme", "parameter", "value", "set", "made for", "origin", "source", "guess", "doubt"}
}

// Cells returns a row of the table.
func (r *Row) Cells() []string {
	guess := ""
	if r.Guess {
		guess = "a guess"
	}
	return []string{r.Object, r.Scheme, r.Key, r.Value, r.Set, r.Made, r.Origin, r.Source, guess, r.Doubt}
}

// Rows returns all values of algorithms, markings and transports that a scenario uses, those of
// equal objects once.
func Rows(s *scenario.Scenario) (all []Row) {
	place, _ := Of(s)
	seen := map[any]bool{}
	add := func(object, scheme string, params any) {
		if id := Key(object, scheme, params); !seen[id] {
			seen[id] = true
			all = append(all, place.Of(object, scheme, params)...)
		}
	}
	source := func(f *scenario.Source) {
		add("control", f.Control.Algorithm, f.Control.Params)
		add("transport", f.Transport.Kind, f.Transport.Params)
	}
	for i := range s.Flows {
		source(&s.Flows[i].Source)
	}
	for i := range s.Workloads {
		source(&s.Workloads[i].Source)
	}
	for i := range s.Switches {
		add("marking", s.Switches[i].Marking.Scheme, s.Switches[i].Marking.Params)
	}
	return all
}

// Key returns what objects with the same values have in common.
func Key(object, scheme string, params any) any {
	if params != nil && !reflect.TypeOf(params).Comparable() {
		params = fmt.Sprintf("%+v", params)
	}
	return [3]any{object, scheme, params}
}

// In reports whether parameters come in sets.
func In(params any) bool { return params != nil && param.Of(params).Sets() != nil }

// Of returns the rows of an object.
func (p *Place) Of(object, scheme string, params any) (rows []Row) {
	of := param.Of(params)
	sets, set, made := of.Sets(), "", ""
	if sets != nil {
		set = sets.Text(params)
		made = sets.MadeFor(set).String()
	}
	for i := range of.Params {
		x := &of.Params[i]
		if x == sets || !x.Sets() || !x.Kind.Single() || !of.Holds(x.Counts, params) || !of.Holds(x.With, params) {
			continue
		}
		r := Row{Object: object, Scheme: scheme, Key: x.Key, Value: x.Text(params), Set: set, Made: made}
		usual, ruled := x.In(set), x.Ruled(set, p.quantities())
		switch {
		case ruled != "" && same(x, r.Value, ruled):
			r.Origin, r.Guess, r.Source = x.RuleIn(set), x.GuessedIn(set, true), sets.SourceIn(set)
			if r.Guess {
				r.Source = x.SourceIn(set)
			}
		case usual == "":
			r.Origin = "computed"
		case !same(x, r.Value, usual):
			r.Origin = "given"
		case sets == nil:
			r.Origin, r.Source = "default", x.Source
		default:
			r.Origin, r.Guess = "set", x.GuessedIn(set, false)
			switch r.Source = x.SourceIn(set); {
			case r.Source != "" || r.Guess:
			case x.Default == "":
				r.Source = sets.SourceIn(set)
			default: // one default for all sets
				r.Source = x.Source
				if r.Source == "" {
					r.Origin = "default"
				}
			}
			r.Doubt = p.doubt(of, x, params, set, ruled)
		}
		rows = append(rows, r)
	}
	return rows
}

// same reports whether two texts are one value of a parameter.
func same(x *param.Param, a, b string) bool {
	u, err := x.Read(a)
	v, err2 := x.Read(b)
	return err == nil && err2 == nil && u == v || a == b
}

// far is how many times a round trip, or a value that a rule gives, may differ from what a set has
// before that is a doubt.
const far = 2

// apart reports whether two values differ by more than far.
func apart(a, b float64) bool { return a > 0 && b > 0 && math.Abs(math.Log(a/b)) > math.Log(far) }

// doubt says why the value of a set may not fit the place; ruled is what the rule of the set gives.
func (p *Place) doubt(of *param.Struct, x *param.Param, params any, set, ruled string) string {
	by, made := of.Find(x.Unless), of.Sets().MadeFor(set)
	switch {
	case p.Switches == 0, by != nil && by.Text(params) != by.None:
	case ruled != "" && x.Kind != param.Whole:
		if apart(number(x, x.Text(params)), number(x, ruled)) {
			return fmt.Sprintf("%s gives %s", x.RuleIn(set), ruled)
		}
	case x.Grows == param.LinkRate && made.Least > 0 && (p.Rate < made.Least || p.Rate > made.Most):
		return "made for " + made.Rates
	case x.Grows == param.RoundTrip && apart(float64(made.Trip), float64(p.Trip)):
		return fmt.Sprintf("made for a round trip of %v", made.Trip)
	}
	return ""
}

// number returns a value as a number, 0 if it is none.
func number(x *param.Param, text string) float64 {
	v, err := x.Read(text)
	if err != nil {
		return 0
	}
	switch v := v.(type) {
	case unit.Duration:
		return float64(v)
	case unit.Size:
		return float64(v)
	case unit.Rate:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// Doubts returns the rows with a doubt.
func Doubts(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Doubt == "" })
}
