package yaml

import (
	"fabemu/emu/base/spelling"
	"fabemu/wire/param"
)

// Grammar is what a tree is read against, and what it knows about wrong words.
type Grammar interface {
	// Language returns the language.
	Language() *param.Param
	// Own returns the parameters that n, an object with parameters of in a tree, can have after
	// what it has chosen: those of its scheme, or of what it does. Nil: all of them, or it is
	// unknown.
	Own(of *param.Struct, n, root *Node) *param.Struct
	// Elsewhere returns a field and its word, "size: web-search", that a wrong word of another
	// field next to it probably means; empty if there is none.
	Elsewhere(of *param.Struct, p *param.Param, word string) string
}

// keys lists the keys of an object, the nearest to a misspelt one first.
func keys(of *param.Struct, word string) string {
	return spelling.Several(spelling.ByNearness(word, of.Keys()))
}

// unknown explains that an object has no such key: the key nearest to it, and a list of keys. An
// object that has chosen something has the keys of that, as far as it is known.
func (r *File) unknown(n *Node, of *param.Struct, word string) (near, list string) {
	if own := r.grammar.Own(of, n, r.Root); own != nil {
		of = own
	}
	return suggest(of, word), keys(of, word)
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
