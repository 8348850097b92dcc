// Package rules refuses scenarios whose values are right one by one, but do not fit together:
// buffers without room for a packet, timers that expire too soon, schemes without what they look
// at. [Check] returns the problems, each with the path of a value; package resolve adds the places.
//
// A rule is a function of a scenario.Site: of the model, the fabric that follows from it, and where
// its values are given. It has a file of its own and a row in the table of Check, with what it
// relies on. It changes nothing. A scenario that a program builds is checked by the same rules,
// since it is printed and read before it runs.
//
// # Limitations
//
// Three kinds of rules are elsewhere. Values of one object are checked where the object is read
// (package resolve). An act checks its own events (package scenario). Watermarks, headroom and the
// memory for the credits of channels are checked where they are computed (package scenario).
package rules
