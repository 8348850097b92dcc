package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
)

// given returns a part of the tree as the model has it; nil if there is none.
func given(n *yaml.Node) *scenario.Given {
	if n == nil {
		return nil
	}
	g := givenAs("", n)
	return &g
}

func givenAs(key string, n *yaml.Node) scenario.Given {
	g := scenario.Given{Key: key, Path: n.Path, BySet: n.At.Set != nil, List: n.Kind == yaml.List, Value: n.Value}
	if len(n.Entries) > 0 {
		g.Fields = make([]scenario.Given, len(n.Entries))
		for i, e := range n.Entries {
			g.Fields[i] = givenAs(e.Key, e.Value)
		}
	}
	return g
}

// headsOf returns the sections of a scenario that are no lists.
func headsOf(root *yaml.Node, t scenario.Tables) scenario.Item {
	top := scenario.Given{}
	for _, e := range root.Entries {
		if p := t.Language().Object.Find(e.Key); p != nil && p.Kind == param.Object {
			top.Fields = append(top.Fields, givenAs(e.Key, e.Value))
		}
	}
	return scenario.NewItem(t.Language().Object, root.Path, &top, nil)
}

// origin has the source of the values of a link, a flow or a workload.
type origin struct {
	*yaml.Node // the item of the list
	View       yaml.View
	Index      int // in the links or flows of the scenario
	item       scenario.Item
}
