package papers

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"fabemu/emu"
	"fabemu/emu/scenario"
)

func TestModelPapersAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, test := range []struct {
		name    string
		figures int
		err     []string
	}{
		{"hpl2002", 12, nil},
		{"hpl2002/fig4a", 1, nil},
		{"qcn", 13, nil},
		{"qcn/unit-step", 1, nil},
		{"bcn/parking-lot", 1, nil},
		{"compare-schemes", 6, nil},
		{"compare-schemes-short/cut", 1, nil},
		{"compare-schemes/cuts", 0, []string{`no figure named "cuts" (did you mean "cut"?)`}},
		{"compare", 0, []string{`no paper named "compare"`, "compare-schemes, compare-schemes-short"}},
		{"e2cm", 5, nil},
		{"cca", 7, nil},
		{"dcqcn", 7, nil},
		{"timely", 4, nil},
		{"swift", 2, nil},
		{"htsim", 4, nil},
		{"uet", 13, nil},
		{"tcp-red", 5, nil},
		{"workloads", 3, nil},
		{"pfc", 10, nil},
		{"cbfc", 11, nil},
		{"llr", 9, nil},
		{"links", 5, nil},
		{"paths", 2, nil},
		{"hpl2002/fig4", 0, []string{`no figure named "fig4" (did you mean "fig4a"?)`, "it has fig4a, fig4b,"}},
		{"hpl2002/sensitivty", 0, []string{`did you mean "sensitivity"?`}},
		{"hpl2002/", 0, []string{`no figure named ""`, "footnotes"}},
		{"hpl2002/zzzzzzzzzzzzzzzz", 0, []string{`no figure named "zzzzzzzzzzzzzzzz": it has`}},
		{"hpl2020", 0, []string{`no paper named "hpl2020" (did you mean "hpl2002"?)`}},
		{"fig4a", 0, []string{"the figure is hpl2002/fig4a"}},
		{"", 0, []string{`no paper named "": there are hpl2002, qcn, bcn, e2cm, cca, dcqcn, timely, swift, hpcc, htsim, uet, tcp-red, workloads, pfc, cbfc, llr, links, paths, compare-schemes`}},
	} {
		_, figures, err := Find(test.name)
		if len(figures) != test.figures {
			t.Errorf("%q: %d figures, want %d", test.name, len(figures), test.figures)
		}
		var mistake *emu.Mistake
		if (err != nil) != (test.err != nil) || err != nil && !errors.As(err, &mistake) {
			t.Errorf("%q: %v", test.name, err)
			continue
		}
		for _, want := range test.err {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v; it does not say %q", test.name, err, want)
			}
		}
	}
}

// What a paper needs is there, and all its runs can be opened.
func TestModelPapersAreWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, p := range Papers() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			paperIsWhole(t, p)
		})
	}
}

func paperIsWhole(t *testing.T, p *Paper) {
	if p.Name == "" || p.Title == "" || p.Source == "" {
		t.Errorf("%+v", p)
	}
	var names, ids, pictures []string
	once := func(list *[]string, what, name string) {
		if name == "" || slices.Contains(*list, name) {
			t.Errorf("%s: the %s %q is there twice, or empty", p.Name, what, name)
		}
		*list = append(*list, name)
	}
	var figures []*Figure
	for i := range p.Figures {
		f := &p.Figures[i]
		words := map[string]claimWords{}
		if f.words != nil {
			for _, row := range f.words().Figures[f.Name].Claims {
				words[row.ID] = row
			}
			delete(words, "") // scenarios whose claims are taken over
		}
		f.whole()
		figures = append(figures, f)
		once(&names, "figure", f.Name)
		if f.Source == "" || f.Title == "" {
			t.Errorf("%s: no source or title", f.Name)
		}
		for _, x := range f.Plots {
			if x.Name == "" {
				x.Name = f.Name
			}
			once(&pictures, "picture", x.Name)
			if !slices.Contains([]string{"flows", "credits", "lost frames (%)", "spine", "flow, in the order of completion"}, x.X.Label) && !strings.Contains(x.X.Label, "model time") || !strings.ContainsAny(x.Y.Label, "(/") {
				t.Errorf("%s: the axes do not say their unit and which time it is: %q, %q", x.Name, x.X.Label, x.Y.Label)
			}
		}
		for id := range words {
			if pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{.*?\\\}`).ReplaceAllString(regexp.QuoteMeta(id), ".+") + "$"); !slices.ContainsFunc(f.Claims, func(c Claim) bool { return pattern.MatchString(c.ID) }) {
				t.Errorf("%s: nothing is measured for the claim %s", f.Name, id)
			}
		}
		for _, c := range f.Claims {
			once(&ids, "claim", c.ID)
			if c.Claim == "" || c.Metric == "" || c.Why == "" {
				t.Errorf("%s: something is not said: %+v", c.ID, c)
			}
			switch c.Basis {
			case scenario.Quoted:
				if c.Source == "" || c.From != "" {
					t.Errorf("%s is quoted, and has no place, or a derivation: %+v", c.ID, c)
				}
			case scenario.Derived:
				if c.Source == "" || c.From == "" {
					t.Errorf("%s is derived, and does not say from where, or how: %+v", c.ID, c)
				}
			case scenario.Ours, "":
				if c.From != "" {
					t.Errorf("%s is ours, and has a derivation: %+v", c.ID, c)
				}
			default:
				t.Errorf("%s rests on %q", c.ID, c.Basis)
			}
			nullResult(t, p, &c)
			if !(c.Low <= c.High) || math.IsInf(c.Low, -1) && math.IsInf(c.High, 1) {
				t.Errorf("%s: the range %v to %v can hold nothing, or everything", c.ID, c.Low, c.High)
			}
		}
		if f.Matrix != nil {
			for _, row := range f.Matrix.Rows {
				if len(row.Cells) != len(f.Matrix.Columns) {
					t.Errorf("%s: %s has %d cells", f.Name, row.Name, len(row.Cells))
				}
			}
		}
		if f.Table == nil {
			continue
		}
		for _, row := range f.Table.Rows {
			if len(row.Cells) != len(f.Table.Columns) {
				t.Errorf("%s: %q has %d cells", f.Name, row.Claim.Claim, len(row.Cells))
			}
		}
	}
	b := collect(figures, Options{Seeds: 1}) // a scenario opens with each seed or with none
	if err := b.open(b.jobs); err != nil {
		t.Error(err)
	}
	if n := len(b.jobs); n < 10 || p.Name == "hpl2002" && n < 150 || n > 1000 {
		t.Errorf("%s has %d runs", p.Name, n)
	}
}

// unfilled are papers whose claims have no null results yet.
var unfilled = []string{}

// nullResult wants of a claim that its range excludes the result if nothing works, or a
// sentence why that cannot be. What is measured is wanted in TestDocuments.
func nullResult(t *testing.T, p *Paper, c *Claim) {
	t.Helper()
	n := c.Null
	ways := 0
	for _, given := range []bool{n.Value != nil, n.Set != nil, n.None != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0 && n.How == "" && slices.Contains(unfilled, p.Name):
	case ways != 1 || (n.How == "") != (n.None != ""):
		t.Errorf("%s wants one null result, a value or changes with how that results, or why there is none: %+v", c.ID, n)
	case n.Value != nil && !c.excludes(*n.Value):
		t.Errorf("%s accepts %v to %v, which does not exclude the null result, %v: %s", c.ID, c.Low, c.High, *n.Value, n.How)
	}
}

// What is quoted beyond the five documents is of a text that is public, and that the paper names.
func TestModelQuotedTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const five = "" // the paper is one of the five
	texts := map[string]map[string]string{
		"hpl2002": {"": five}, "qcn": {"": five}, "bcn": {"": five}, "e2cm": {"": five},
		"cca":    {"drivers/infiniband/hw/hfi1 of Linux": "`drivers/infiniband/hw/hfi1` of Linux", "opensm/osm_subnet.c": "`opensm/osm_subnet.c`"},
		"timely": {"abstract": "doi 10.1145/2999572.2999593", "Algorithm 1": "src/cc/timely.h"},
		"swift":  {"Algorithm 1": "`sim/swift.cpp` of github.com/Broadcom/csg-htsim"},
		"pfc": {"PFC_test.md": "`PFC_test.md`", "PFCWD_BASIC.md": "`pfcwd/PFCWD_BASIC.md`",
			"PFCWD_2SENDER_2RECEIVER.md": "`pfcwd/PFCWD_2SENDER_2RECEIVER.md`", "ECN_test.md": "`ECN_test.md`",
			"#25475": "#25475", "#25476": "#25476", "#27207": "#27207", "#5239": "#5239", "#6733": "#6733", "#14123": "#14123", "#27589": "#27589"},
		"cbfc":    {"SONiC-ScaleUp-Test-Standard.md": "`SONiC-ScaleUp-Test-Standard.md`"},
		"llr":     {"LLR_TestPlan.md": "`LLR_TestPlan.md`"},
		"tcp-red": {"slide": five, "abstract": "doi 10.1109/90.251892"},
		"dcqcn": {"abstract": "doi 10.1145/2999572.2999593", "issue 12": "aliyun/ns-3-alibabacloud, issue 12",
			"issue 14": "High-Precision-Congestion-Control, issue 14", "README": "README of github.com/sc20anonymous/DCQCN-validation"},
		"hpcc":      {"issue 14": "High-Precision-Congestion-Control, issue 14"},
		"workloads": {"HPCC, abstract": "doi 10.1145/3341302.3342085"},
	}
	for _, p := range Papers() {
		known := texts[p.Name]
		for i := range p.Figures {
			f := &p.Figures[i]
			f.whole()
			for _, c := range f.Claims {
				if c.Basis != scenario.Quoted && !strings.Contains(c.From, `"`) {
					continue
				}
				named := false
				for source, at := range known {
					named = named || strings.HasPrefix(c.Source, source) && strings.Contains(p.About, at)
				}
				if !named {
					t.Errorf("%s quotes %q, a text of which the paper does not say where it is: tell it, or name it", c.ID, c.Source)
				}
			}
		}
	}
}

// A range that holds the null result is found.
func TestNullResults(t *testing.T) {
	_, figures := little()
	use := figures[0].Claims[0].Value
	for _, test := range []struct {
		name  string
		null  Null
		want  string
		holds bool
	}{
		{"argued, outside", Null{Value: new(0.4), How: "Half of it."}, "40 %: Half of it.", false},
		{"argued, within", Null{Value: new(0.6), How: "All is equal."}, "60 %, WITHIN THE RANGE: All is equal.", true},
		{"undefined", Null{Value: new(math.NaN()), How: "No source is notified."}, "no value: No source is notified.", false},
		{"measured, within", Null{Set: []string{"model.seed=7"}, How: "Another seed."}, "88.9 %, WITHIN THE RANGE: measured with model.seed=7: Another seed.", true},
		{"measured, outside", Null{Set: []string{"defaults.flow.traffic=bernoulli", "defaults.flow.load=0.01"}, How: "Slow sources."}, "", false},
		{"none", Null{None: "The link is full anyway."}, "–: The link is full anyway.", false},
	} {
		p := &Paper{Name: "little", Figures: []Figure{{Name: "fig1", Claims: []Claim{{Check: scenario.Check{ID: "x", Low: 0.5, High: 1.01}, Value: use, Unit: Percent, Null: test.null}}}}}
		r, err := Do(t.Context(), p, []*Figure{&p.Figures[0]}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := &r.Figures[0].Claims[0]
		if got := c.Null.value(c) + ": " + c.Null.why(); c.Null.Within != test.holds || test.want != "" && got != test.want {
			t.Errorf("%s: %q, within is %v; want %q, %v", test.name, got, c.Null.Within, test.want, test.holds)
		}
	}
}

// Each claim of IB-1 to IB-15 that a run can show has a row, and Fig. 3(d) has one for
// each version of the paper.
func TestClaimsOfHPL2002(t *testing.T) {
	var ids []string
	versions := 0
	for _, f := range paperNamed("hpl2002").Figures {
		f.whole()
		for _, c := range f.Claims {
			ids = append(ids, c.ID)
			if f.Name == "fig3d" && strings.Contains(c.Source, "version") {
				versions++
			}
			if c.ID == "IB-7c" && c.Reason == "" {
				t.Error("that the rates are about equal (second version) does not hold")
			}
		}
	}
	for _, want := range []string{"IB-1", "IB-3", "IB-4", "IB-5", "IB-6", "IB-7", "IB-8", "IB-9", "IB-10", "IB-11", "IB-12", "IB-13", "IB-14", "IB-16"} {
		if !slices.ContainsFunc(ids, func(id string) bool {
			return strings.HasPrefix(id, want) && !strings.ContainsAny(strings.TrimPrefix(id, want)[:min(1, len(id)-len(want))], "0123456789")
		}) {
			t.Errorf("no claim is %s", want)
		}
	}
	if versions < 2 {
		t.Errorf("%d claims of Fig. 3(d) name a version", versions)
	}
}

// A figure is in the list of papers and in the words of its paper.
func TestFiguresAreInBothFiles(t *testing.T) {
	x := index{Name: "p"}
	x.Figures = append(x.Figures, struct{ Name, Source, Title string }{Name: "a"})
	for _, c := range []struct{ have, want string }{
		{"figures: {a: {}}", ""},
		{"figures: {}", "papers.yaml: figure a of p is not under figures in p.yaml"},
		{"figures: {a: {}, b: {}}", "p.yaml: figure b is not listed in papers.yaml, under figures of p"},
	} {
		var w paperWords
		if err := yaml.Load([]byte(c.have), &w); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := x.matches(&w); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.have, got, c.want)
		}
	}
}
