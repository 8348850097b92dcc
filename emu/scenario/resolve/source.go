package resolve

import (
	"iter"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
)

// source is a file that is being read: its tree, with what is known to be wrong in it, and the
// language. All stages take values from it and report mistakes to it.
type source struct {
	*yaml.File
	language scenario.Tables
	behind   map[string]*scenario.Given // the defaults of each kind, as far as they were needed
}

// top returns the fields of the scenario.
func (r *source) top() yaml.View {
	return yaml.View{Of: r.language.Language().Object, Chain: [2]*yaml.Node{r.Root}}
}

// items returns the items of a list or map of the scenario, each with its fields and the defaults
// of its kind. Items with mistakes are left out, and if there are some lost becomes true.
func (r *source) items(section string, lost *bool) iter.Seq2[*yaml.Node, yaml.View] {
	return func(yield func(*yaml.Node, yaml.View) bool) {
		for n, v := range r.all(section) {
			if !r.rightItem(section, n) {
				*lost = true
			} else if !yield(n, v) {
				return
			}
		}
	}
}

// all returns the same with mistakes.
func (r *source) all(section string) iter.Seq2[*yaml.Node, yaml.View] {
	return func(yield func(*yaml.Node, yaml.View) bool) {
		list := r.Root.Get(section)
		if list == nil || (list.Kind == yaml.Mapping) != (r.language.Language().Object.Find(section).Kind == param.Map) {
			return
		}
		v := r.itemView(section, nil)
		for _, n := range list.All() {
			v.Chain[0] = n
			if !yield(n, v) {
				return
			}
		}
	}
}

// itemView returns the fields of an item of a list or map, and the defaults of its kind behind
// them.
func (r *source) itemView(section string, item *yaml.Node) yaml.View {
	kind := kinds[section]
	v := yaml.View{Of: r.language.Section(section), Chain: [2]*yaml.Node{item}}
	if kind != "" {
		v.Chain[1] = r.Root.Get("defaults").Get(kind)
	}
	return v
}

// itemOf returns an item of a list or map as the model has it.
func (r *source) itemOf(section string, n *yaml.Node, v yaml.View) scenario.Item {
	kind := kinds[section]
	behind, known := r.behind[kind]
	if !known && kind != "" {
		behind = given(v.Chain[1])
		r.behind[kind] = behind
	}
	return scenario.NewItem(v.Of, n.Path, given(n), behind)
}

// originOf returns the origin of an item of a list.
func (r *source) originOf(section string, n *yaml.Node, v yaml.View) origin {
	return origin{Node: n, View: v, item: r.itemOf(section, n, v)}
}

// each returns the resolved objects of a kind, each with the source of its values.
func each[T, O any](all []T, of []O) iter.Seq2[*T, O] {
	return func(yield func(*T, O) bool) {
		for i := range all {
			if !yield(&all[i], of[i]) {
				return
			}
		}
	}
}
