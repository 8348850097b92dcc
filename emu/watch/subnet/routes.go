package subnet

import (
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
)

// longestClient is the longest name of a node that libumad2sim passes on; it cuts longer ones.
const longestClient = 31

// ClientName returns the name by which programs reach a node (SIM_HOST). A long name has a hash in
// place of its end.
func ClientName(node string) string {
	if len(node) <= longestClient {
		return node
	}
	h := fnv.New64a()
	h.Write([]byte(node))
	return fmt.Sprintf("%s#%016x", node[:longestClient-17], h.Sum64())
}

// Node returns the node of a name, of a ClientName, or of the only name that begins like one that
// libumad2sim has cut. Without a name it is the first endpoint.
func (s *Subnet) Node(name string) (int, bool) {
	if name == "" {
		i := slices.IndexFunc(s.nodes, func(n node) bool { return !n.isSwitch })
		return i, i >= 0
	}
	if i, known := s.fabric.Paths.Index[name]; known || len(name) < longestClient {
		return i, known
	}
	found := -1
	for i := range s.nodes {
		switch own := s.nodes[i].Name; {
		case ClientName(own) == name:
			return i, true
		case !strings.HasPrefix(own, name):
		case found >= 0:
			return 0, false
		default:
			found = i
		}
	}
	return found, found >= 0
}

// Missing returns what the fabric still lacks for its flows to start: an active link, or a route.
// It is empty if nothing is missing.
func (s *Subnet) Missing() string {
	for w := range s.fabric.Wires {
		for _, end := range s.ends(w) {
			if p := s.at(end); !s.down[w] && !s.Cut(w) && p.state() != stateActive {
				return fmt.Sprintf("port %d of %s is %s", end.port, s.nodes[end.node].Name, [...]string{"?", "Down", "Initialize", "Armed"}[p.state()])
			}
		}
	}
	if why, _ := s.duplicates(); len(why) > 0 {
		return why[0]
	}
	for i, dst := range s.pairs() {
		lid := s.own(dst).lid()
		if at, ok := s.lead(place{i, 0}, lid, nil); !ok || at.node != dst {
			return fmt.Sprintf("the forwarding tables do not lead from %s to %s (LID %d)", s.nodes[i].Name, s.nodes[dst].Name, lid)
		}
	}
	return ""
}

// pairs yields all pairs of a switch and an endpoint.
func (s *Subnet) pairs() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := range s.nodes {
			for dst := range s.nodes {
				if s.nodes[i].isSwitch && !s.nodes[dst].isSwitch && !yield(i, dst) {
					return
				}
			}
		}
	}
}

// lids returns the first LID of a node, and the one behind its last.
func (s *Subnet) lids(node int) (from, to uint32) {
	own := s.own(node)
	return uint32(own.lid()), uint32(own.lid()) + 1<<(own.info[34]&7)
}

// duplicates returns the nodes with the LID of another node, and descriptions.
func (s *Subnet) duplicates() (all []string, nodes map[int]bool) {
	of := map[uint32]int{}
	nodes = map[int]bool{}
	for i := range s.nodes {
		for lid, to := s.lids(i); lid < to; lid++ {
			if other, has := of[lid]; has && lid > 0 {
				all = append(all, fmt.Sprintf("%s and %s have the same LID %d", s.nodes[other].Name, s.nodes[i].Name, lid))
				nodes[other], nodes[i] = true, true
			}
			of[lid] = i
		}
	}
	return all, nodes
}

// Scenario returns the scenario of the fabric with the forwarding tables as its routes, the lanes
// and the service levels of paths, and with the links disabled that a manager has disabled.
func (s *Subnet) Scenario() *scenario.Scenario {
	now := *s.fabric.Scenario
	now.Routes, now.Routing.Paths, now.Managed = nil, scenario.Shortest, true
	usual := scenario.PathTableOf(&now)
	var steps []paths.Step
	s.routes = map[[2]int]int{}
	for i, dst := range s.pairs() {
		if steps = usual.Steps(steps[:0], 0, i, dst); len(steps) == 1 {
			s.routes[[2]int{i, dst}] = steps[0].Link
		}
	}
	now.Routes = s.Rerouted()
	now.LaneRules = slices.Concat(now.LaneRules, s.Relaned())
	now.Flows = slices.Clone(now.Flows)
	s.setLevels(now.Flows)
	for w := range s.fabric.Wires {
		if s.cut[w] = s.Cut(w); s.cut[w] {
			now.Events = append(slices.Clone(now.Events), scenario.Event{Link: s.fabric.Wires[w].Link.Name, Act: scenario.StateChange{State: scenario.Down}})
		}
	}
	s.flows = now.Flows
	now.Events = append(slices.Clone(now.Events), s.Congested()...)
	return &now
}

// Rerouted returns the routes that changed in the forwarding tables since the last call.
func (s *Subnet) Rerouted() (routes []scenario.Route) {
	all, ambiguous := s.duplicates()
	for _, d := range all {
		if c := &s.Counts; len(c.DuplicateLIDs) < 10 && !slices.Contains(c.DuplicateLIDs, d) {
			c.DuplicateLIDs = append(c.DuplicateLIDs, d)
		}
	}
	for i, dst := range s.pairs() {
		out := s.nodes[i].forward(s.own(dst).lid())
		if out < 1 || out >= len(s.nodes[i].ports) || ambiguous[dst] {
			continue // frames continue as before
		}
		wire, key := s.nodes[i].ports[out].wire, [2]int{i, dst}
		if was, known := s.routes[key]; !known || was != wire {
			s.routes[key] = wire
			routes = append(routes, scenario.Route{At: s.nodes[i].Name, To: s.nodes[dst].Name, Over: s.fabric.Wires[wire].Link.Name})
		}
	}
	return routes
}

// Switched returns the events that make the links follow what managers have disabled, or enabled
// and activated, since the last call.
func (s *Subnet) Switched() (events []string) {
	carries := byte(stateActive)
	if s.inBand { // the MADs that make it active cross it
		carries = stateInit
	}
	for w := range s.fabric.Wires {
		ends, state := s.ends(w), scenario.Down
		switch {
		case s.Cut(w) == s.cut[w]:
			continue
		case !s.cut[w]:
			s.cut[w] = true
		case min(s.at(ends[0]).state(), s.at(ends[1]).state()) >= carries:
			s.cut[w], s.lifted[w], state = false, true, scenario.Up
		default:
			continue
		}
		events = append(events, fmt.Sprintf("link: %q, state: %s", s.fabric.Wires[w].Link.Name, state))
	}
	return events
}

// Link records whether the fabric keeps a wire down. It ignores changes that managers have caused.
// The ports of a link that comes up wait for a manager.
func (s *Subnet) Link(wire int, down bool) {
	if s.lifted[wire] = s.lifted[wire] && down; s.cut[wire] || s.lifted[wire] || s.down[wire] == down {
		return
	}
	s.down[wire] = down
	s.train(wire)
}
