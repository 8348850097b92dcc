package live

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario/generate"
)

var update = flag.Bool("update", false, "rewrite the pictures")

// congested returns the main scenario and moments of it: ten flows and a victim wait for a port.
func congested(t testing.TB) (*Scene, []*Moment) {
	c := sceneOf(t, "hpl2002/fig3b")
	var chains [][]string
	for _, l := range c.Lines {
		if l.To == "A" {
			chains = append(chains, []string{l.Name, "trunk.A-B", "root.B-BC"})
		}
	}
	return c, script(t, c, 300, chains...)
}

// TestScreens compares pictures of the page with those that are kept. Look at one that has
// changed before you commit it; FABEMU_SHOTS=DIR keeps them in full size.
func TestScreens(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	c, moments := congested(t)
	_, address := serve(t, c, moments, Options{Control: turning(func(string) error { return nil })})
	for _, x := range []struct {
		name          string
		width, height int64
		dark          bool
	}{{"1400", 1400, 1000, false}, {"1400-dark", 1400, 1000, true}, {"400", 400, 900, false}} {
		t.Run(x.name, func(t *testing.T) {
			b := open(t, address, x.width, x.height, x.dark)
			b.until("fabemu.moments === 300 && fabemu.settled")
			b.dejaVu()
			png := b.shot()
			keep(t, x.name, png)
			compare(t, "testdata/"+x.name+".png", png)
			if wide := value[int](b, "document.documentElement.scrollWidth"); int64(wide) > x.width {
				t.Errorf("the page is %d pixels wide in a window of %d", wide, x.width)
			}
			b.fine()
		})
	}
}

// fine says what the browser complained of, but for what has one of some texts in it.
func (b *tab) fine(expected ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, wrong := range b.wrong {
		if !slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(wrong, text) }) {
			b.t.Errorf("the browser complains: %s", wrong)
		}
	}
}

// TestAsksNobodyElse: the page asks its own server, and that for nothing but what it is.
func TestAsksNobodyElse(t *testing.T) {
	c, moments := congested(t)
	_, address := serve(t, c, moments, Options{})
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments === 300")
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) < 2 {
		t.Errorf("the browser asked for %q: the test sees nothing", b.asked)
	}
	for _, asked := range b.asked {
		if asked != address && !strings.HasPrefix(asked, address+"moments?after=") && asked != address+"clock" && !strings.HasPrefix(asked, "data:") {
			t.Errorf("the page asks for %s", asked)
		}
	}
	text, _ := page()
	for _, url := range regexp.MustCompile(`https?://[^\s"'<>]+`).FindAllString(text, -1) {
		if url != "http://www.w3.org/2000/svg" && url != "https://github.com/leeoniya/uPlot" { // a name, and the notice of its authors
			t.Errorf("the page names %s", url)
		}
	}
}

// TestSaysWhoStopsWhom: the root and the victim are named in words and marked in the drawing.
func TestSaysWhoStopsWhom(t *testing.T) {
	c, moments := congested(t)
	_, address := serve(t, c, moments, Options{})
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments === 300")
	for expression, want := range map[string]any{
		"document.querySelector('#cause').innerText":                                moments[299].Roots[0].Words,
		"document.querySelectorAll('.lane.stop').length":                            12.0,
		"document.querySelectorAll('.lane.root').length":                            1.0,
		"document.querySelectorAll('.wait').length":                                 12.0,
		"document.querySelectorAll('.pill').length":                                 1.0,
		"getComputedStyle(document.querySelector('.lane.stop .over')).stroke":       `url("#hatch")`,
		"document.querySelectorAll('.held.high').length":                            12.0,
		"document.querySelector('#level').innerText":                                "Faithful so far",
		"document.querySelector('#strip').className":                                "good",
		"document.querySelectorAll('#checks li.pass').length":                       float64(len(c.Checks)),
		"[...document.querySelectorAll('figcaption b')].map(e=>e.innerText).join()": "Rate,Queue,Feedback,Rate limiter",
		"document.querySelectorAll('canvas').length":                                4.0,
	} {
		if got := value[any](b, expression); got != want {
			t.Errorf("%s is %v, not %v", expression, got, want)
		}
	}
	b.scrub(50)
	b.until("document.querySelector('#cause').innerText === 'Nothing is stopped.'")
	if n := value[int](b, "document.querySelectorAll('.lane.stop, .wait, .pill').length"); n != 0 {
		t.Errorf("before anything is stopped %d things say so", n)
	}
	b.fine()
}

// TestFitsAtOnce: when a window becomes narrow, curves end inside it in the next frames, before
// anything is drawn anew.
func TestFitsAtOnce(t *testing.T) {
	c, moments := congested(t)
	_, address := serve(t, c, moments, Options{})
	b := open(t, address, 1300, 1000, false)
	b.until("fabemu.moments === 300 && fabemu.settled && document.querySelectorAll('canvas').length === 4")
	value[bool](b, `(window.fits = null, addEventListener("resize", () => requestAnimationFrame(() => requestAnimationFrame(() => {
		window.fits = [...document.querySelectorAll(".uplot")].map(e => e.getBoundingClientRect().right <= document.documentElement.clientWidth).join();
	}))), true)`)
	for _, width := range []int64{600, 400, 360} {
		value[bool](b, "(window.fits = null, true)")
		b.run(chromedp.EmulateViewport(width, 900))
		b.until("window.fits !== null")
		if got := value[string](b, "window.fits"); got != "true,true,true,true" {
			t.Errorf("in a window of %d pixels the curves fit: %s", width, got)
		}
	}
	b.fine()
}

// TestStill: the page of a running run that is asked for one picture has all of it, and waits for
// nothing.
func TestStill(t *testing.T) {
	c, moments := congested(t)
	_, address := serve(t, c, moments, Options{})
	b := open(t, address+"still", 1300, 1000, false)
	b.until("fabemu.moments === 300 && fabemu.view === 299 && fabemu.settled")
	b.until("document.querySelector('#hint').innerText.includes('when this page was asked for')")
	b.mu.Lock()
	for _, asked := range b.asked {
		if asked != address+"still" && !strings.HasPrefix(asked, "data:") {
			t.Errorf("it asks for %s", asked)
		}
	}
	b.mu.Unlock()
	b.fine()
}

// TestPictures: a browser without a window that lets time pass as it likes, and one that does not,
// finish with the page of a running run.
func TestPictures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	if _, err := chromium(); err != nil {
		t.Skip(err)
	}
	c, moments := congested(t)
	_, address := serve(t, c, moments, Options{})
	picture := filepath.Join(t.TempDir(), "page.png")
	for _, args := range [][]string{{"--virtual-time-budget=5000", "--dump-dom"}, {"--dump-dom"}, {"--virtual-time-budget=5000", "--screenshot=" + picture}} {
		within, stop := context.WithTimeout(context.Background(), 2*time.Minute)
		defer stop()
		p := exec.CommandContext(within, chromiumPath(), append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir()}, append(args, address)...)...)
		p.WaitDelay = time.Second
		said, err := p.Output()
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		if words := "when this page was asked for"; len(args) == 2 && args[1] == "--dump-dom" && !strings.Contains(string(said), words) {
			t.Errorf("%q: the page does not say %q: %d bytes", args, words, len(said))
		}
		if !strings.Contains(args[len(args)-1], "screenshot") && !strings.Contains(string(said), "<canvas") {
			t.Errorf("%q: the page has no curves: %d bytes", args, len(said))
		}
	}
	if b, err := os.ReadFile(picture); err != nil {
		t.Error(err)
	} else if decode(t, b).Bounds().Dx() < 100 {
		t.Error("the picture is small")
	}
}

// scrub goes to a moment.
func (b *tab) scrub(to int) {
	b.t.Helper()
	value[bool](b, fmt.Sprintf("(e => { e.value = %d; return e.dispatchEvent(new Event('input')) })(document.querySelector('#scrub'))", to))
	b.until(fmt.Sprintf("fabemu.view === %d && fabemu.settled", to))
}

// TestScrub: who looks at the past stays there while moments come, and goes back to the present
// on request.
func TestScrub(t *testing.T) {
	c, moments := congested(t)
	s, address := serve(t, c, moments[:100], Options{})
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments === 100 && fabemu.view === 99")
	b.scrub(20)
	for _, m := range moments[100:110] {
		s.Show(m)
		time.Sleep(20 * time.Millisecond)
	}
	b.until("fabemu.moments > 100")
	if view := value[int](b, "fabemu.view"); view != 20 {
		t.Errorf("the page went to moment %d by itself", view)
	}
	b.until("document.querySelector('#at').innerText === '7.000 ms'")
	b.until("document.querySelector('#live').getAttribute('aria-pressed') === 'false'")
	b.run(chromedp.Click(chromedp.CSS("#live")))
	b.until("fabemu.view === fabemu.moments - 1")
	s.End("It is over: the results are in DIR.")
	b.until("document.querySelector('#hint').innerText.includes('DIR')")
	b.fine()
}

// TestDeadlockFlashes: the members of a deadlock are named and flash, unless the user needs
// nothing to move.
func TestDeadlockFlashes(t *testing.T) {
	c := sceneOf(t, "ethernet/ring-deadlock")
	moments := script(t, c, 10, []string{"one.A-B", "two.B-C", "three.C-A", "one.A-B"})
	cycle := report.Deadlock{AtPs: 4e8, Cycle: []report.Waiting{{Node: "A", For: "B", Link: "one.A-B"}, {Node: "B", For: "C", Link: "two.B-C"}, {Node: "C", For: "A", Link: "three.C-A"}}}
	moments[9].Deadlocks = newState(nil, found{deadlocks: []report.Deadlock{cycle}}, &report.Verdict{}, 4e8).Deadlocks
	_, address := serve(t, c, moments, Options{})
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments === 10 && document.querySelectorAll('.lane.dead').length === 3 && document.querySelectorAll('.wait.dead').length === 3")
	keep(t, "deadlock", b.shot())
	if words := value[string](b, "document.querySelector('#cause').innerText"); !strings.Contains(words, "A waits for B, B for C, C for A") {
		t.Errorf("it says %q", words)
	}
	animation := "getComputedStyle(document.querySelector('.lane.dead .body')).animationName"
	if name := value[string](b, animation); name != "flash" {
		t.Errorf("the animation is %s", name)
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
	if name := value[string](b, animation); name != "none" {
		t.Errorf("the animation is %s for who wants none", name)
	}
	b.fine()
}

// TestVoidIsRed: the strip is red as soon as no figure may be used.
func TestVoidIsRed(t *testing.T) {
	c, moments := congested(t)
	moments[1].Verdict, moments[1].Why = "void", "Frames were lost."
	s, address := serve(t, c, moments[:1], Options{})
	b := open(t, address, 1400, 1000, false)
	colour := "getComputedStyle(document.querySelector('#strip')).backgroundColor"
	before := value[string](b, colour)
	s.Show(moments[1])
	b.until("document.querySelector('#level').innerText === 'Void so far'")
	if after := value[string](b, colour); after == before || after != "rgb(192, 39, 29)" {
		t.Errorf("the strip goes from %s to %s", before, after)
	}
}

// TestKnobs: what is followed can be changed, in the order of the clicks; what is wrong is said,
// and what was done comes as lines to copy.
func TestKnobs(t *testing.T) {
	c, moments := congested(t)
	var mu sync.Mutex
	var turned []string
	s, address := serve(t, c, moments[:10], Options{Control: turning(func(change string) error {
		if strings.HasSuffix(change, "state: down") {
			time.Sleep(100 * time.Millisecond) // a change that does not wait overtakes it
		}
		mu.Lock()
		defer mu.Unlock()
		turned = append(turned, change)
		if strings.Contains(change, "nonsense") {
			return fmt.Errorf("a rate such as 5Gb/s is wanted")
		}
		return nil
	})})
	b := open(t, address, 1400, 1000, false)
	follow := func(name string) {
		t.Helper()
		b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("[...document.querySelectorAll('.node, .lane')].find(g => (g.dispatchEvent(new FocusEvent('focus')), g.getAttribute('aria-label') || '').startsWith(%q)).dispatchEvent(new MouseEvent('click'))", name)))
		b.until("document.querySelector('#unfollow')")
	}
	follow("line trunk.A-B")
	b.run(chromedp.Click(chromedp.CSS("#knob-trunk-down")), chromedp.Click(chromedp.CSS("#knob-trunk-up")))
	b.run(chromedp.Evaluate[chromedp.Void]("document.querySelector('#field-trunk-rate').value = ''"), chromedp.SendKeys(chromedp.CSS("#field-trunk-rate"), "nonsense"+kb.Enter))
	b.until("document.querySelector('#said').innerText === 'a rate such as 5Gb/s is wanted'")
	keep(t, "knobs", b.shot())
	b.run(chromedp.Evaluate[chromedp.Void]("document.querySelector('#field-trunk-rate').value = ''"), chromedp.SendKeys(chromedp.CSS("#field-trunk-rate"), "0.5GB/s"), chromedp.Click(chromedp.CSS("#set-trunk-rate")))
	b.until("document.querySelector('#said').innerText === ''")
	follow("switch A")
	b.run(chromedp.Click(chromedp.CSS("#set-A-restart")))
	follow("BC")
	b.run(chromedp.Click(chromedp.CSS("#set-BC-service")), chromedp.Click(chromedp.CSS("#knob-BC-unlimited")))
	want := []string{"link: trunk, state: down", "link: trunk, state: up", "link: trunk, rate: nonsense", "link: trunk, rate: 0.5GB/s", "switch: A, restart: 100us",
		"endpoint: BC, service: 8Gb/s", "endpoint: BC, service: unlimited"}
	runtest.Await(t, "all knobs are turned", func() bool { mu.Lock(); defer mu.Unlock(); return len(turned) == len(want) })
	if !slices.Equal(turned, want) {
		t.Errorf("turned: %q", turned)
	}
	moments[10].Done = []string{"{at: 4ms, link: trunk, state: down}", "{at: 5ms, link: trunk, state: up}"}
	s.Show(moments[10])
	b.until("document.querySelector('#done pre')?.innerText === 'events:\\n  - {at: 4ms, link: trunk, state: down}\\n  - {at: 5ms, link: trunk, state: up}\\n'")
	b.run(chromedp.Click(chromedp.CSS("#copy")))
	b.until("document.querySelector('#copy').innerText === 'Copied'")
	b.fine("422")
}

// TestPauseStorms: an endpoint has the knob for one where its link knows PAUSE, and no other.
func TestPauseStorms(t *testing.T) {
	for name, want := range map[string]int{"ethernet/pause-hol": 1, "hpl2002/fig3b": 0} {
		c := sceneOf(t, name)
		_, address := serve(t, c, script(t, c, 2), Options{Control: turning(func(string) error { return nil })})
		b := open(t, address, 1400, 1000, false)
		b.run(chromedp.Evaluate[chromedp.Void]("document.querySelector('.node:not(.switch)').dispatchEvent(new MouseEvent('click'))"))
		b.until("document.querySelector('#followed .knob')")
		if n := value[int](b, "document.querySelectorAll('#followed [id$=\"-on\"]').length"); n != want {
			t.Errorf("%s: %d knobs for a pause storm", name, n)
		}
	}
}

// TestKeyboard: everything that a mouse reaches, a keyboard reaches too.
func TestKeyboard(t *testing.T) {
	c, moments := congested(t)
	turned := make(chan string, 10)
	_, address := serve(t, c, moments, Options{Control: turning(func(change string) error { turned <- change; return nil })})
	b := open(t, address, 1400, 1000, false)
	press := func(keys string) {
		t.Helper()
		b.run(chromedp.KeyEvent(keys))
	}
	where := "(e => e.id || e.closest('[id]')?.id + ' ' + e.getAttribute('class'))(document.activeElement)"
	reached := map[string]bool{}
	tab := func() {
		t.Helper()
		for range 40 {
			press(kb.Tab)
			if at := value[string](b, where); reached[at] && at == "live" {
				return
			} else {
				reached[at] = true
			}
		}
	}
	// To the drawing; along the lane that is first; follow it.
	b.run(chromedp.Evaluate[chromedp.Void]("document.querySelector('#fabric [tabindex=\"0\"]').focus()"))
	seen := map[string]bool{}
	for range 4 {
		for range 30 {
			seen[value[string](b, "document.activeElement.getAttribute('aria-label')")] = true
			press(kb.ArrowRight)
		}
		press(kb.ArrowDown)
	}
	press(kb.Home)
	if len(seen) < 20 {
		t.Errorf("arrow keys reach %d things", len(seen))
	}
	press(kb.Enter)
	b.until("fabemu.followed && document.querySelector('#unfollow')")
	tab()
	for _, want := range []string{"chips chip", "flows null", "live", "scrub", "unfollow"} {
		if !reached[want] {
			t.Errorf("Tab does not reach %s, but %v", want, reached)
		}
	}
	knobs := 0
	for at := range reached {
		if strings.HasPrefix(at, "knob-") || strings.HasPrefix(at, "set-") || strings.HasPrefix(at, "field-") {
			knobs++
		}
	}
	if knobs < 3 {
		t.Errorf("Tab reaches %d knobs: %v", knobs, reached)
	}
	// The time.
	b.run(chromedp.Evaluate[chromedp.Void]("document.querySelector('#scrub').focus()"))
	press(kb.ArrowLeft + kb.ArrowLeft)
	b.until("fabemu.view === 297")
	press(kb.Home)
	b.until("fabemu.view === 0")
	b.run(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	press(" ")
	b.until("fabemu.view === 299")
	// A flow.
	b.run(chromedp.Evaluate[chromedp.Void]("document.querySelector('#flows ul').focus()"))
	press(kb.ArrowDown)
	b.until("fabemu.followed.flow === 1")
	b.until("document.querySelectorAll('.lane.on').length >= 2")
	// A knob.
	b.run(chromedp.Evaluate[chromedp.Void]("document.querySelector('#unfollow').focus()"))
	press(kb.Enter)
	b.until("fabemu.followed === null")
	b.fine()
}

// TestDraws200Machines: a fabric of two hundred nodes is drawn ten times a second: of the
// time of the processor that the page has for a moment at that pace, it takes a part.
func TestDraws200Nodes(t *testing.T) {
	src, err := generate.Write("leaf-spine", generate.Options{Endpoints: 180})
	if err != nil {
		t.Fatal(err)
	}
	c := sceneFrom(t, src)
	nodes := 0
	for _, n := range c.Nodes {
		nodes += len(n.Nodes)
	}
	if nodes < 200 {
		t.Fatalf("%d machines", nodes)
	}
	var chains [][]string
	for i := range c.Flows {
		if path := c.Flows[i].Path; i%3 == 0 {
			var names []string
			for _, l := range path {
				names = append(names, c.Lines[l].Name)
			}
			chains = append(chains, names)
		}
	}
	const before, shown = 100, 20
	moments := script(t, c, before+shown, chains...)
	s, address := serve(t, c, moments[:before], Options{})
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments === 100 && fabemu.settled")
	call(b, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	worked := func() float64 {
		t.Helper()
		m, err := chromedp.Call(b.Context, performance.GetMetrics, nothing)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range m.Metrics {
			if x.Name == "TaskDuration" {
				return x.Value
			}
		}
		t.Fatal("the browser does not say how long it worked")
		return 0
	}
	frames, spent, began := value[int](b, "fabemu.frames"), worked(), time.Now()
	for _, m := range moments[before:] {
		s.Show(m)
		time.Sleep(100 * time.Millisecond)
	}
	b.until("fabemu.view === fabemu.moments - 1 && fabemu.settled")
	took, drew, busy := time.Since(began), value[int](b, "fabemu.frames")-frames, worked()-spent
	keep(t, "machines", b.shot())
	t.Logf("%d machines: %d moments in %v, %d frames, %.1f ms of processor each", nodes, shown, took, drew, 1e3*busy/float64(drew))
	// A frame at ten a second has 100 ms. Where others have the processor frames are left out, but
	// those that are drawn take no more of it.
	if part := busy / float64(drew) / 0.1; !(part < 1) || drew < shown/8 {
		t.Errorf("%d frames of %d moments were drawn, each takes %.0f %% of a tenth of a second", drew, shown, 100*part)
	}
	b.fine()
}

// TestOpensAsAFile: the page of results needs no server.
func TestOpensAsAFile(t *testing.T) {
	c, moments := congested(t)
	path := t.TempDir() + "/page.html"
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Over = true
	if err := WritePage(file, c, moments); err != nil {
		t.Fatal(err)
	}
	file.Close()
	b := open(t, "file://"+path, 1400, 1000, false)
	b.until("fabemu.moments === 300 && fabemu.view === 299")
	b.mu.Lock()
	if len(b.asked) != 1 && !(len(b.asked) == 2 && strings.HasPrefix(b.asked[1], "data:")) {
		t.Errorf("it asks for %q", b.asked)
	}
	b.mu.Unlock()
	b.fine()
}

// TestContrast: words can be read on their grounds: 4.5 to at least 1, as in WCAG 2.2 in
// 1.4.3.
func TestContrast(t *testing.T) {
	for name, start := range map[string]string{"light": ":root { color-scheme", "dark": "dark) { :root {"} {
		_, block, found := strings.Cut(pageCSS, start)
		if !found {
			t.Fatalf("there are no colours for %s", name)
		}
		block, _, _ = strings.Cut(block, "}")
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]{3,6});`).FindAllStringSubmatch(block, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for _, word := range []string{"ink", "soft", "good", "bad", "fair", "dead", "busy", "stop"} {
			for _, ground := range []string{"ground", "card"} {
				a, b := colours[word], colours[ground]
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", name, word, ground, ratio)
				}
			}
		}
	}
}

// luminance is the relative luminance of a colour, as WCAG defines it.
func luminance(t testing.TB, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		v := float64(n>>(8*i)&0xFF) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// TestMomentsAreSmall: what a page is told of two hundred nodes ten times a second is little.
func TestMomentsAreSmall(t *testing.T) {
	src, err := generate.Write("leaf-spine", generate.Options{Endpoints: 180})
	if err != nil {
		t.Fatal(err)
	}
	c := sceneFrom(t, src)
	b, err := json.Marshal(script(t, c, 3)[2])
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes", len(b)); len(b) > 64<<10 {
		t.Errorf("a moment has %d bytes", len(b))
	}
}

// TestKeepsLongRuns: of a run of many moments the page keeps some, all of the time, and stays at
// the moment that it shows.
func TestKeepsLongRuns(t *testing.T) {
	c := sceneOf(t, "hpl2002/fig3b")
	moments := script(t, c, 2000)
	s, address := serve(t, c, moments[:1000], Options{Keep: 64 << 20})
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments === 1000")
	b.scrub(500)
	before := value[string](b, "document.querySelector('#at').innerText")
	for _, m := range moments[1000:] {
		s.Show(m)
		time.Sleep(time.Millisecond)
	}
	last := ms(moments[1999].ModelPs)
	b.until("document.querySelector('#live').click() || document.querySelector('#at').innerText === '" + last + "'")
	if n := value[int](b, "fabemu.moments"); n > 1500 {
		t.Errorf("the page keeps %d moments", n)
	}
	b.scrub(0)
	if at := value[string](b, "document.querySelector('#at').innerText"); at != ms(moments[0].ModelPs) {
		t.Errorf("the first moment is %s", at)
	}
	if before != ms(moments[500].ModelPs) {
		t.Errorf("moment 500 is at %s", before)
	}
	b.fine()
}

// ms prints an instant as the page does.
func ms(ps int64) string {
	if ps < 1e10 {
		return fmt.Sprintf("%.3f ms", float64(ps)/1e9)
	}
	return fmt.Sprintf("%.2f ms", float64(ps)/1e9)
}
