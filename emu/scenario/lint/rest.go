package lint

import (
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
)

// output is a link in the direction from a node.
type output struct{ node, link int }

// rest warns of outputs at which flows of DCQCN have no fixed point of the queue. It counts the
// flows that have their bottleneck at the output if all flows always have packets.
func rest(s *scenario.Site, p *scenario.Problems) {
	isDCQCN := func(f scenario.Flow) bool {
		_, ok := f.Control.Params.(rp.DCQCNParams)
		return ok && s.FamilyOf(f.From) == wire.Ethernet
	}
	flows := s.Flows[:s.Own]
	if !slices.ContainsFunc(flows, isDCQCN) {
		return
	}
	crossed := map[output]int{} // by flows of any algorithm
	for i := range flows {
		s.VisitPaths(i, func(at int, step paths.Step, sure bool) {
			if sure { // where packets are divided among equal links the flow does not count
				crossed[output{at, step.Link}]++
			}
		})
	}
	narrow, order := map[output][]*scenario.Flow{}, []output(nil)
	for i := range flows {
		if !isDCQCN(flows[i]) {
			continue
		}
		least, at := 0.0, output{}
		s.VisitPaths(i, func(node int, step paths.Step, sure bool) {
			o := output{node, step.Link}
			if !sure {
				return
			}
			if share := float64(s.Links[o.link].Rate) / float64(crossed[o]); least == 0 || share < least {
				least, at = share, o
			}
		})
		if narrow[at] == nil {
			order = append(order, at)
		}
		narrow[at] = append(narrow[at], &flows[i])
	}
	for _, o := range order {
		if o.node < len(s.Switches) {
			cliff(s, o, len(narrow[o]), narrow[o][0], p)
		}
	}
}

// cliff warns if this many flows like f need a higher share of marks than the line of an output
// reaches.
func cliff(s *scenario.Site, o output, flows int, f *scenario.Flow, p *scenario.Problems) {
	w, l, algorithm := &s.Switches[o.node], &s.Links[o.link], f.Control.Params.(rp.DCQCNParams)
	line := cp.TraitsOf(w.Marking.Params).Line
	if line == nil || !algorithm.HasRest() {
		return
	}
	frame := s.Frame(f, wire.Ethernet)
	packet := s.Model.Framing.Length(&frame)
	most, share := line.Most, algorithm.Rest(flows, l.Rate, packet)
	if line.Max.Size(packet) <= line.Min.Size(packet) || share <= most {
		return
	}
	from := 1
	for algorithm.Rest(from, l.Rate, packet) <= most {
		from++
	}
	bytes := "none"
	if algorithm.ByteCounter > 0 {
		bytes = algorithm.ByteCounter.String()
	}
	p.Add(s.Switch(o.node).In("marking").Where("max-p", "scheme"),
		"%s: %d flows of dcqcn would come to rest with %.3g %% of their packets marked, cbrt(R_AI N^2/(K C^2) (1/B + N/(T C))^2) with R_AI %v, N %d, C %v, K %v, B %s, T %v and packets of %v, and the marking curve of switch %s ends at %.3g %%: above it every packet is marked, and the queue stays at that cliff. That is so from %d flows on",
		l.Name, flows, 100*share, algorithm.ActiveIncrease, flows, l.Rate, algorithm.AlphaTimer, bytes, algorithm.RateTimer,
		packet, w.Name, 100*most, from)
}
