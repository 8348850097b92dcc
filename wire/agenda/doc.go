// Package agenda keeps the instants at which things fall due, and tells which is
// the first.
//
// An Agenda has a fixed number of slots; each holds one instant, or Never.
// Nothing is added or cancelled, only overwritten. Of several slots due at the
// same instant the lowest comes first: numbering the slots is how its user
// decides ties, and so how the total order of events is made (package
// emu/drive) and the order of work inside a switch (package switchd).
//
// It is a tournament tree: the root holds the earliest instant, each node the
// earlier of its two children's. First goes down it and Set goes up, one step
// per doubling of the slots, without a branch that the processor could guess
// wrong but the last. Nothing allocates.
//
// # Limitations
//
// The number of slots is fixed when an Agenda is made. A slot holds one instant:
// what falls due twice needs two slots, or is set again when it has come.
package agenda
