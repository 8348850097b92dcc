//go:build !race

package emu

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fabemu/emu/metrics"
	"fabemu/emu/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/study/generate"
)

// star is n endpoints at one switch that notifies them of congestion, and as many checks
// as a large fabric would have.
func star(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `name: star
model: {duration: 10ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pause}
  switch: {kind: output-queued, marking: {scheme: qcn, octets: 14}}
  flow: {packet: 1500B, control: {law: qcn}}
switches: {S: {}}
endpoints: ["e[1-%[1]d]", to]
links: ["e[1-%[1]d] - S", S - to]
flows: [{name: f, from: "e[1-%[1]d]", to: to}]
expect:
`, n)
	for i := range 20 {
		fmt.Fprintf(&b, "  - {id: c%d, metric: f.e%d.rate, during: [0ms, 10ms], low: 0, high: 1e12}\n", i, i+1)
	}
	return b.String()
}

// What is checked takes time in proportion to its size: four times as many endpoints take
// about four times as long. Where each flow, each endpoint or each check of the scenario
// is held against all of the fabric they take sixteen times as long.
func TestWallCheckTakesTimeInProportion(t *testing.T) {
	spent := func(n int) time.Duration {
		least := time.Hour
		text := star(n)
		for range 3 {
			before := runtest.ProcessorTime(t)
			s, err := scenario.Load("star.yaml", []byte(text), nil, scenario.CheckMetrics(metrics.Checker()))
			if err == nil {
				_, err = Prepare(s)
			}
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, runtest.ProcessorTime(t)-before)
		}
		return least
	}
	small, large := spent(1000), spent(4000)
	t.Logf("1000 endpoints take %v of a processor's time, 4000 take %v", small, large)
	if large > 8*small {
		t.Errorf("4000 endpoints take %v, 1000 take %v", large, small)
	}
}

// What is laid out to be checked has no tables of routes, one entry for each endpoint in each
// switch: in a fat tree they would take longer than all that loads it.
func TestWallPrepareTakesLessTimeThanLoading(t *testing.T) {
	text, err := generate.Write("fat-tree", generate.Options{Endpoints: 8000})
	if err != nil {
		t.Fatal(err)
	}
	load, lay := time.Hour, time.Hour
	for range 3 {
		before := runtest.ProcessorTime(t)
		s, err := scenario.Load("fat-tree.yaml", text, nil, scenario.CheckMetrics(metrics.Checker()))
		if err != nil {
			t.Fatal(err)
		}
		between := runtest.ProcessorTime(t)
		if _, err := Prepare(s); err != nil {
			t.Fatal(err)
		}
		load, lay = min(load, between-before), min(lay, runtest.ProcessorTime(t)-between)
	}
	t.Logf("loading takes %v of a processor's time, laying out %v", load, lay)
	if lay > load*3/4 {
		t.Errorf("laying out takes %v, loading %v", lay, load)
	}
}
