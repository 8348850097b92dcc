package scenario

import (
	"fmt"
	"slices"

	"fabemu/emu/fabric/paths"
	"fabemu/emu/study/fluid"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// output is a link in the direction from a machine.
type output struct{ machine, link int }

// lintRest warns of outputs whose flows of DCQCN have no queue at which they could come to rest,
// by the closed form of package fluid. It reckons with the flows for which the output is the
// narrowest on their way, if all have packets at all times.
func (r *resolver) lintRest() {
	law := func(f *Flow) (rp.DCQCNParams, bool) {
		p, ok := f.Control.Params.(rp.DCQCNParams)
		return p, ok && r.family(f.From) == wire.Ethernet
	}
	crossed := map[output]int{} // by flows of any law
	visit := func(of flowOf, do func(o output)) {
		r.ways.Visit(r.key(of), func(at int, step paths.Step) { do(output{at, step.Link}) })
	}
	if !slices.ContainsFunc(r.s.Flows, func(f Flow) bool { _, ok := law(&f); return ok }) {
		return
	}
	for _, of := range r.flows {
		visit(of, func(o output) { crossed[o]++ })
	}
	narrow := map[output][]int{} // flows of DCQCN
	var order []output
	for f, of := range r.eachFlow() {
		if _, ok := law(f); !ok {
			continue
		}
		least, at := 0.0, output{}
		visit(of, func(o output) {
			if share := float64(r.s.Links[o.link].Rate) / float64(crossed[o]); least == 0 || share < least {
				least, at = share, o
			}
		})
		if narrow[at] == nil {
			order = append(order, at)
		}
		narrow[at] = append(narrow[at], of.index)
	}
	for _, o := range order {
		if o.machine < len(r.s.Switches) {
			f := &r.s.Flows[narrow[o][0]]
			p, _ := law(f)
			r.lintCliff(o, len(narrow[o]), f, p)
		}
	}
}

// lintCliff warns if so many flows like f would need more marks than the line of an output has.
func (r *resolver) lintCliff(o output, flows int, f *Flow, law rp.DCQCNParams) {
	s, l := &r.s.Switches[o.machine], &r.s.Links[o.link]
	line := cp.TraitsOf(s.Marking.Params).Line
	if line == nil {
		return
	}
	frame := r.s.Frame(f, r.family(f.From))
	c := fluid.DCQCN{Flows: flows, Capacity: l.Rate, Packet: r.s.Model.Framing.Length(&frame), Law: law}
	c.Min, c.Max, c.MaxP = line.Min.Size(c.Packet), line.Max.Size(c.Packet), line.Most
	share, err := c.Closed()
	if err != nil || share <= c.MaxP {
		return
	}
	cliff, _ := c.Cliff()
	m := r.machines[s.Name]
	r.warnedAt(m.view.sub("marking"), "max-p", "scheme", m.spot,
		"%s: %d flows of dcqcn would come to rest with %.3g %% of their packets marked, %s, and the line of switch %s ends at %.3g %%: above it each packet is marked, and the queue stays at that cliff. That is so from %d flows on",
		l.Name, flows, 100*share, closedForm(&c), s.Name, 100*c.MaxP, cliff)
}

// closedForm prints the closed form with its numbers.
func closedForm(c *fluid.DCQCN) string {
	bytes := "none"
	if c.Law.ByteCounter > 0 {
		bytes = c.Law.ByteCounter.String()
	}
	return fmt.Sprintf("cbrt(R_AI N^2/(K C^2) (1/B + N/(T C))^2) with R_AI %v, N %d, C %v, K %v, B %s, T %v and packets of %v",
		c.Law.ActiveIncrease, c.Flows, c.Capacity, c.Law.AlphaTimer, bytes, c.Law.RateTimer, unit.Size(c.Packet))
}
