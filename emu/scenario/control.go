package scenario

import "fabemu/node/rp"

// CheckSite refuses parameters that do not fit the line of a flow, or its rate-limit. Of is the
// item of the flow. Control returns the object that has the parameters; by is the key of its
// choice.
func (r *Site) CheckSite(f *Flow, s rp.Site, of Item, control func() Item, by string, p *Problems) {
	if grouped := SharedBy(f); f.RateLimit > 0 && grouped != "" {
		p.Add(of.Where("rate-limit"),
			"flow %s shares a limiter (control.%s) and cannot have its own rate-limit: leave one of them out",
			f.Name, grouped)
	}
	checker, ok := f.Control.Params.(rp.SiteChecker)
	if !ok {
		return
	}
	if key, err := checker.CheckSite(s); err != nil {
		p.Add(control().Where(key, by), "flow %s: %v", f.Name, err)
		return
	}
	if f.RateLimit == 0 || f.RateLimit >= s.Line {
		return
	}
	s.Line = f.RateLimit
	if _, err := checker.CheckSite(s); err != nil {
		p.Add(of.Where("rate-limit"), "flow %s has a rate-limit of %v: %v", f.Name, f.RateLimit, err)
	}
}
