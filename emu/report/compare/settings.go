package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// setting is a key of resolved scenarios with its value in each, "-" where it is not there.
type setting struct {
	path   []string
	values []string
}

// differing returns the settings that are not the same in all of some resolved scenarios, in the
// order of the first one that has them. Where the items of a list or of a mapping, such as flows,
// differ in the same, they are one with "*" in place of the item.
func differing(resolved [][]byte) ([]setting, error) {
	var all []setting
	at := make(map[string]int)
	for i, text := range resolved {
		var doc yaml.Node
		if err := yaml.Load(text, &doc); err != nil {
			return nil, err
		}
		if doc.Content[0].Kind != yaml.MappingNode {
			return nil, errors.New("a resolved scenario is a mapping")
		}
		flatten(nil, doc.Content[0], func(path []string, value string) {
			k := strings.Join(path, "\x00")
			if _, ok := at[k]; !ok {
				at[k] = len(all)
				all = append(all, setting{slices.Clone(path), slices.Repeat([]string{"-"}, len(resolved))})
			}
			all[at[k]].values[i] = value
		})
	}
	var list []setting
	merged := make(map[string]int)
	for _, s := range all {
		if len(slices.Compact(slices.Clone(s.values))) == 1 || s.path[0] == "expect" || s.path[0] == "description" {
			continue
		}
		key := strings.Join(slices.Concat(s.path[:1], s.path[min(2, len(s.path)):], s.values), "\x00")
		if i, ok := merged[key]; ok {
			if len(s.path) > 2 {
				list[i].path[1] = "*"
			}
			continue
		}
		merged[key] = len(list)
		list = append(list, s)
	}
	return list, nil
}

// flatten calls leaf with each value of a tree that has no parts. An item of a list goes by its
// name, or its number.
func flatten(path []string, tree *yaml.Node, leaf func(path []string, value string)) {
	switch parts := tree.Content; tree.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(parts); i += 2 {
			flatten(append(path, parts[i].Value), parts[i+1], leaf)
		}
	case yaml.SequenceNode:
		for i, item := range parts {
			name := fmt.Sprint(i)
			for k := 0; item.Kind == yaml.MappingNode && k < len(item.Content); k += 2 {
				if item.Content[k].Value == "name" {
					name = item.Content[k+1].Value
				}
			}
			flatten(append(path, name), item, leaf)
		}
	default:
		leaf(path, tree.Value)
	}
}
