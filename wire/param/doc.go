// Package param declares the parameters of a file: of an algorithm, of a congestion point, of a
// link, of a flow.
//
// A parameter is a field of a plain struct, which is next to the code that uses it. The
// tags of the field, and the comment above it, are its only declaration:
//
//	key       its name in a file; a field without a key is not a parameter
//	def       its default, as a file writes it; empty: there is none, or it is computed
//	computed  in words, how a default follows from other values
//	by        the default depends on the word of another field: "preset=5us|8us" has one
//	          default for each of its words, in their order; computed follows from it
//	need      "given": it is required; "inherited": it is required, here or under the defaults
//	low, high its range, as a file writes it; "above 1" excludes the bound
//	none      a word for the zero value, or for the number in at
//	words     the allowed words, with "|" between: of a string type, or of an
//	          unsigned one, which then counts them; a type may have a method Words instead
//	means     words of other programs for a word, as "cbr=constant", with "|" between
//	with      it counts only if another field has one of some values: "kind=a|b", or
//	          none of them: "kind!=a"; otherwise it is zero
//	counts    like with, but it keeps its value otherwise, and a warning reports it
//	omit      "usual": it is not printed if it is the default or zero
//	own       "true": it belongs to one item, and has no place under the defaults
//	values    a description of them, in place of the description of its kind
//	form      the name of its own form, see [Forms]
//	named     of a list: the key that names an item
//	short     the key that a single value stands for, in place of a mapping
//	parts     the value may be a mapping whose keys are fields next to it: "kind=limiter"
//	least     of a list: the least number of items
//	doc       its meaning and consequences, in sentences
//	source    the source of the default
//	also      names of other programs for it, with "|" between
//	old       its key in earlier versions, which is still read
//
// The words of a parameter may name sets of values, each from one source:
//
//	from      of the parameter that names them: their sources, one for each word. Of another:
//	          "preset=|the talk", where the value is not from the source of the set
//	rates     "40Gb/s|25Gb/s-400Gb/s": the link rates that they were made for; empty: unknown
//	trips     "13us|": the same for the round trip
//	rule      "preset=|rtt / 2": how a set computes the value for another fabric, see [Rule]
//	guess     "a|b value": the sets where the value has no source; b has a rule, which has one
//	grows     "rate" or "rtt", with which the right value grows; "rate/per" unless per has a value
//	search    where a search may look instead of between the values of the sets, a range of our
//	          own: "0.9..0.98", or "4" from a quarter to four times the value; "no": nowhere
//
// A long doc is the comment above the field, and a source in addition to it the last lines there,
// behind "Source: ". They are copied into docs.txt, because a program cannot read its own comments:
//
//	go test ./wire/param -update
//
// Types of other modules have both in tags.
//
// [Of] reads them. The language of scenarios, its schema, its reference, the printed form
// of a resolved scenario and the warning that a value has no effect follow from them.
//
// Values are of unit.Duration, unit.Rate, unit.Size, unit.Room, integer types, float64,
// bool, string types for words, and types that are [Formed]. A field may also be a struct,
// which is a mapping, or a slice or an array. A blank field is a key that sets no field.
//
// # Limitations
//
// Rules for several parameters at once (one must be below another, a default depends on a
// third) are code: see [Completer] and [Explainer].
package param
