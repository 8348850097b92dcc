package scenario

import (
	"fabemu/node/rp"
)

// CheckSite refuses parameters that do not fit the line of a flow, or its rate-limit.
func (r *Site) CheckSite(f *Flow, s rp.Site, grouped string, of Origin, control Scheme) {
	item := Scheme{of.View, "rate-limit", of.Spot}
	if f.RateLimit > 0 && grouped != "" {
		r.File.Add(item.SpotOf("rate-limit"),
			"flow %s shares a limiter (control.%s) and cannot have its own rate-limit: leave one of them out",
			f.Name, grouped)
	}
	checker, ok := f.Control.Params.(rp.SiteChecker)
	if !ok {
		return
	}
	if key, err := checker.CheckSite(s); err != nil {
		r.File.Add(control.SpotOf(key), "flow %s: %v", f.Name, err)
		return
	}
	if f.RateLimit == 0 || f.RateLimit >= s.Line {
		return
	}
	s.Line = f.RateLimit
	if _, err := checker.CheckSite(s); err != nil {
		r.File.Add(item.SpotOf("rate-limit"), "flow %s has a rate-limit of %v: %v", f.Name, f.RateLimit, err)
	}
}
