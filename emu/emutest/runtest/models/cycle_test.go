package models_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/lint"
)

// tangle is a random fabric: a ring of switches with a host each and some more links between them,
// and random flows, which take shortest paths or explicit routes. They send as fast as they can.
func tangle(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	n := 4 + r.IntN(4)
	linked := map[[2]int]bool{}
	var b strings.Builder
	fmt.Fprintf(&b, `
name: tangle-%d
model: {duration: 3ms, seed: 1}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 100KB per port}
  flow: {packet: 1000B, traffic: greedy}
switches: {"S[0-%[2]d]": {}}
endpoints: ["h[0-%[2]d]"]
links:
  - "h[0-%[2]d] - S[0-%[2]d]"
`, seed, n-1)
	link := func(a, c int) {
		if k := [2]int{min(a, c), max(a, c)}; a != c && !linked[k] {
			linked[k] = true
			fmt.Fprintf(&b, "  - S%d - S%d\n", k[0], k[1])
		}
	}
	for i := range n {
		link(i, (i+1)%n)
	}
	for range r.IntN(3) {
		link(r.IntN(n), r.IntN(n))
	}
	b.WriteString("flows:\n")
	var routes strings.Builder
	routed := map[int]bool{}
	for i := range n {
		from, hops := i, 1+r.IntN(3)
		to := (from + hops) % n
		fmt.Fprintf(&b, "  - {name: f%d, from: h%d, to: h%d}\n", i, from, to)
		if r.IntN(3) > 0 && !routed[to] { // clockwise
			routed[to] = true
			for k := range hops {
				a, c := (from+k)%n, (from+k+1)%n
				fmt.Fprintf(&routes, "  - {at: S%d, to: h%d, over: S%d - S%d}\n", a, to, min(a, c), max(a, c))
			}
		}
	}
	if routes.Len() > 0 {
		b.WriteString("routes:\n" + routes.String())
	}
	return b.String()
}

// tangleOfLanes is a random fabric of InfiniBand with two or four lanes: a ring as in tangle, flows
// of random service levels clockwise, and switches that put these on random lanes.
func tangleOfLanes(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	n, vls := 4+r.IntN(4), 2<<r.IntN(2)
	var b strings.Builder
	fmt.Fprintf(&b, `
name: lanes-%d
model: {duration: 3ms, seed: 1}
defaults:
  link: {rate: 1GB/s, lanes: {max-vls: %d}}
  flow: {window: 16}
switches: {"S[0-%[3]d]": {}}
endpoints: ["h[0-%[3]d]"]
links:
  - "h[0-%[3]d] - S[0-%[3]d]"
`, seed, vls, n-1)
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, between: S%d - S%d}\n", i, i, (i+1)%n)
	}
	b.WriteString("flows:\n")
	var routes, lanes strings.Builder
	routed := map[[2]int]bool{}
	for i := range n {
		hops := 2 + r.IntN(2)
		to := (i + hops) % n
		fmt.Fprintf(&b, "  - {name: f%d, from: h%d, to: h%d, sl: %d}\n", i, i, to, r.IntN(4))
		for k := range hops {
			if at := (i + k) % n; !routed[[2]int{at, to}] {
				routed[[2]int{at, to}] = true
				fmt.Fprintf(&routes, "  - {at: S%d, to: h%d, over: r%d}\n", at, to, at)
			}
		}
	}
	for i := range n {
		if r.IntN(2) == 0 {
			from := ""
			if r.IntN(2) == 0 {
				from = fmt.Sprintf("from: r%d, ", (i+n-1)%n)
			}
			fmt.Fprintf(&lanes, "  - {at: S%d, %sover: r%d, lanes: \"%d,%d,%d,%d\"}\n", i, from, i, r.IntN(vls), r.IntN(vls), r.IntN(vls), r.IntN(vls))
		}
	}
	b.WriteString("routes:\n" + routes.String())
	if lanes.Len() > 0 {
		b.WriteString("sl2vl:\n" + lanes.String())
	}
	return b.String()
}

// stands runs a scenario, and reports whether outputs come to wait for one another in a cycle.
func stands(t *testing.T, s *scenario.Scenario) bool {
	t.Helper()
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Deadlocks) > 0
}

// loads is how many loads are tried until one closes a cycle.
const loads = 100

// loaded returns a fabric with the flows of a cycle alone: each twice, so that every link of it has
// more than its rate to carry. Which buffers are full at the same time depends on their shares and
// on when they begin: in further loads there are one to four of each, from random instants on, and
// flows over single links of the ring, which wait for no buffer of a switch but their first one.
func loaded(text string, senders []string, load int) string {
	r := rand.New(rand.NewPCG(uint64(load), 2))
	var b strings.Builder
	for line := range strings.Lines(text) {
		name, _, isFlow := strings.Cut(strings.TrimPrefix(line, "  - {name: "), ",")
		if !isFlow || !strings.HasPrefix(line, "  - {name: f") {
			b.WriteString(line)
			if n := strings.Count(text, "{name: f"); line == "flows:\n" && load > 0 {
				for i := range n {
					if r.IntN(2) == 0 {
						level := ""
						if strings.Contains(text, "lanes") {
							level = fmt.Sprintf(", sl: %d", r.IntN(4))
						}
						fmt.Fprintf(&b, "  - {name: x%d, from: h%d, to: h%d%s}\n", i, i, (i+1)%n, level)
					}
				}
			}
			continue
		}
		if !slices.Contains(senders, "flow "+name) {
			continue
		}
		copies := 2
		if load > 0 {
			copies = 1 + r.IntN(4)
		}
		for i := range copies {
			one := strings.Replace(line, name, fmt.Sprintf("%s-%d", name, i), 1)
			if load > 0 {
				one = strings.Replace(one, "}", fmt.Sprintf(", start: %dns}", r.IntN(300_000)), 1)
			}
			b.WriteString(one)
		}
	}
	return b.String()
}

// tangles checks random fabrics: one in which no cycle of buffers is found survives; in one with a
// cycle all flows, or those that make it, come to a standstill under some load.
func tangles(t *testing.T, tangle func(seed uint64) string, seeds uint64) (cycles, standing int) {
	for seed := range seeds {
		text := tangle(seed)
		s := runtest.Load(t, text)
		d := lint.FindDeadlock(s, scenario.PathTableOf(s))
		if d == nil {
			if stands(t, s) {
				t.Errorf("no cycle is found, and the fabric comes to a standstill:\n%s", text)
			}
			continue
		}
		cycles++
		stood := stands(t, s)
		for load := 0; load < loads && !stood; load++ {
			stood = stands(t, runtest.Load(t, loaded(text, d.Senders, load)))
		}
		if !stood {
			t.Logf("%v: does not come to a standstill:\n%s", d, text)
			continue
		}
		standing++
	}
	t.Logf("%d of %d fabrics have a cycle of buffers, and %d of them come to a standstill", cycles, seeds, standing)
	return cycles, standing
}

func TestModelCyclesOfBuffers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for name, of := range map[string]func(seed uint64) string{"PFC": tangle, "lanes": tangleOfLanes} {
		if cycles, standing := tangles(t, of, 60); cycles < 10 || cycles > 50 || standing < cycles {
			t.Errorf("%s: of 60 fabrics %d have a cycle, and %d of these come to a standstill", name, cycles, standing)
		}
	}
}
