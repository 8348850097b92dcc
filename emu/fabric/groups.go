package fabric

// Group is the flows of one entry of a scenario.
type Group struct {
	Name  string
	Flows []int // indices in Fabric.Flows
}

// Groups returns the groups of flows, in the order of the flows.
func (f *Fabric) Groups() (groups []Group) {
	at := make(map[string]int)
	for i := range f.Flows {
		name := f.Flows[i].Group
		k, known := at[name]
		if !known {
			k = len(groups)
			at[name] = k
			groups = append(groups, Group{Name: name})
		}
		groups[k].Flows = append(groups[k].Flows, i)
	}
	return groups
}

// DataLinks returns the directions of wires that the data of some flow crosses, now or after
// the routes have changed, in the order of the wires.
func (f *Fabric) DataLinks() (links []Hop) {
	carries := make([][2]bool, len(f.Wires))
	for i := range f.Flows {
		for _, way := range append([]*Way{f.Flows[i].Way}, f.Flows[i].Later...) {
			for _, h := range way.All() {
				carries[h.Wire][h.From] = true
			}
		}
	}
	for w := range carries {
		for from, yes := range carries[w] {
			if yes {
				links = append(links, Hop{Wire: w, From: from})
			}
		}
	}
	return links
}

// Out returns the direction of its wire in which a port sends, In the one from which it receives.
func (p Port) Out() Hop { return Hop{Wire: p.Wire, From: p.End} }

// In is told by Out.
func (p Port) In() Hop { return Hop{Wire: p.Wire, From: 1 - p.End} }
