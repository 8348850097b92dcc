// Package place has the places of values in a file and in changes by --set, and mistakes with
// their places.
//
// # Limitations
//
// A [Set] has one value.
package place
