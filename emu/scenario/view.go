package scenario

// view is an object with the defaults behind it.
type view struct {
	shape *shape
	chain []*node // the object, then defaults; nil where there is none
}

// at returns the value of a field and the node that gives it, nil for the
// built-in default. The value is nil when there is no default either.
func (v view) at(name string) (any, *node) {
	for _, n := range v.chain {
		if f := n.get(name); f != nil && !f.bad && f.value != nil {
			return f.value, f
		}
	}
	return v.shape.field(name).usual(), nil
}

// usual returns the default of a field, nil when there is none.
func (f *field) usual() any {
	if f.def != "" && f.value == nil {
		value, err := f.shape.read(f.def)
		if err != nil {
			panic("scenario: the default of " + f.name + " is not readable: " + err.Error())
		}
		f.value = value
	}
	return f.value
}

// list returns the list that a field is, nil where none is given.
func (v view) list(name string) *node {
	for _, n := range v.chain {
		if f := n.get(name); f != nil && !f.bad && f.kind == list {
			return f
		}
	}
	return nil
}

// refused says whether a field was given and refused, so that its value is not
// what the user meant.
func (v view) refused(name string) bool {
	for _, n := range v.chain {
		if f := n.get(name); f != nil {
			return f.bad
		}
	}
	return false
}

// sub returns an object within an object.
func (v view) sub(name string) view {
	out := view{shape: v.shape.field(name).shape}
	for _, n := range v.chain {
		out.chain = append(out.chain, n.get(name))
	}
	return out
}

// get returns the value of a field, the zero value when there is none.
func get[T any](v view, name string) T {
	value, _ := v.at(name)
	t, _ := value.(T)
	return t
}
