// Package yaml reads files and the changes of --set: their syntax, by itself.
//
// A [File] is a text with the mistakes that are found in it. Parse makes a tree of it, whose nodes
// have places (place.Spot): in the file, or in a place.Set. Begin and Read hold the tree against a
// [Grammar], a language of package param; Apply puts the value of a Set into it. Then [View] has
// the values of an object, its defaults behind them, and [Build] makes a struct of them. Add and
// Warn report mistakes and warnings at a place; Locate finds the places of paths.
//
// # Limitations
//
// A file has one document, without anchors, aliases, merge keys and tags, of at most 16 MiB and a
// depth of 100. A place.Set finds items of lists by name only.
package yaml
