package models_test

import (
	"fabemu/emu"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// during is the interval of the claims.
var during = [2]unit.Time{unit.Time(42 * unit.Millisecond), unit.Time(60 * unit.Millisecond)}

// untilVictimStops ends a run where the claims have their end.
var untilVictimStops = scenario.Set{Path: "model.duration", Value: "60ms"}

// figures returns each expression over the interval of the claims.
func figures(t *testing.T, r *emu.Result, expressions []string) []float64 {
	return figuresOver(t, r, expressions, during)
}

// figuresOver returns each expression over an interval.
func figuresOver(t *testing.T, r *emu.Result, expressions []string, during [2]unit.Time) []float64 {
	t.Helper()
	list := make([]float64, len(expressions))
	for i, e := range expressions {
		m, err := metrics.Compile(e, r.Metrics.Fabric())
		if err != nil {
			t.Error(err)
			continue
		}
		list[i] = m.Over(r.Metrics, during[0], during[1])
	}
	return list
}
