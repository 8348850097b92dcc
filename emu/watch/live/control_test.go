package live

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/chromedp/chromedp"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// TestButtonsAndCommands: a button of the page and the words of fabemu set make the same event.
func TestButtonsAndCommands(t *testing.T) {
	s := runtest.Load(t, runtest.Text(t, "ethernet/pause-hol"), runtest.Sets(t, "defaults.link.rate=10Gb/s")...)
	const at = 5 * unit.Millisecond
	c := sceneFrom(t, []byte(runtest.Text(t, "ethernet/pause-hol")))
	var mu sync.Mutex
	var made []string
	_, address := serve(t, c, script(t, c, 2), Options{Control: &Control{Scenario: s, Apply: func(_ context.Context, change string) (scenario.Event, error) {
		_, e, err := resolve.Happen(s, change, at)
		mu.Lock()
		defer mu.Unlock()
		made = append(made, fmt.Sprint(e.Text(), err))
		return e, err
	}}})
	b := open(t, address, 1400, 1200, false)
	follow := func(name string) {
		t.Helper()
		b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("[...document.querySelectorAll('.node, .lane')].find(g => (g.dispatchEvent(new FocusEvent('focus')), g.getAttribute('aria-label') || '').startsWith(%q)).dispatchEvent(new MouseEvent('click'))", name)))
		b.until("document.querySelector('#unfollow')")
	}
	for _, x := range []struct{ follow, click, words string }{
		{"line trunk", "#knob-trunk-down", "link trunk down"},
		{"", "#knob-trunk-up", "link trunk up"},
		{"", "#set-trunk-loss", "link trunk loss 0.01 for 1ms from FROM"},
		{"", "#set-trunk-rate", "link trunk rate RATE"},
		{"switch", "[id^=set-][id$=-restart]", "switch NAME restart 100us"},
		{"ENDPOINT", "[id^=knob-][id$=-on]", "storm NAME"},
		{"", "[id^=knob-][id$=-off]", "storm NAME off"},
		{"", "[id^=knob-][id$=-stopped]", "endpoint NAME sink stopped"},
		{"", "[id^=knob-][id$=-running]", "endpoint NAME sink running"},
		{"", "[id^=set-][id$=-service]", "endpoint NAME service 1GB/s"},
	} {
		switch x.follow {
		case "":
		case "ENDPOINT":
			follow(s.Endpoints[0].Name)
		default:
			follow(x.follow)
		}
		mu.Lock()
		before := len(made)
		mu.Unlock()
		b.run(chromedp.Click(chromedp.CSS(x.click)))
		runtest.Await(t, x.words, func() bool { mu.Lock(); defer mu.Unlock(); return len(made) > before })
		values := strings.NewReplacer("NAME", s.Endpoints[0].Name, "FROM", c.Lines[0].From, "RATE", "")
		if strings.HasPrefix(x.words, "switch") {
			values = strings.NewReplacer("NAME", value[string](b, "document.querySelector('#followed h3').innerText.replace('Switch ', '')"))
		}
		if strings.HasPrefix(x.words, "link") {
			from := value[string](b, "document.querySelector('#followed h3').innerText.replace(/^.*[.]/, '').split('-')[0]")
			values = strings.NewReplacer("FROM", from, "RATE", value[string](b, "document.querySelector('#field-trunk-rate').value"))
		}
		line, err := scenario.Command(strings.Fields(values.Replace(x.words)))
		if err != nil {
			t.Fatal(err)
		}
		_, e, err := resolve.Happen(s, line, at)
		if want := fmt.Sprint(e.Text(), err); err != nil || made[before] != want {
			t.Errorf("%s: the button makes %s, the words %s", x.words, made[before], want)
		}
	}
	keep(t, "buttons", b.shot())
	b.fine("422")
}

// TestAskedBeforeTheRun: a request that comes before the Control is an observer of the run is
// answered by the first snapshot, not at the end of the run.
func TestAskedBeforeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runtest.Load(t, runtest.Text(t, "ethernet/pause-hol"))
		c := &Control{Scenario: s, Clock: mode.WallClock}
		answer := httptest.NewRecorder()
		go c.serveStatus(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/status", nil))
		synctest.Wait()
		request := c.Request()
		synctest.Wait()
		select {
		case <-request.Ask:
		default:
			t.Fatal("no request for a snapshot")
		}
		c.set(state{status: c.status(s, c.unobserved(7))})
		synctest.Wait()
		if got := answer.Body.String(); !strings.Contains(got, `"model_ps":7,`) {
			t.Errorf("the answer is %s", got)
		}
	})
}

// TestActiveFaultsOnThePage: the page lists the faults of the moment that it shows.
func TestActiveFaultsOnThePage(t *testing.T) {
	c := sceneOf(t, "ethernet/pause-hol")
	moments := script(t, c, 3)
	moments[1].Active = []ActiveFault{{SincePs: 2_000_000_000, Text: "link trunk: loss of 0.01"}, {SincePs: 3_000_000_000, Text: "watchdog of S: storm of priority 3 on S-h3", Words: "The watchdog of S drops."}}
	s, address := serve(t, c, moments, Options{})
	b := open(t, address, 1400, 1200, false)
	b.until("fabemu.moments === 3 && document.querySelector('#active').hidden")
	b.scrub(1)
	b.until("!document.querySelector('#active').hidden")
	keep(t, "active", b.shot())
	if got := value[string](b, "document.querySelector('#active').innerText.replace(/\\s+/g, ' ')"); got != "Active faults link trunk: loss of 0.01 since 2.000 ms watchdog of S: storm of priority 3 on S-h3 since 3.000 ms" {
		t.Errorf("the page lists %q", got)
	}
	if got := value[string](b, "document.querySelector('#cause').innerText"); got != "The watchdog of S drops." {
		t.Errorf("it says %q of who stops whom", got)
	}
	moments[2].Active = moments[1].Active[:1]
	s.Show(moments[2])
	b.until("fabemu.moments === 4")
	b.scrub(3)
	if got := value[string](b, "document.querySelector('#cause').innerText"); got != "No line is stopped as a whole; link trunk: loss of 0.01." {
		t.Errorf("it says %q of who stops whom", got)
	}
	b.fine()
}

// A storm is told with what the watchdog does about it.
func TestStormWords(t *testing.T) {
	storm := []report.Storm{{Node: "S", Link: "trunk.S-T", Priority: 3, FromPs: 5}}
	for action, want := range map[string]string{
		"drop":    "The watchdog of S drops the frames of priority 3 on trunk.S-T, because of a PFC storm.",
		"forward": "The watchdog of S sends the frames of priority 3 on trunk.S-T in spite of PFC, because of a storm.",
		"alert":   "The watchdog of S reports a PFC storm: the frames of priority 3 on trunk.S-T are stopped.",
		"":        "The watchdog of S reports a PFC storm: the frames of priority 3 on trunk.S-T are stopped.",
	} {
		storm[0].Action = action
		if got := newState(nil, found{storms: storm}, &report.Verdict{}, 10).Active; len(got) != 1 || got[0].Words != want {
			t.Errorf("%s: %+v, want %q", action, got, want)
		}
	}
	if got := newState(nil, found{storms: storm}, &report.Verdict{}, 4).Active; len(got) != 0 {
		t.Errorf("before it was found: %+v", got)
	}
}

// TestLabelsOfRates: the label of a link has the rate of the moment that the page shows, and no
// rate where that is the one of most links.
func TestLabelsOfRates(t *testing.T) {
	c := sceneOf(t, "ethernet/pause-hol")
	s := *c.fabric.Scenario
	const ms, gig = unit.Millisecond, 1_000_000_000 * unit.BitPerSecond
	s.Events = []scenario.Event{
		{At: 3 * ms, Link: "trunk", Act: scenario.RateChange{Rate: 10 * gig}}, {At: 1 * ms, Link: "trunk", Act: scenario.RateChange{Rate: 5 * gig}}, {At: 2 * ms, Link: "B - BV", Act: scenario.RateChange{Rate: 2 * gig}},
	}
	moments := script(t, c, 4)
	for n, m := range moments {
		m.Labels = c.labels(&s, unit.Time(n)*unit.Time(ms))
	}
	_, address := serve(t, c, moments, Options{})
	b := open(t, address, 1400, 1200, false)
	b.until("fabemu.moments === 4")
	for n, want := range []string{
		"root, 2.5Gb/s;trunk", "root, 2.5Gb/s;trunk, 5Gb/s", "2Gb/s;root, 2.5Gb/s;trunk, 5Gb/s", "2Gb/s;root, 2.5Gb/s;trunk",
	} {
		b.scrub(n)
		if got := value[string](b, "[...document.querySelectorAll('text.label')].map(x => x.textContent).filter(Boolean).sort().join(';')"); got != want {
			t.Errorf("after %d ms the labels are %q, want %q", n, got, want)
		}
	}
	keep(t, "labels", b.shot())
	b.fine()
}
