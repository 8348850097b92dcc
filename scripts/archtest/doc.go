// Package archtest holds the tests about the tree: who may import whom, which
// packages are banned where and why, that nothing is mutable at package level,
// that nothing is compared with the words of scenarios as texts, that packages and
// exported names are described, that files are formatted.
//
// They need only Go, so a clone has them, and "go test ./..." runs them. Their
// rules are where a person can read them: the layers in layers_test.go, the
// bans in bans_test.go. To add a package, give it a layer in layers_test.go.
//
// The tests read the sources and resolve names within one package at a time;
// nothing is compiled and no other package is loaded, so they are quick.
package archtest
