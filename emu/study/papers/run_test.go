package papers

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
)

// The metrics of the fabric.
const (
	root        = "root.B-BC.utilisation"
	trunk       = "trunk.A-B.utilisation"
	local       = "local.utilisation"
	remote      = "remote.utilisation"
	victim      = "victim.utilisation"
	remoteLocal = "remote.rate / local.rate"
)

// little is a paper of runs that take no time.
func little() (*Paper, []*Figure) {
	r := Run{Scenario: "hpl2002/fig3b"}.With("model.duration=3ms")
	claim := func(id string, q Quantity, low, high float64, differs string) Claim {
		return Claim{Check: scenario.Check{ID: id, Claim: "so <it> is", Metric: "a mean", Low: low, High: high, Why: "because", Reason: differs}, Value: q, Unit: Percent}
	}
	use := Mean(r, root, 2*ms, 3*ms)
	p := &Paper{Name: "little", Title: "A little paper", Source: "Author 2002", Figures: []Figure{{
		Name: "fig1", Source: "Fig. 1", Title: "Little", Caption: "A run of 3 ms.",
		Plots: []Plot{{X: plot.Axis{Label: "model time (ms)"}, Y: plot.Axis{Label: "rate (%)"}, Curves: []Curve{
			{Name: "root", Scale: 100, Course: &Course{r, root}},
			{Name: "points", Points: []Point{{1, use}, {2, use}}},
		}}},
		Claims: []Claim{
			claim("holds", use, 0.5, 1.01, ""),
			claim("fails", use, 2, 3, ""),
			claim("differs", use, 2, 3, "it was so written"),
			claim("unexpected", use, 0.5, 1.01, "it was so written"),
			claim("undefined", Over(use, minus(use, use)), 0, 1, ""),
			claim("seeds", Mean(Run{Scenario: r.Scenario, Sets: r.Sets, Seeds: true}, remoteLocal, 2*ms, 3*ms), 0, 10, ""),
		},
		Table: &Table{Title: "Choices", Columns: []string{"a", "b"}, Rows: []Row{{Claim: claim("", use, 0.5, 1.01, ""), Cells: []Quantity{use, sum(use, use)}}}},
	}}}
	claims := p.Figures[0].Claims
	claims[0].Basis, claims[0].Source = scenario.Quoted, "page 1"
	claims[1].Basis, claims[1].Source, claims[1].From = scenario.Derived, "page 2", "it must be"
	return p, []*Figure{&p.Figures[0]}
}

func outcomes(r *Result) map[string]report.Outcome {
	all := map[string]report.Outcome{}
	for _, f := range r.Figures {
		for _, c := range f.Claims {
			all[c.ID] = c.Outcome
		}
	}
	return all
}

func TestOutcomes(t *testing.T) {
	p, figures := little()
	last := Status{}
	r, err := Do(context.Background(), p, figures, Options{Seeds: 3, Options: emu.Options{Version: "v1"}, Progress: func(s Status) {
		if s.Share < last.Share || s.Share > 1+1e-9 || s.Done < last.Done {
			t.Errorf("from %+v to %+v", last, s)
		}
		last = s
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := outcomes(r)
	// By zero: there is no value.
	for id, want := range map[string]report.Outcome{"holds": report.Pass, "fails": report.Fail, "differs": report.Differs, "unexpected": report.UnexpectedPass, "undefined": report.Fail, "seeds": report.Pass} {
		if got[id] != want {
			t.Errorf("%s: %s, want %s", id, got[id], want)
		}
	}
	// The run of the plots and of all claims is done once; two further seeds, too.
	if len(r.Runs) != 3 || last.Done != 3 || last.Runs != 3 || last.Share < 1-1e-9 {
		t.Errorf("%d runs; at last %+v", len(r.Runs), last)
	}
	seeds := r.Figures[0].Claims[5]
	if seeds.Seeds != 3 || !(seeds.Deviation > 0) || !strings.Contains(seeds.Result(), "±") {
		t.Errorf("%+v", seeds)
	}
	if r.Verdict.Level != report.Virtual || r.Partial || r.Machine.Go == "" {
		t.Errorf("%+v", r.Verdict)
	}
	cells := r.Figures[0].Table.Rows[0].Cells
	if cells[0].Outcome != report.Pass || cells[1].Outcome != report.Fail || math.Abs(float64(cells[1].Value-2*cells[0].Value)) > 1e-12 {
		t.Errorf("%+v", cells)
	}
	f := r.Figures[0].Pictures[0].Figure.(*plot.Figure)
	if len(f.Curves) != 2 || len(f.Curves[0].X) != 31 || f.Curves[1].Y[0] != f.Curves[1].Y[1] || !strings.Contains(f.Subtitle, "window of 2ms") || f.Stamp != "" {
		t.Errorf("%+v", f)
	}
}

// The text, the page and the document have every claim; the page needs nothing else.
func TestWriteDir(t *testing.T) {
	p, figures := little()
	r, err := Do(context.Background(), p, figures, Options{Seeds: 2, Options: emu.Options{Version: "v1"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := r.WriteDir(dir, plot.Style{Formats: plot.Formats()}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fig1.svg", "fig1.png", ClaimsFile, TableFile, DocumentFile, PageFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(b) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		switch name {
		case PageFile:
			page := string(b)
			for _, want := range []string{"A little paper", "Author 2002; reproduced with", "so &lt;it&gt; is", "UNEXPECTED PASS", "<svg", "because", "it was so written", "defaults:", "processor", "Verdict: virtual"} {
				if !strings.Contains(page, want) && want != "defaults:" {
					t.Errorf("the page does not have %q", want)
				}
			}
			if outside := regexp.MustCompile(`(src|href)="[^#"]*"|url\(|@import|<script`).FindAllString(page, -1); outside != nil {
				t.Errorf("the page needs %q", outside)
			}
		case ClaimsFile:
			var back Result
			if err := json.Unmarshal(b, &back); err != nil || back.Figures[0].Claims[1].Outcome != report.Fail {
				t.Errorf("%v: %+v", err, back)
			}
		case TableFile:
			if n := strings.Count(string(b), "\n"); n != 7 {
				t.Errorf("%d lines for 6 claims:\n%s", n, b)
			}
		}
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, terminal.Look{Wide: 110}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"holds", "UNEXPECTED PASS", "DIFFERS", "1 of 1 quoted claims without a null result", "0 of 1 derived", `"so <it> is" (page`, "(derived", "it must be", "our expectation", "✗", "Verdict: virtual", dir} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not have %q:\n%s", want, text.String())
		}
	}
	for _, l := range strings.Split(text.String(), "\n") {
		if terminal.Columns(l) > 110 && !strings.Contains(l, dir) {
			t.Errorf("%d columns: %s", terminal.Columns(l), l)
		}
	}
}

// If a reproduction is ended early, a claim that was not run has no value, and is not said to hold.
func TestPartial(t *testing.T) {
	p, figures := little()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	r, err := Do(ctx, p, figures, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial || r.Tally().Of(report.Pass)+r.Tally().Of(report.UnexpectedPass) != 0 || r.Verdict.Level != report.Void {
		t.Errorf("%+v", r)
	}
	if err := r.WriteDir(t.TempDir(), plot.Style{}); err != nil {
		t.Error(err)
	}
	if err := r.WriteText(&bytes.Buffer{}, terminal.Look{Color: true}); err != nil {
		t.Error(err)
	}
}

// A figure that cannot be had is an error that names its run.
func TestMistakesOfAPaper(t *testing.T) {
	for name, q := range map[string]Quantity{
		"scenario": Mean(Run{Scenario: "hpl2002/fig9"}, root, 0, ms),
		"set":      Mean(Run{Scenario: "hpl2002/fig2"}.With("model.duration=never"), root, 0, ms),
		"edit":     Mean(Run{Scenario: "hpl2002/fig2", Edits: [][2]string{{"what is not there", ""}}}, root, 0, ms),
		"metric":   Mean(Run{Scenario: "hpl2002/fig2"}.With("model.duration=2ms"), "unknown.rate", 0, ms),
	} {
		f := &Figure{Name: name, Claims: []Claim{{Check: scenario.Check{ID: name, High: 1}, Value: q}}}
		if _, err := Do(context.Background(), &Paper{}, []*Figure{f}, Options{}); err == nil || !strings.Contains(err.Error(), "hpl2002/fig") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// On the wall clock the figures are the same: the events are those of the virtual
// clock.
func TestOnTheWallClock(t *testing.T) {
	p, figures := little()
	virtual, err := Do(context.Background(), p, figures, Options{Seeds: 1, Options: emu.Options{Digest: true}})
	if err != nil {
		t.Fatal(err)
	}
	wall, err := Do(context.Background(), p, figures, Options{Options: emu.Options{Settings: emu.Settings{Clock: emu.WallClock, Link: emu.Pipe, Dilation: 30}}})
	if err != nil {
		t.Fatal(err)
	}
	if wall.Clock != "wall" || wall.Dilation != 30 || len(wall.Runs) != 1 || wall.Seeds != 1 {
		t.Errorf("%+v", wall.Runs)
	}
	if wall.Runs[0].Digest != virtual.Runs[0].Digest {
		t.Error("the logs differ")
	}
	if a, b := wall.Figures[0].Claims[0].Value, virtual.Figures[0].Claims[0].Value; a != b {
		t.Errorf("%v on the wall clock, %v on the virtual one", a, b)
	}
}

func TestPrinting(t *testing.T) {
	inf := report.Number(math.Inf(1))
	for _, test := range []struct {
		c             ClaimResult
		out, accepted string
	}{
		{ClaimResult{Unit: Percent, Judged: report.Judged{Value: 0.3266, Low: 0.32, High: 0.33}}, "32.7 %", "32 to 33 %"},
		{ClaimResult{Unit: Percent, Deviation: 0.0012, Seeds: 5, Judged: report.Judged{Value: 0.0408, Low: 0, High: 0.043}}, "4.08 % ± 0.12", "0 to 4.3 %"},
		{ClaimResult{Unit: Points, Above: true, Judged: report.Judged{Value: -0.001, Low: positive, High: inf}}, "-0.1 pt", "above 0 pt"},
		{ClaimResult{Above: true, Judged: report.Judged{Value: 1.2, Low: report.Number(math.Nextafter(1, 2)), High: inf}}, "1.2", "above 1"},
		{ClaimResult{Below: true, Judged: report.Judged{Value: 0.2, Low: -inf, High: report.Number(math.Nextafter(1, 0))}}, "0.2", "below 1"},
		{ClaimResult{Above: true, Judged: report.Judged{Value: 0.2, Low: positive, High: 0.5}}, "0.2", "above 0, at most 0.5"},
		{ClaimResult{Judged: report.Judged{Value: 1234.4, Low: 1, High: inf}}, "1234", "at least 1"},
		{ClaimResult{Unit: Milliseconds, Judged: report.Judged{Value: 0.0366, Low: -inf, High: inf}}, "36.6 ms", "any"},
		{ClaimResult{Judged: report.Judged{Value: report.Missing(), Low: -inf, High: 2}}, "undefined", "at most 2"},
		{ClaimResult{Judged: report.Judged{Value: 0, Low: 3, High: 3}}, "0", "3"},
		{ClaimResult{Judged: report.Judged{Value: 1.0516, Low: 1, High: 1.0524}}, "1.05", "1 to 1.0524"},
	} {
		if out, accepted := test.c.Result(), test.c.Accepted(); out != test.out || accepted != test.accepted {
			t.Errorf("%+v: %q, %q; want %q, %q", test.c, out, accepted, test.out, test.accepted)
		}
	}
}

// A picture names each source once.
func TestSourceOfAFigure(t *testing.T) {
	for _, c := range []struct{ paper, figure, want string }{
		{"HPL-2002-224", "Fig. 2", "HPL-2002-224, Fig. 2"},
		{"SAI; uet-htsim; IEEE 802.1Qbb", "IEEE 802.1Qbb", "IEEE 802.1Qbb"},
		{"SAI; uet-htsim; IEEE 802.1Qbb", "SAI; uet-htsim", "SAI; uet-htsim"},
		{"SAI; uet-htsim", "SAI; incast.cm", "SAI; uet-htsim, SAI; incast.cm"},
	} {
		if got := (&Paper{Source: c.paper}).sourceOf(&Figure{Source: c.figure}); got != c.want {
			t.Errorf("%q", got)
		}
	}
}
