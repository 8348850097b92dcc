// Package archtest tests the tree: which packages may import which, which calls are
// banned where and why, that no package has mutable state, that texts are not compared
// with the words of scenarios, that packages have comments, which fit a page, and that
// files are formatted and tests are in a pass of scripts/test.sh, and that calls between the
// files of some packages go in one direction.
//
// The tests need only Go, and "go test ./..." runs them. Their rules are tables: the
// layers in layers_test.go, the bans in bans_test.go. To add a package, give it a layer
// in layers_test.go.
//
// The tests read the sources and resolve names within one package at a time. They are
// quick because, but for rooms_test.go, they compile nothing and load no other package.
package archtest
