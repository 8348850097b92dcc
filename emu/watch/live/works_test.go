package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
)

// TestPageOfWorkloads: the page has a table for each workload, with its flows or its rounds, a
// chart of the open flows, and the slowdown over their size; the last moment has the figures of the
// result.
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
	c, moments := shown(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	last := moments[len(moments)-1].Works
	if len(c.Works) != 2 || c.Works[0].Collective || !c.Works[1].Collective || len(last) != 2 {
		t.Fatalf("%+v: %+v", c.Works, last)
	}
	web, sum := last[0].Figures, last[1].Figures
	if w := web; w["ended"] < 200 || w["open"] < 1 || !(w["slowdown.p50"] >= 1) || !(w["slowdown.p99"] > w["slowdown.p50"]) || !(w["completion.p50"] > 0) {
		t.Errorf("%+v", w)
	}
	if w := sum; w["rounds"] < 2 || !(w["round.mean"] > 100e-6) {
		t.Errorf("%+v", w)
	}
	n := report.Bands(int(web["ended"]))
	if w := last[0].Sizes; w == nil || last[1].Sizes != nil || w.Each*n > int(web["ended"]) || (w.Each+1)*n <= int(web["ended"]) ||
		len(w.Borders) != n+1 || !slices.IsSorted(w.Borders) || len(w.Curves[0]) != n || slices.Max(w.Curves[2]) < web["slowdown.p99"] {
		t.Errorf("by size: %+v, of one size: %+v; %v ended, p99 %v", w, last[1].Sizes, web["ended"], web["slowdown.p99"])
	}
	_, address := serve(t, c, moments, Options{})
	b := open(t, address, 1400, 1500, false)
	b.until(`document.querySelectorAll("#works table").length === 2 && document.querySelectorAll("#works td")[2].textContent !== ""`)
	b.until(fmt.Sprintf("fabemu.view === %d && fabemu.settled", len(moments)-1))
	keep(t, "workloads", b.shot())
	text := value[string](b, `document.getElementById("works").innerText.replace(/\s+/g, " ")`)
	for _, want := range []string{"Workloads", fmt.Sprintf("ended %d", int(web["ended"])), fmt.Sprintf("open flows %d", int(web["open"])), "waiting for a source",
		fmt.Sprintf("rounds %d", int(sum["rounds"])), "slowdown, 99 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	if !value[bool](b, `document.getElementById("flows").hidden && [...document.querySelectorAll("#charts figure")].some(f => f.textContent.includes("Open flows"))`) {
		t.Error("there is a list of flows, or no chart of open flows")
	}
	// The highest point of each curve is drawn in its colour, and follows the moment that is shown.
	const drawn = `(() => { const c = document.querySelector("#sizes canvas"), n = c.width * c.height * 4, of = ["#0072b2", "#d55e00", "#009e73"].map(s => parseInt(s.slice(1), 16)), seen = [0, 0, 0];
		for (let p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, i = 0; i < n; i += 4) { const k = of.indexOf(p[i] << 16 | p[i + 1] << 8 | p[i + 2]); if (k >= 0) seen[k]++; }
		return Math.min(...seen) })()`
	said := value[string](b, `document.querySelector("#sizes figure").getAttribute("aria-label")`)
	if n := value[int](b, drawn); n < 100 || !strings.HasPrefix(said, "Slowdown of web by flow size, 99 %: ") || value[int](b, `document.querySelectorAll("#sizes figure").length`) != 1 {
		t.Errorf("%d pixels of the curve with the fewest, %s", n, said)
	}
	first := slices.IndexFunc(moments, func(m *Moment) bool { return m.Works[0].Sizes != nil })
	b.scrub(first)
	b.until(fmt.Sprintf(`document.querySelector("#sizes figcaption").textContent.includes("with %d flow")`, moments[first].Works[0].Sizes.Each))
	if first > 0 {
		b.scrub(0)
		b.until(`document.getElementById("sizes").hidden`)
	}
	b.fine()
	b = open(t, address, 390, 2000, true)
	b.until(fmt.Sprintf(`fabemu.view === %d && fabemu.settled && document.querySelector("#sizes canvas")`, len(moments)-1))
	keep(t, "workloads-390", b.shot())
	if wide := value[int](b, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("the page is %d pixels wide in a window of 390", wide)
	}
	b.fine()
}
