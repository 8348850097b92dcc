package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"fabemu/wire/param"
)

// paramsOf returns the parameters of an act.
func (t Tables) paramsOf(a Act) *param.Struct {
	if c, ok := rowOf(t.acts.choices, func(c *choice) bool { return c.typ == reflect.TypeOf(a) }); ok {
		return c.params
	}
	return param.Of(a, ownForms())
}

// Acts returns the acts without parameters, in the order of the rows.
func (t Tables) Acts() []Act { return t.rows }

// ParamsOfAct returns the parameters of the act with a key, its key among them.
func (t Tables) ParamsOfAct(key string) *param.Struct { return t.acts.Find(key) }

// ActsWith returns the keys of the acts that have a parameter; none: it belongs to no act.
func (t Tables) ActsWith(parameter string) []string { return t.acts.having[parameter] }

// Targets returns the kinds of objects, in the order of the rows.
func (t Tables) Targets() (all []Target) {
	for _, a := range t.rows {
		if on := a.Row().On; !slices.Contains(all, on) {
			all = append(all, on)
		}
	}
	return all
}

// actsOn returns the keys of the acts on a kind of object, in the order of their rows.
func (t Tables) actsOn(on Target) (keys []string) {
	for _, a := range t.rows {
		if a.Row().On == on {
			keys = append(keys, a.Row().Key)
		}
	}
	return keys
}

// keysOn returns the keys of an event on a kind of object: its changes, then their further keys.
func (t Tables) keysOn(on Target) []string {
	keys := t.actsOn(on)
	for _, key := range t.acts.keys {
		if !slices.Contains(keys, key) && slices.ContainsFunc(t.acts.having[key], func(of string) bool { return slices.Contains(keys, of) }) {
			keys = append(keys, key)
		}
	}
	return keys
}

// ownOfEvent returns the parameters of an event that does one thing, or of one that does nothing
// yet, to one kind of object; nil for any other.
func (t Tables) ownOfEvent(of *param.Struct, given func(key string) bool) *param.Struct {
	var acts, objects []string
	for _, a := range t.rows {
		if row := a.Row(); given(row.Key) {
			acts, objects = append(acts, row.Key), append(objects, string(row.On))
		}
	}
	if len(acts) == 0 {
		for _, on := range t.Targets() {
			if given(string(on)) {
				acts, objects = append(acts, t.keysOn(on)...), append(objects, string(on))
			}
		}
	} else {
		acts = append(acts, t.acts.Find(acts[0]).Keys()...)
	}
	if len(objects) != 1 {
		return nil
	}
	own := &param.Struct{}
	for _, p := range of.Params {
		isObject := slices.Contains(t.Targets(), Target(p.Key))
		isAct := t.acts.having[p.Key] != nil
		if !isObject && !isAct || p.Key == objects[0] || slices.Contains(acts, p.Key) {
			own.Params = append(own.Params, p)
		}
	}
	return own
}

// events returns the parameters of an item of a list of events, which are those of v and of all
// acts.
func (t Tables) events(v any, forms param.Forms) *param.Struct {
	s := param.Of(v, forms)
	for _, on := range t.Targets() {
		p := s.Find(string(on))
		p.Doc = strings.TrimSuffix(p.Doc, ".") + "; for " + strings.Join(t.actsOn(on), ", ") + "."
	}
	for _, a := range t.rows {
		key := a.Row().Key
		for _, key := range append([]string{key}, t.acts.Find(key).Keys()...) {
			if s.Find(key) == nil {
				s.Params = append(s.Params, t.acts.parameter(key))
			}
		}
	}
	return s
}

// Possible lists the acts by their objects.
func (t Tables) Possible() string {
	var all []string
	for _, on := range t.Targets() {
		all = append(all, fmt.Sprintf("%s (of the %s)", strings.Join(t.actsOn(on), ", "), on))
	}
	return strings.Join(all, ", ")
}
