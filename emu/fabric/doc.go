// Package fabric lays out a scenario as a fabric: nodes with numbers and
// addresses, ports, wires between them, routes, and the path of each flow.
//
// Build turns a scenario.Scenario into a Fabric. Packages that run, measure or draw
// a fabric start from it: it also has the names of links (LinkName)
// and the sizes of frames (Largest, Longest). All of it is in slices in a fixed
// order: the index of a node is its place in the total order of events, ports
// are numbered in the order of the links, LIDs are indices plus one, and queue
// pair numbers are indices of flows plus two.
//
// Routes are shortest paths (package paths breaks ties), or all that are
// equally short, for links in each state in which the scenario has routes for them. The
// only thing drawn at random is the start of each flow within its jitter, from a stream of
// the seed that is the flow's own.
//
// # Limitations
//
// A subnet has 49 151 addresses. No switch has a route to another switch: no frame goes
// to one.
package fabric
