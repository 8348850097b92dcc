// Package scenario reads scenarios: YAML files with the machines of a fabric, the links between
// them, the traffic that crosses them, and the claims about the outcome. docs/guide/scenarios.md
// describes the language; [Language] returns all of it, with defaults, units and bounds, from the
// tags that Load itself follows.
//
// [Load] turns the text of a file, and the changes of --set ([ParseSet]), into a [Scenario] in
// which every default is filled in and every range expanded, or into [Errors]: all mistakes that it
// finds, each with its place, an excerpt and a remedy. Values that are right but probably not meant
// are in Scenario.Warnings. [Scenario.Resolved] prints a Scenario as a file that Load reads back to
// the same Scenario. [New] and its like begin a Scenario that is built in Go.
//
// # Buffers
//
// A buffer is given in packets of the largest size that crosses the link, or in bytes. Credits
// count it in blocks of 64 bytes of the packet on the wire: a payload of 2048 bytes is 2074 bytes
// with its headers and CRCs, 33 blocks. A receiver advertises at most 2048 blocks at a time (the
// counters are modulo 4096), so that a larger buffer never has more than 128 KiB granted in advance.
//
// # Ethernet
//
// A link with flow-control: pause, pfc or none is one of Ethernet, and the switch at its end is
// output-queued. The headroom of a link has room for the frames that still arrive after a PAUSE was
// due. A high watermark that leaves less room than that is refused, with the arithmetic.
//
// # Routes
//
// Frames take the shortest path, counted in links, or with routing: ecmp any one of the shortest. A
// switch then chooses by a hash of the flow's addresses and queue pair (wire.Choose), with a seed of
// its own, so that the choices of switches one behind the other are independent. [Ways] has the path
// of each flow before anything runs, so that buffers, headroom and notifications are checked for the
// links that frames really cross.
//
// With routing: {recompute: 1ms} all switches change at one instant to routes for the links as they
// were 1 ms before. Until then frames for a link that is down wait. From then on the frames that
// still wait for it go the new way, behind the frames that wait there: otherwise they would hold the
// memory, and with it the senders, for as long as the link is down. Frames on a line stay there.
// Where no way is left, frames wait for the link.
//
// # Limitations
//
// Of YAML, anchors, aliases, merge keys, tags and several documents in a file are refused: shared
// values stand under defaults. A value of --set is one value, not a list. A range has one pair of
// brackets. Lists are matched by name only, so that --set reaches no events and no routes. All links
// of an output-queued switch have the same flow control.
package scenario
