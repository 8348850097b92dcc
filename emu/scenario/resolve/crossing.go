package resolve

import (
	"cmp"
	"slices"

	"fabemu/emu/scenario"
)

// routing finds the paths of a scenario with all of its traffic.
type routing struct {
	*source
	*names
	*scenario.Site
	flows, workloads []origin
}

// findPaths finds the paths, and reports flows and workloads with frames that never arrive. It
// reports whether all arrive.
func (r *routing) findPaths() (routed bool) {
	before := len(r.Mistakes)
	r.Paths = scenario.PathTableOf(r.Scenario)
	sources := map[int][]int{} // by destination
	for i := range r.Own {
		k := r.Key(i)
		sources[k.Dst] = append(sources[k.Dst], k.Src)
	}
	stray := map[int]bool{} // destinations that some frames do not reach
	for dst, from := range sources {
		_, err := r.Paths.Stray(from, dst)
		stray[dst] = err != nil
	}
	for i := range r.Own {
		if k := r.Key(i); stray[k.Dst] {
			r.checkArrival(&r.Flows[i], r.flows[i], k.Src, k.Dst)
		}
	}
	for w, of := range each(r.Workloads, r.workloads) {
		r.checkMembers(w, of)
	}
	return len(r.Mistakes) == before
}

// cross records the frames that may cross each link, and reports notifications that never arrive.
func (r *routing) cross() {
	for _, lost := range r.Cross() {
		s := &r.Switches[lost.At]
		r.Add(r.nodes[s.Name].View.Sub("marking").Node("scheme").Spot,
			"switch %s cannot notify %s, the source of flow %s: its frames never arrive, because the routes go round",
			s.Name, r.NodeName(lost.To), lost.Flow)
	}
}

// checkArrival reports a flow with frames that never arrive, with any choice among equal paths: the
// choice depends on the seed.
func (r *routing) checkArrival(f *scenario.Flow, of origin, src, dst int) (arrives bool) {
	at, err := r.Paths.Stray([]int{src}, dst)
	switch to := cmp.Or(of.Get("to"), of.Get("over")); {
	case err == scenario.ErrRound && r.Paths.Shared():
		r.Add(to.Spot, "flow %s never arrives: the routes lead it past %s again and again", f.Name, r.NodeName(at))
	case err == scenario.ErrRound:
		r.Add(to.Spot, "flow %s may never arrive: of its equal paths one leads past %s again and again", f.Name, r.NodeName(at))
	case err != nil:
		r.Add(to.Spot, "flow %s has no path: no links lead from %s to %s", f.Name, f.From, f.To)
	}
	return err == nil
}

// checkMembers reports the first two members of a workload of which one's frames never reach the
// other.
func (r *routing) checkMembers(w *scenario.Workload, of origin) {
	members := r.MembersOf(w)
	roots := r.Roots(members)
	stray := slices.DeleteFunc(slices.Clone(roots), func(root int) bool {
		_, err := r.Paths.Stray(roots, root)
		return err == nil
	})
	for _, src := range members {
		for _, dst := range members {
			if root, _ := r.Paths.Root(dst); src == dst || !slices.Contains(stray, root) {
				continue
			}
			f := w.Template(r.NodeName(src), r.NodeName(dst))
			if !r.checkArrival(&f, of, src, dst) {
				return
			}
		}
	}
}
