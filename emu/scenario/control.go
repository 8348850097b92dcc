package scenario

import (
	"fabemu/node/rp"
)

// checkSite refuses parameters that do not fit the line of a flow, or its rate-limit.
func (r *Site) checkSite(f *Flow, s rp.Site, grouped string, of origin, control scheme) {
	item := scheme{of.view, "rate-limit", of.Spot}
	if f.RateLimit > 0 && grouped != "" {
		r.File.Add(item.spotOf("rate-limit"),
			"flow %s shares a limiter (control.%s) and cannot have its own rate-limit: leave one of them out",
			f.Name, grouped)
	}
	checker, ok := f.Control.Params.(rp.SiteChecker)
	if !ok {
		return
	}
	if key, err := checker.CheckSite(s); err != nil {
		r.File.Add(control.spotOf(key), "flow %s: %v", f.Name, err)
		return
	}
	if f.RateLimit == 0 || f.RateLimit >= s.Line {
		return
	}
	s.Line = f.RateLimit
	if _, err := checker.CheckSite(s); err != nil {
		r.File.Add(item.spotOf("rate-limit"), "flow %s has a rate-limit of %v: %v", f.Name, f.RateLimit, err)
	}
}
