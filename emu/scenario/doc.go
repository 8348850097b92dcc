// Package scenario reads scenarios: YAML files that say which machines a fabric
// has, how they are joined, what traffic crosses them, and what is claimed of
// the outcome.
//
// [Load] turns the text of a file, with what --set changes in it, into a
// [Scenario] in which every default is filled in and every range expanded, or
// into [Errors]: all the mistakes that it finds, each with its place, an excerpt
// and what would be right. [Scenario.Resolved] prints a Scenario as a file that
// Load reads back to the same Scenario. [Language] tells the whole language, with
// defaults, units and bounds, from the table that Load itself follows. [New] and
// its like begin a Scenario that is built in Go.
//
// # The language
//
//	name: hpl2002/fig3b
//	source: HPL-2002-224, Fig. 3(b)
//	model: {duration: 100ms, seed: 1}
//	wall: {dilation: 200}
//	defaults:
//	  link: {rate: 1GB/s, buffer: 4 packets}
//	  switch: {marking: {scheme: input}}
//	  flow: {control: {law: lipd}}
//	switches: {A: {}, B: {}}
//	endpoints: ["A[1-10]", AV, "B[1-10]", BC, BV]
//	links:
//	  - "A[1-10] - A"
//	  - {name: trunk, between: A - B}
//	flows:
//	  - {name: local, from: "B[1-10]", to: BC, start: 0us + 100us}
//	expect:
//	  - {id: IB-5, metric: trunk.A-B.utilisation, during: [42ms, 60ms], low: 0.9, high: 1}
//
// Every quantity has a unit: 40ns, 2048B, 150KB (150 000 bytes), 4KiB (4096
// bytes), 1GB/s, 10Gb/s. Times are model times.
//
// A range in a name, A[1-10], stands for ten names, A1 to A10; A[01-10] keeps
// the width. In a link or a flow a range on one side fans out, and ranges of the
// same length on both sides go pairwise. A flow of a range becomes one flow for
// each member, local.B1 to local.B10, in the group local; with the start
// "0us + 100us" each starts 100 us after the one before it.
//
// A field that an item does not give comes from defaults.link, defaults.switch,
// defaults.endpoint or defaults.flow, and from the built-in default where those are silent too.
//
// # Overrides
//
// [ParseSet] reads PATH=VALUE, where PATH names a field as in the file:
// model.seed=2, defaults.link.buffer=8packets, and, in lists, by name:
// links.trunk.rate=2GB/s, flows.victim.stop=50ms, expect.IB-5.low=0.8. A link
// without a name is addressed by what it joins: "links.A - B.rate=2GB/s".
//
// With a model.duration from a set, what lies beyond the end of the run is left
// out: flows that start later, events, checks. In a file it is a mistake.
//
// # Warnings
//
// Settings that are right but probably not meant are in Scenario.Warnings, each with its
// place: values without effect (a threshold beside a scheme that has none), links
// that run below their rate since their buffers do not cover the round trip of a
// credit, and what a shorter run leaves out.
//
// # Buffers
//
// A buffer is given in packets of the largest size that crosses the link, or in
// bytes. Credits count it in blocks of 64 bytes of the packet on the wire: a
// payload of 2048 bytes is 2074 bytes with its headers and CRCs, 33 blocks. A
// receiver advertises at most 2048 blocks at a time (the counters are modulo
// 4096), so that a larger buffer is allowed but never has more than 128 KiB
// granted in advance.
//
// # Ethernet
//
// A link with flow-control: pause, pfc or none is one of Ethernet, and the switch at
// its end is output-queued. What may still come after a switch had to say PAUSE, the
// headroom, is computed for each link; the high watermark leaves so much above it,
// and one that leaves less is refused with the arithmetic. An endpoint on such a link
// has an adapter, with an ingress buffer, watermarks and a rate of service.
//
// # Routes
//
// Frames take the shortest path, counted in links, or with routing: ecmp any one of the
// shortest. A switch chooses by a hash of what names the flow (wire.Choose) with a seed of
// its own, as switches do: nothing of the way stands in the frame, and the choices of
// switches one behind the other are independent. Ways has the outcome for each flow before
// anything runs, so that buffers, headroom and notifications are checked for the links
// that frames really cross.
//
// With routing: {recompute: 1ms} all switches change at one instant to routes for the
// links as they were so long before. Until then frames for a link that is down wait, as
// they do without. From then on what still waits for it in a switch goes the new way,
// behind what waits there; it would otherwise hold the memory, and with it the senders,
// for as long as the link is away. Frames on a line stay where they are. Where no way is
// left the routes are those of a fabric without failures: frames wait for the link.
//
// # Limitations
//
// Of YAML, anchors, aliases, merge keys, tags and several documents in a file
// are refused: what is shared stands under defaults. A value of --set is one
// value, not a list. A range has one pair of brackets. Lists are matched by name
// only, so that events and routes cannot be set. All links of an output-queued switch
// have the same flow control.
package scenario
