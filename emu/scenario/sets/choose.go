package sets

import (
	"fmt"

	"fabemu/wire/param"
)

// Value is a parameter that is not as in the usual set of its struct.
type Value struct{ Key, Text string }

// Choose returns the set of a struct that suits the place, with the values that its rules give
// there. It leaves parameters alone that are given, and a set that is given; like is the set that
// it takes if there is one of that name. The set is empty for a struct without any.
func (p *Place) Choose(of *param.Struct, like string, given func(key string) (string, bool)) (set string, values []Value) {
	sets := of.Sets()
	if sets == nil {
		return "", nil
	}
	set, fixed := given(sets.Key)
	if !fixed {
		if set = p.suits(of, sets, like); set != sets.Default {
			values = append(values, Value{sets.Key, set})
		}
	}
	q := p.quantities()
	for i := range of.Params {
		x := &of.Params[i]
		if _, fixed := given(x.Key); fixed {
			continue
		}
		if text := x.Ruled(set, q); text != "" {
			values = append(values, Value{x.Key, text})
		}
	}
	return set, values
}

// Remedy says what Choose would take in the place of a set whose values may not fit.
func (p *Place) Remedy(params any) string {
	of := param.Of(params)
	sets := of.Sets()
	set := sets.Text(params)
	if other := p.suits(of, sets, ""); other != set && withRate(of, other) {
		return fmt.Sprintf("the set %s has values for such links", other)
	}
	q := p.quantities()
	for i := range of.Params {
		if of.Params[i].Ruled(set, q) != "" {
			return "give it the values of its rules, as fabemu generate --scheme does"
		}
	}
	return "its source has no rule for others"
}

// suits returns the set of a struct for the rate of the place.
func (p *Place) suits(of *param.Struct, sets *param.Param, like string) string {
	scales := ""
	for _, set := range sets.Words {
		if set == like {
			return set
		}
	}
	for _, set := range sets.Words {
		made := sets.MadeFor(set)
		if made.Least > 0 && made.Least <= p.Rate && p.Rate <= made.Most {
			return set
		}
		if scales == "" && made.Least > 0 && withRate(of, set) {
			scales = set
		}
	}
	if scales != "" {
		return scales
	}
	return sets.Default
}

// withRate reports whether all values of a set that grow with the link rate do so by a rule.
func withRate(of *param.Struct, set string) bool {
	for i := range of.Params {
		x := &of.Params[i]
		if x.Grows == param.LinkRate && x.RuleIn(set) == "" && !scaled(of, x, set) {
			return false
		}
	}
	return true
}

// scaled reports whether another parameter of a set scales a value.
func scaled(of *param.Struct, x *param.Param, set string) bool {
	by := of.Find(x.Unless)
	return by != nil && by.In(set) != by.None
}
