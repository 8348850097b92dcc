package resolve

import (
	"strings"

	"fabemu/emu/scenario/yaml"
)

// A mistake has consequences: what relies on the value would find others that are none. So each
// part of the reading asks first whether what it relies on is right, and is left out otherwise.

// kinds are the keys of defaults, by the sections whose items have them.
var kinds = map[string]string{"switches": "switch", "endpoints": "endpoint", "links": "link", "flows": "flow", "workload": "flow"}

// The sections on which parts of the reading rely.
const (
	fabricSections  = "switches endpoints links"
	trafficSections = fabricSections + " flows workload"
	eventSections   = "events faults"
)

// sound reports whether no mistake was found in sections, with the defaults of their items.
func (r *source) sound(sections string) bool {
	if len(r.Mistakes) == 0 {
		return true
	}
	for section := range strings.FieldsSeq(sections) {
		if kind := kinds[section]; !r.right(section) || kind != "" && !r.right("defaults."+kind) {
			return false
		}
	}
	return true
}

// right reports whether no mistake was found in the value at a path. A value that is not there is
// right unless an object on the way to it has a mistake: an unknown key may have meant it.
func (r *source) right(path string) bool {
	if len(r.Mistakes) == 0 {
		return true
	}
	n := r.Root
	for key := range strings.SplitSeq(path, ".") {
		next := n.Get(key)
		if next == nil {
			return !r.Lacks(n.Path, key)
		}
		n = next
	}
	return !r.WrongIn(n.Path)
}

// rightItem reports whether no mistake was found in an item of a section, or in its defaults.
func (r *source) rightItem(section string, n *yaml.Node) bool {
	if len(r.Mistakes) == 0 {
		return true
	}
	kind := kinds[section]
	return !r.WrongIn(n.Path) && (kind == "" || r.right("defaults."+kind))
}

// whole reports whether a section has all items that it was meant to have, right or not.
func (r *source) whole(section string) bool {
	n := r.Root.Get(section)
	return r.right(section) || n != nil && !r.WrongAt(n.Path)
}

// timed reports whether the duration of the run is known.
func (r *source) timed() bool { return r.right("model.duration") }
