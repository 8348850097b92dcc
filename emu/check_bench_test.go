//go:build !race

package emu

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
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

// BenchmarkCheck checks two stars, one with four times as many endpoints, in turns, and compares the least
// times of a processor. It fails where the large one takes more than eight times as long: it takes
// sixteen times as long where each flow, each endpoint or each check is compared with the whole fabric.
func BenchmarkCheck(b *testing.B) {
	texts := [2]string{star(1000), star(4000)}
	least := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for i, text := range texts {
			before := runtest.ProcessorTime(b)
			s, err := scenario.Load("star.yaml", []byte(text), nil, scenario.CheckMetrics(metrics.Checker()))
			if err == nil {
				_, err = Prepare(s)
			}
			if err != nil {
				b.Fatal(err)
			}
			least[i] = min(least[i], runtest.ProcessorTime(b)-before)
		}
	}
	ratio := float64(least[1]) / float64(least[0])
	b.ReportMetric(ratio, "times-for-4-times-the-size")
	if ratio > 8 {
		b.Errorf("4000 endpoints take %v, 1000 take %v", least[1], least[0])
	}
}

// BenchmarkPrepare compares how long a fat tree takes to be loaded with how long it takes to be laid out for
// a check. It fails where laying out takes three quarters of the time of loading or more: it has no
// tables of routes, with an entry for each endpoint in each switch.
func BenchmarkPrepare(b *testing.B) {
	text, err := generate.Write("fat-tree", generate.Options{Endpoints: 8000})
	if err != nil {
		b.Fatal(err)
	}
	load, lay := time.Hour, time.Hour
	for b.Loop() {
		before := runtest.ProcessorTime(b)
		s, err := scenario.Load("fat-tree.yaml", text, nil, scenario.CheckMetrics(metrics.Checker()))
		if err != nil {
			b.Fatal(err)
		}
		between := runtest.ProcessorTime(b)
		if _, err := Prepare(s); err != nil {
			b.Fatal(err)
		}
		load, lay = min(load, between-before), min(lay, runtest.ProcessorTime(b)-between)
	}
	b.ReportMetric(float64(lay)/float64(load), "prepare/load")
	if lay > load*3/4 {
		b.Errorf("laying out takes %v, loading %v", lay, load)
	}
}
