// Package resolve reads scenarios: it makes a scenario.Scenario of the text of a file.
//
// [Load] turns the text, and the changes of --set (scenario.ParseSet), into a Scenario in which
// every default is filled in and every range expanded, or into scenario.Errors: mistakes, each with
// its place, an excerpt and a remedy. Values that are right but probably not intended are in
// Scenario.Warnings, if Load is given a linter ([Lint]; package lint). [Text] prints a Scenario as
// a file that Load reads back to the same Scenario. [Happen] adds an event to a Scenario that runs.
//
// # Stages
//
// Load works in stages (stages.go), and reads the whole file once. A stage is a function of the
// file, and of what stages before it have made. It leaves out what relies on a mistake (sound.go):
// a problem that only follows from another one is none. So a flow with a wrong value is not checked
// further, the paths are found only in a fabric whose nodes and links are right, and nothing is
// said about the end of the run if its duration cannot be read. The stages are:
//
//   - syntax, values and names of keys (package yaml), and choices (schemes.go): a source
//   - names that are used twice or do not exist (names.go): names
//   - the head: model, wall, routing, the measuring window (head.go), and the span of the run
//   - links: nodes, links, routes, lanes and rates (links.go, nodes.go, lanes.go, ethernet.go,
//     addresses.go): a fabric
//   - traffic: flows, workloads, events, programs and checks (flows.go, workload.go, events.go,
//     programs.go, expect.go), and guests (guests.go): a scenario.Site
//   - paths: the frames that cross each link (crossing.go)
//   - fit: what follows from the fabric as a whole, and what does not fit (fit.go; package rules)
//   - metrics: what is measured (metrics.go)
//
// A linter follows, which reads the scenario and its fabric as a scenario.Site.
//
// # Limitations
//
// Load refuses anchors, aliases, merge keys, tags and several documents in a file: common
// values are under defaults. A value of --set is one value, not a list. A range has one pair of
// brackets. A --set finds items of lists by name only, so that it reaches no events and no routes.
package resolve
