// Package golden compares the output of a test with golden files, and with generated parts of
// documents. "go test ./the/package -update" writes them again.
//
// # Limitations
//
// A difference is shown line by line, in a binary file too.
package golden
