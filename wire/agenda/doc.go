// Package agenda keeps the instants at which things fall due, and finds which is
// the first.
//
// An Agenda has a fixed number of slots; each holds one instant, or Never.
// Nothing is added or cancelled, only overwritten. Of several slots due at the
// same instant the lowest comes first: numbering the slots is how its user
// decides ties, and so how the total order of events is made (package
// emu/run/drive) and the order of work inside a switch (package switchd).
//
// It is a tournament tree: the root holds the earliest instant and its slot, each node
// the earliest of its eight children's, which share a cache line; the root has four. Set goes
// up towards the root, a cache line per level, until nothing changes. The number of lines
// matters, because the agenda of a large fabric does not fit into the near caches. Nothing
// allocates.
//
// Several users share an agenda, each with a Slots of its slots, so the agenda of the driver has
// all that is due in a fabric. A thing that is due at once has the instant Now.
//
// # Limitations
//
// The number of slots is fixed when an Agenda is made. A slot holds one instant:
// a thing that falls due twice needs two slots, or is set again when it has come. Instants that
// are very far away are not distinguished (Agenda.Last).
package agenda
