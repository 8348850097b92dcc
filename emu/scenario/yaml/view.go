package yaml

import (
	"fabemu/emu/scenario/place"
	"fabemu/wire/param"
)

// View is an object with the defaults behind it.
type View struct {
	Of    *param.Struct
	Chain [2]*Node // the object, then defaults; nil where there is none
}

// At returns the value of a field and the node that gives it, nil for the
// built-in default. Without a default the value is nil too.
func (v View) At(key string) (any, *Node) { return v.Value(v.Of.Find(key)) }

func (v View) Value(p *param.Param) (any, *Node) {
	for _, n := range v.Chain {
		if f := n.Get(p.Key); f != nil && f.Value != nil {
			return f.Value, f
		}
	}
	return p.Usual(), nil
}

// Node returns the node that gives a field, a value or a list; nil for the built-in default.
func (v View) Node(key string) *Node {
	if _, n := v.At(key); n != nil {
		return n
	}
	return v.List(key)
}

// Spot returns the spot of a field, or another one if it is not given.
func (v View) Spot(key string, otherwise place.Spot) place.Spot {
	if n := v.Node(key); n != nil {
		return n.Spot
	}
	return otherwise
}

// List returns the list that a field has; nil if it is not given.
func (v View) List(key string) *Node {
	for _, n := range v.Chain {
		if f := n.Get(key); f != nil && f.Kind == List {
			return f
		}
	}
	return nil
}

// Given reports whether a field is given.
func (v View) Given(key string) bool { return v.Node(key) != nil }

// Present reports whether the file has the object, or defaults of it.
func (v View) Present() bool { return v.Chain != [2]*Node{} }

// Sub returns an object within an object.
func (v View) Sub(key string) View {
	out := View{Of: v.Of.Find(key).Object}
	for i, n := range v.Chain {
		out.Chain[i] = n.Get(key)
	}
	return out
}

// Get returns the value of a field, or the zero value.
func Get[T any](v View, key string) T {
	value, _ := v.At(key)
	t, _ := value.(T)
	return t
}

// BuildAll returns a struct for each item of a list.
func BuildAll[T any](v View, key string) (all []T) {
	if n := v.List(key); n != nil {
		of := v.Of.Find(key).Item.Object
		for _, item := range n.Items {
			all = append(all, Build[T](View{Of: of, Chain: [2]*Node{item}}))
		}
	}
	return all
}

// Build returns a struct with the values of all fields that are single values.
func Build[T any](v View) (t T) {
	var complete func(pointer any)
	if _, completes := any(&t).(param.Completer); completes {
		complete = param.Complete(v.Given)
	}
	v.Of.Fill(&t, func(p *param.Param) any { value, _ := v.Value(p); return value }, complete)
	return t
}
