package scenario

import "fabemu/wire/param"

// view is an object with the defaults behind it.
type view struct {
	of    *param.Struct
	chain [2]*node // the object, then defaults; nil where there is none
}

// at returns the value of a field and the node that gives it, nil for the
// built-in default. Without a default the value is nil too.
func (v view) at(key string) (any, *node) { return v.value(v.of.Find(key)) }

func (v view) value(p *param.Param) (any, *node) {
	for _, n := range v.chain {
		if f := n.get(p.Key); f != nil && f.value != nil {
			return f.value, f
		}
	}
	return p.Usual(), nil
}

// node returns the node that gives a field, a value or a list; nil for the built-in default.
func (v view) node(key string) *node {
	if _, n := v.at(key); n != nil {
		return n
	}
	return v.list(key)
}

// spot returns the spot of a field, or another one if it is not given.
func (v view) spot(key string, otherwise spot) spot {
	if n := v.node(key); n != nil {
		return n.spot
	}
	return otherwise
}

// list returns the list that a field has; nil if it is not given.
func (v view) list(key string) *node {
	for _, n := range v.chain {
		if f := n.get(key); f != nil && f.kind == list {
			return f
		}
	}
	return nil
}

// given reports whether a field is given.
func (v view) given(key string) bool { return v.node(key) != nil }

// present reports whether the file has the object, or defaults of it.
func (v view) present() bool { return v.chain != [2]*node{} }

// sub returns an object within an object.
func (v view) sub(key string) view {
	out := view{of: v.of.Find(key).Object}
	for i, n := range v.chain {
		out.chain[i] = n.get(key)
	}
	return out
}

// get returns the value of a field, or the zero value.
func get[T any](v view, key string) T {
	value, _ := v.at(key)
	t, _ := value.(T)
	return t
}

// buildAll returns a struct for each item of a list.
func buildAll[T any](v view, key string) (all []T) {
	if n := v.list(key); n != nil {
		of := v.of.Find(key).Item.Object
		for _, item := range n.items {
			all = append(all, build[T](view{of: of, chain: [2]*node{item}}))
		}
	}
	return all
}

// build returns a struct with the values of all fields that are single values.
func build[T any](v view) (t T) {
	var complete func(pointer any)
	if _, completes := any(&t).(param.Completer); completes {
		complete = param.Complete(v.given)
	}
	v.of.Fill(&t, func(p *param.Param) any { value, _ := v.value(p); return value }, complete)
	return t
}
