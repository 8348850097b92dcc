// Package goldentest compares what a test makes with what is kept of it in files: golden
// files, and parts of documents that are made. "go test ./the/package -update" writes them
// anew.
//
// # Limitations
//
// A difference is shown line by line, that of a binary file too.
package goldentest
