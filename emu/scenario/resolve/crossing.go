package resolve

import (
	"cmp"
	"slices"

	"fabemu/emu/scenario"
)

// findPaths finds the paths, and records the frames that may cross each link. It reports flows
// and workloads with frames that never arrive.
func (r *resolver) findPaths() {
	before := len(r.Mistakes)
	r.Paths = scenario.PathTableOf(&r.s)
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
			r.checkArrival(&r.s.Flows[i], r.flowOrigins[i], k.Src, k.Dst)
		}
	}
	for w, of := range each(r.s.Workloads, r.workloadOrigins) {
		r.checkMembers(w, of)
	}
	r.routed = len(r.Mistakes) == before
	if !r.sound(trafficSections) || !r.timed() || !r.right("model.framing") || !r.right("model.dscp") {
		return
	}
	r.crossed = true
	for _, lost := range r.Cross() {
		s := &r.s.Switches[lost.At]
		r.Add(r.nodes[s.Name].View.Sub("marking").Node("scheme").Spot,
			"switch %s cannot notify %s, the source of flow %s: its frames never arrive, because the routes go round",
			s.Name, r.NodeName(lost.To), lost.Flow)
	}
}

// checkArrival reports a flow with frames that never arrive, with any choice among equal paths: the
// choice depends on the seed.
func (r *resolver) checkArrival(f *scenario.Flow, of origin, src, dst int) (arrives bool) {
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
func (r *resolver) checkMembers(w *scenario.Workload, of origin) {
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
