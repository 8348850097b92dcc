package report_test

import (
	"testing"

	"fabemu/emu/result/report"
)

// A run that ends in a deadlock is a failure, whether frames went on elsewhere or not, unless a
// check of the scenario wants it and holds.
func TestStuck(t *testing.T) {
	check := func(metric string, value float64, outcome report.Outcome) report.Check {
		return report.Check{Metric: metric, Judged: report.Judged{Value: report.Number(value), Outcome: outcome}}
	}
	found := []report.Deadlock{{AtPs: 1}}
	for name, c := range map[string]struct {
		ended     int64
		deadlocks []report.Deadlock
		lasts     bool
		checks    []report.Check
		want      bool
	}{
		"no deadlock":                     {0, nil, false, nil, false},
		"all flows are finished":          {5, nil, false, nil, false},
		"frames go on elsewhere":          {0, found, true, nil, true},
		"a watchdog has broken it":        {0, found, false, nil, false},
		"broken, and all are finished":    {5, found, false, nil, false},
		"nothing can happen":              {5, found, true, nil, true},
		"another check holds":             {5, found, true, []report.Check{check("f.rate", 1, report.Pass)}, true},
		"a check expects it":              {5, found, true, []report.Check{check("S1-S2.deadlocks", 1, report.Pass)}, false},
		"a check expects one that is not": {5, found, true, []report.Check{check("S1-S2.deadlocks", 0, report.Fail)}, true},
		"a check expects none elsewhere":  {5, found, true, []report.Check{check("S5-S6.deadlocks", 0, report.Pass)}, true},
	} {
		r := report.Result{EndedPs: c.ended, Deadlocks: c.deadlocks, Deadlocked: c.lasts, Checks: c.checks}
		if got := r.Stuck(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Queue pairs that have failed are a failure, unless a check of the scenario wants some and holds.
func TestBroken(t *testing.T) {
	failed, wanted := []report.Failure{{AtPs: 1}}, report.Check{Metric: "incast.failures", Judged: report.Judged{Value: 2, Outcome: report.Pass}}
	wrong, none := wanted, wanted
	wrong.Outcome, none.Value = report.Fail, 0
	for name, c := range map[string]struct {
		result report.Result
		want   bool
	}{
		"none":                  {report.Result{}, false},
		"one":                   {report.Result{Failures: failed}, true},
		"a check expects it":    {report.Result{Failures: failed, Checks: []report.Check{wanted}}, false},
		"a check expects fewer": {report.Result{Failures: failed, Checks: []report.Check{wrong}}, true},
		"another has none":      {report.Result{Failures: failed, Checks: []report.Check{none}}, true},
	} {
		if got := c.result.Broken(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
