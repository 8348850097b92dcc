package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Input is a value of resolved scenarios that is not the same in all.
type Input struct {
	// Path leads to it, as in --set. Items of a list or of a mapping, such as flows, that differ
	// in the same are one input: "*" stands for all of them, and "f and 3 more" for some.
	Path string `json:"path"`
	// Values are the value in each scenario. "-" is used where there is none, and "there" for a
	// whole item that another scenario lacks.
	Values []string `json:"values"`
}

// there is the value of an item that another scenario lacks.
const there = "there"

// resolved is a scenario as its run has written it.
type resolved struct {
	leaves map[string]string // the values by their paths
	items  map[string]bool   // the paths of items
	order  [][]string        // the paths as they are there
}

// readResolved reads a resolved scenario.
func readResolved(text []byte) (r resolved, err error) {
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil {
		return r, err
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return r, errors.New("a resolved scenario is a mapping")
	}
	r = resolved{leaves: make(map[string]string), items: make(map[string]bool)}
	r.read(nil, doc.Content[0])
	return r, nil
}

// differing returns the inputs that are not the same in all of some resolved scenarios, in the
// order of the first one that has them. The expectations of a run are no inputs.
func differing(all ...resolved) []Input {
	var list []setting
	at := make(map[string]int)
	seen := make(map[string]bool)
	members := make(map[string]int) // of each section
	for i := range all {
		for _, path := range all[i].order {
			if len(path) == 2 && !seen[joined(path)+"\x00"] {
				seen[joined(path)+"\x00"] = true
				members[path[0]]++
			}
			s := of(all, path)
			if seen[joined(s.path)] || len(slices.Compact(slices.Clone(s.values))) == 1 {
				continue
			}
			seen[joined(s.path)] = true
			key := joined(slices.Concat(s.path[:1], s.path[min(2, len(s.path)):], s.values))
			if k, ok := at[key]; ok && len(s.path) > 1 && s.ofItem {
				list[k].items++
				continue
			}
			at[key] = len(list)
			list = append(list, s)
		}
	}
	inputs := make([]Input, len(list))
	for i, s := range list {
		switch {
		case s.items > 1 && s.items == members[s.path[0]]:
			s.path[1] = "*"
		case s.items > 1:
			s.path[1] += fmt.Sprintf(" and %d more", s.items-1)
		}
		inputs[i] = Input{strings.Join(s.path, "."), s.values}
	}
	return inputs
}

// equal returns how many values some resolved scenarios share.
func equal(all ...resolved) (n int) {
	for path, value := range all[0].leaves {
		if !slices.ContainsFunc(all[1:], func(r resolved) bool { v, ok := r.leaves[path]; return !ok || v != value }) {
			n++
		}
	}
	return n
}

// setting is an input that may yet be found in more items.
type setting struct {
	path   []string
	values []string
	ofItem bool
	items  int
}

// of returns the values of scenarios at a path. Where one of them lacks the item around the value,
// it returns only which of them have the item.
func of(all []resolved, path []string) setting {
	s := setting{path: slices.Clone(path), values: make([]string, len(all)), items: 1}
	if len(path) > 1 {
		item := joined(path[:2])
		has := func(r resolved) bool { return r.items[item] }
		s.ofItem = slices.ContainsFunc(all, has)
		if lacks := func(r resolved) bool { return !has(r) }; s.ofItem && slices.ContainsFunc(all, lacks) {
			s.path = s.path[:2]
			for i, r := range all {
				s.values[i] = "-"
				if has(r) {
					s.values[i] = there
				}
			}
			return s
		}
	}
	for i, r := range all {
		s.values[i] = "-"
		if v, ok := r.leaves[joined(path)]; ok {
			s.values[i] = v
		}
	}
	return s
}

// joined is a path as a key.
func joined(path []string) string { return strings.Join(path, "\x00") }

// read takes in a tree. An item of a list goes by its name, by the ends of its link, by itself if
// it is a word, else by its number.
func (r *resolved) read(path []string, tree *yaml.Node) {
	if len(path) == 1 && (path[0] == "expect" || path[0] == "description") {
		return
	}
	switch parts := tree.Content; tree.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(parts); i += 2 {
			r.item(append(path, parts[i].Value), parts[i+1], parts[i+1].Kind == yaml.MappingNode)
		}
	case yaml.SequenceNode:
		for i, item := range parts {
			name := fmt.Sprint(i)
			if item.Kind == yaml.ScalarNode && len(path) == 1 {
				name = item.Value
			}
			for k := 0; item.Kind == yaml.MappingNode && k < len(item.Content); k += 2 {
				if key := item.Content[k].Value; key == "name" || key == "between" {
					name = item.Content[k+1].Value
					break
				}
			}
			r.item(append(path, name), item, true)
		}
	default:
		r.leaves[joined(path)] = tree.Value
		r.order = append(r.order, slices.Clone(path))
	}
}

// item takes in a part of a tree, and notes it where it is an item of a section.
func (r *resolved) item(path []string, tree *yaml.Node, item bool) {
	if item && len(path) == 2 {
		r.items[joined(path)] = true
		r.order = append(r.order, slices.Clone(path))
	}
	r.read(path, tree)
}
