// Package param declares the content of a file: the parameters of a law, of a
// congestion point, the fields of a link or of a flow.
//
// They are the fields of a plain struct, which stands beside the code that uses them. The
// tags of a field are its whole declaration:
//
//	key       its name in a file; a field without a key is not a parameter
//	def       its default, as a file writes it; empty: there is none, or it is computed
//	computed  in words, how a default that follows from other values comes about
//	by        the default goes with the word that another field has: "preset=5us|8us" is the
//	          one for each of its words, in their order; computed follows from it
//	need      "given": it must be; "inherited": it must be, here or under the defaults
//	low, high its range, as a file writes it; "above 1" for a bound that is not in it
//	none      a word that stands for the zero value, or for the number in at
//	words     the words that are allowed, with "|" between: of a string type, or of an
//	          unsigned one, which then counts them; a type may have a method Words instead
//	means     other spellings of a word, as "cbr=constant", with "|" between
//	with      it counts only where another field has one of some values: "kind=a|b", or
//	          none of them: "kind!=a"; elsewhere it is zero
//	counts    as with, but it is kept elsewhere: only a warning reports that it has no effect
//	omit      "usual": it is not printed where it is the default or zero
//	own       "true": it belongs to one item, and has no place under the defaults
//	what      a description of its values, in place of the description of its kind
//	form      the name of a form: a way of writing of its own, see [Forms]
//	named     of a list: the key that names an item
//	short     the key that a single value stands for, in place of a mapping
//	parts     a mapping may stand here whose keys are fields beside it: "kind=limiter"
//	least     of a list: how many items there are at the least
//	doc       its meaning and its consequences, in sentences
//	source    where the default comes from
//	also      other names for it, with "|" between
//
// [Of] reads them. The language of scenarios, its schema, its reference, the text of a
// resolved scenario and the warning that a value has no effect follow from them.
//
// Values are of unit.Duration, unit.Rate, unit.Size, unit.Room, integer types, float64,
// bool, string types for words, and types that are [Formed]. A field may also be a struct, which is a mapping, or
// a slice or an array. A blank field is a key that sets nothing by itself.
//
// # Limitations
//
// A rule about several parameters (one must be below another, a default that
// depends on a third) is code: see [Completer] and [Explainer].
package param
