package live

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/runtest"
)

// TestPageOfWorkloads: the page has a table for each workload, with its transfers or its rounds, and a chart of the open
// transfers; the last moment has the figures of the result.
func TestPageOfWorkloads(t *testing.T) {
	s := runtest.Load(t, `name: both
model: {duration: 3ms}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 32MB, sharing: pooled}
  flow: {transport: {kind: rocev2, ack-every: 16}, packet: 4096B}
switches: {A: {}}
endpoints: ["h[1-8]"]
links: ["h[1-8] - A"]
workload:
  - {name: web, over: "h[1-8]", size: hadoop, load: 0.4, open: 2}
  - {name: sum, over: "h[1-8]", collective: all-reduce, size: 1MB, count: 30}
`)
	c, moments := shown(t, s, emu.Options{Clock: emu.VirtualClock})
	last := moments[len(moments)-1].Works
	if len(c.Works) != 2 || c.Works[0].Collective || !c.Works[1].Collective || len(last) != 2 {
		t.Fatalf("%+v: %+v", c.Works, last)
	}
	if w := last[0]; w.Ended < 200 || w.Open < 1 || !(w.Median >= 1) || !(w.P99 > w.Median) || !(w.Completion > 0) {
		t.Errorf("%+v", w)
	}
	if w := last[1]; w.Rounds < 2 || !(w.Round > 100e-6) {
		t.Errorf("%+v", w)
	}
	_, address := serve(t, c, moments, Options{})
	b := open(t, address, 1400, 1500, false)
	b.until(`document.querySelectorAll("#works table").length === 2 && document.querySelectorAll("#works td")[2].textContent !== ""`)
	b.until(fmt.Sprintf("fabemu.view === %d && fabemu.settled", len(moments)-1))
	keep(t, "workloads", b.shot())
	text := value[string](b, `document.getElementById("works").innerText.replace(/\s+/g, " ")`)
	for _, want := range []string{"Workloads", fmt.Sprintf("ended %d", int(last[0].Ended)), fmt.Sprintf("open transfers %d", int(last[0].Open)), "waiting for a source",
		fmt.Sprintf("rounds %d", int(last[1].Rounds)), "slowdown, 99 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	if !value[bool](b, `document.getElementById("flows").hidden && [...document.querySelectorAll("#charts figure")].some(f => f.textContent.includes("Open transfers"))`) {
		t.Error("there is a list of flows, or no chart of open transfers")
	}
	if len(b.wrong) > 0 {
		t.Errorf("the browser: %q", b.wrong)
	}
}
