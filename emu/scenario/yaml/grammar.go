package yaml

import (
	"cmp"

	"fabemu/emu/base/spelling"
	"fabemu/wire/param"
)

// Grammar is what a tree is read against, and what it knows about wrong words.
type Grammar interface {
	// Language returns the language.
	Language() *param.Param
	// Choice returns the key by which objects with these parameters choose a scheme, empty if they
	// do not, and the parameters of the scheme that n has chosen in a tree; nil if that is unknown.
	Choice(of *param.Struct, n, root *Node) (by string, own *param.Struct)
	// Elsewhere returns a field and its word, "size: web-search", that a wrong word of another
	// field next to it probably means; empty if there is none.
	Elsewhere(of *param.Struct, p *param.Param, word string) string
}

// Begin has a tree read against a grammar: it reports a tree that is not a mapping, and gives the
// keys of earlier versions their present names.
func (r *File) Begin(root *Node, g Grammar) (ok bool) {
	r.grammar, r.Root = g, root
	if ok = root.want(r, Mapping, g.Language()); ok {
		r.rename(root, g.Language())
	}
	return ok
}

// keys lists the keys of an object, the nearest to a misspelt one first.
func keys(of *param.Struct, word string) string {
	return spelling.Several(spelling.ByNearness(word, of.Keys()))
}

// unknown explains that an object has no such key: the key nearest to it, and a list of keys. An
// object that chooses a scheme has those of its own scheme, as far as that is known.
func (r *File) unknown(n *Node, of *param.Struct, word string) (near, list string) {
	by, own := r.grammar.Choice(of, n, r.Root)
	if own == nil {
		return suggest(of, word), keys(of, word)
	}
	all := append([]string{by}, own.Keys()...)
	return cmp.Or(suggest(own, word), spelling.Nearest(word, all)), spelling.Several(spelling.ByNearness(word, all))
}

// suggest returns the key of an object nearest to a misspelt one, or nothing.
func suggest(of *param.Struct, word string) (key string) {
	for i := range of.Params {
		for _, w := range of.Params[i].Also {
			if spelling.Same(w, word) {
				return of.Params[i].Key
			}
		}
	}
	if near := spelling.Nearest(word, of.Keys()); near != "" {
		return near
	}
	for i := range of.Params { // other words for it, misspelt
		if near := spelling.Nearest(word, of.Params[i].Also); near != "" && len(word) > 2 && max(len(near), len(word))-min(len(near), len(word)) < 2 {
			return of.Params[i].Key
		}
	}
	return ""
}
