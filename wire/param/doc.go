// Package param declares the parameters of a scheme: those of a law, of a congestion
// point, of whatever is chosen by name in a scenario.
//
// Parameters are the fields of a plain struct, which stands beside the code that uses
// them. The tags of a field are all that is said about it anywhere:
//
//	key       what a scenario calls it; a field without a key is not a parameter
//	def       its default, as a scenario writes it; empty: there is none, or it is computed
//	computed  in words, how a default that follows from other values comes about
//	low, high its range, as a scenario writes it; "above 1" for a bound that is not in it
//	none      a word that stands for the zero value
//	words     of a field of a string type: the words that are allowed, with "|" between
//	doc       its meaning and what follows from it, in sentences
//	source    where the default comes from
//	also      what others call it, with "|" between
//
// [Of] reads them. The language of scenarios, its schema, its reference, what is printed
// of a resolved scenario and the warning that a value has no effect follow from them.
//
// A parameter struct is a comparable value: fields of unit.Duration, unit.Rate,
// unit.Size, unit.Room, of integer types, float64, bool, and string types for words.
//
// # Limitations
//
// Parameters do not nest, and there are no lists of them. What concerns several of them
// at once (one must be below another, a default that depends on a third) is code of the
// scheme: see [Completer] and [Explainer].
package param
