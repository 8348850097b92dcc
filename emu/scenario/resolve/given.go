package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
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

// node is a switch or an endpoint of the file.
type node struct {
	*scenario.NodeRef
	place.Spot
	LinkAt []place.Place // of each of its links
	View   yaml.View     // its fields
}

// kind returns the kind of a node with its article.
func (m *node) kind() string {
	if m.IsSwitch {
		return "a switch"
	}
	return "an endpoint"
}

// origin has the source of the values of a link, a flow or a workload.
type origin struct {
	*yaml.Node // the item of the list
	View       yaml.View
	Index      int // in the links or flows of the scenario; of a workload the first flow that stands for it
	item       scenario.Item
}

// origin returns the origin as the model has it.
func (o *origin) origin() scenario.Origin { return scenario.Origin{Item: o.item, Index: o.Index} }
