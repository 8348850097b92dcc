package resolve

import (
	"cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
)

// grammar is the language as a tree is read against it.
type grammar struct{ scenario.Tables }

// Own implements yaml.Grammar.
func (g grammar) Own(of *param.Struct, n, root *yaml.Node) *param.Struct {
	return g.Tables.Own(of, func(key string) bool { return n.Get(key) != nil }, func(from *scenario.Table) string {
		usual := root
		for _, key := range from.Usual {
			usual = usual.Get(key)
		}
		if by := cmp.Or(n.Get(from.By), usual.Get(from.By)); by != nil && by.Kind == yaml.Scalar {
			return by.Text
		}
		return ""
	})
}
