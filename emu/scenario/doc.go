// Package scenario reads scenarios: YAML files with the nodes of a fabric, the links between
// them, the traffic that crosses them, and the claims about the outcome. docs/guide/scenarios.md
// and docs/reference describe the language; [Language] returns all of it, with defaults, units and
// bounds, from the tags that Load follows.
//
// [Load] turns the text of a file, and the changes of --set ([ParseSet]), into a [Scenario] in
// which every default is filled in and every range expanded, or into [Errors]: mistakes, each with
// its place, an excerpt and a remedy. Values that are right but probably not intended are in
// Scenario.Warnings, if Load is given a linter ([Lint]; package lint). [Scenario.Resolved] prints a
// Scenario as a file that Load reads back to the same Scenario. [New] and its like begin a Scenario
// that is built in Go.
//
// # Stages
//
// Load works in stages. Each relies on the ones before it, and reports all mistakes that it finds;
// Load then stops:
//
//   - syntax: YAML, and the parts of YAML that scenarios use (parse.go)
//   - values and names: each key and value by itself (read.go, schemes.go), and names that are used
//     twice or do not exist (names.go)
//   - links: links, routes and rates (links.go)
//   - nodes: the number and the kind of their links, and guests (nodes.go, ethernet.go, guests.go)
//   - traffic: flows, workloads, events, programs and checks (flows.go, workload.go, events.go,
//     programs.go, expect.go)
//   - paths: the frames that cross each link (crossing.go)
//   - fit: buffers, headroom, retry, credits and congestion control (fit.go, headroom.go, retry.go,
//     cbfc.go, control.go)
//   - metrics: what is measured (expect.go)
//
// A linter follows, which reads the scenario and its fabric as a [Site].
//
// # Buffers
//
// A buffer is given in packets of the largest size that crosses the link, or in bytes. Credits
// count it in blocks of 64 bytes of the packet on the wire: a payload of 2048 bytes is 2074 bytes
// with its headers and CRCs, 33 blocks. A receiver advertises at most 2048 blocks at a time (the
// counters are modulo 4096), so that a larger buffer never has more than 128 KiB granted in
// advance.
//
// # Ethernet
//
// A link with flow-control: pause, pfc or none is a link of Ethernet, and the switch at its end is
// output-queued. The headroom of a link has room for the frames that still arrive after a PAUSE was
// due. Load refuses a high watermark that leaves less room, with the arithmetic.
//
// # Routes
//
// Frames take the shortest path, counted in links, or with routing: ecmp any one of the shortest. A
// switch then chooses by a hash of the flow's addresses and queue pair (wire.Choose), with a seed
// of its own, so that the choices of switches in a row are independent. [PathTable] has the path of
// each flow before the run. Transfers of workloads and frames of guests choose during the run. So
// Load checks buffers, headroom and notifications for all links that frames may cross, with any
// choice among equal paths.
//
// With routing: {recompute: 1ms} all switches change at one instant to routes for the links as they
// were 1 ms before. Until then frames for a link that is down wait. Then they take the new path,
// behind the frames that wait there. Otherwise they would hold the memory, and stop the senders,
// as long as the link is down. Frames on a link stay there. If no path is left, frames wait for the
// link.
//
// # Limitations
//
// Load refuses anchors, aliases, merge keys, tags and several documents in a file: common
// values are under defaults. A value of --set is one value, not a list. A range has one pair of
// brackets. A --set finds items of lists by name only, so that it reaches no events and no routes.
// All links of an output-queued switch have the same flow control.
package scenario
