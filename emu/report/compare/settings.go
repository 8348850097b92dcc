package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
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
		var tree yaml.MapSlice
		if err := yaml.UnmarshalWithOptions(text, &tree, yaml.UseOrderedMap()); err != nil {
			return nil, err
		}
		flatten(nil, tree, func(path []string, value string) {
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
func flatten(path []string, tree any, leaf func(path []string, value string)) {
	switch t := tree.(type) {
	case yaml.MapSlice:
		for _, item := range t {
			flatten(append(path, fmt.Sprint(item.Key)), item.Value, leaf)
		}
	case []any:
		for i, item := range t {
			name := fmt.Sprint(i)
			if m, ok := item.(yaml.MapSlice); ok {
				for _, field := range m {
					if field.Key == "name" {
						name = fmt.Sprint(field.Value)
					}
				}
			}
			flatten(append(path, name), item, leaf)
		}
	default:
		leaf(path, fmt.Sprint(tree))
	}
}
