package yaml_test

import (
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// garden is a small language.
type garden struct {
	Name string   `key:"name" form:"text" need:"given" doc:"Its name."`
	Size int      `key:"size" low:"1" high:"9" def:"4" also:"area" doc:"Its size."`
	_    struct{} `key:"defaults" form:"defaults" doc:"Fields of all beds."`
	_    struct{} `key:"beds" form:"beds" doc:"The beds."`
	_    struct{} `key:"pots" form:"pots" doc:"The pots, by name."`
}

type bed struct {
	Name  string        `key:"name" form:"text" need:"given" doc:"Its name."`
	Plant string        `key:"plant" words:"rose|lily" def:"rose" doc:"What grows there."`
	Water unit.Duration `key:"water" low:"above 0s" computed:"never" doc:"How often it gets water."`
}

// grammar reads a garden.
type grammar struct{ garden *param.Struct }

func newGrammar() grammar {
	text := param.Param{Kind: param.Text, Form: &param.Form{Wanted: "a text", Read: func(s string) (any, error) { return s, nil }}}
	object := func(v any) param.Param {
		return param.Param{Kind: param.Object, Object: param.Of(v, param.Forms{"text": text})}
	}
	item, behind, pot := object(bed{}), object(struct {
		Water unit.Duration `key:"water" low:"above 0s" computed:"never" doc:"How often they get water."`
	}{}), object(struct {
		Plant string `key:"plant" words:"rose|lily" def:"rose" doc:"What grows there."`
	}{})
	return grammar{param.Of(garden{}, param.Forms{"text": text,
		"defaults": behind,
		"beds":     {Kind: param.List, Item: &item, Named: "name", Short: "name"},
		"pots":     {Kind: param.Map, Item: &pot, Form: text.Form},
	})}
}

func (g grammar) Language() *param.Param {
	return &param.Param{Kind: param.Object, Object: g.garden}
}
func (grammar) Own(*param.Struct, *yaml.Node, *yaml.Node) *param.Struct       { return nil }
func (grammar) Elsewhere(_ *param.Struct, _ *param.Param, word string) string { return "" }

// read reads a garden with changes.
func read(text string, sets ...string) *yaml.File {
	f, g := yaml.NewFile("garden.yaml", text), newGrammar()
	root := f.Parse()
	if f.Err() != nil || !f.Begin(root, g) {
		return f
	}
	for _, text := range sets {
		s, err := place.ParseSet(text)
		if err != nil {
			panic(err)
		}
		f.Apply(s)
	}
	f.Read(root, g.Language())
	return f
}

const good = `name: mine
defaults: {water: 2s}
beds:
  - {name: north, plant: lily}
  - south
pots: {door: {plant: rose}}
`

// An object has its own values, or those behind it, or the built-in ones, and each comes from its
// node.
func TestViews(t *testing.T) {
	f := read(good, "beds.south.water=3s", "size=5")
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	root, of := f.Root, newGrammar().garden.Find("beds").Item.Object
	if top := yaml.Build[garden](yaml.View{Of: newGrammar().garden, Chain: [2]*yaml.Node{root}}); top.Name != "mine" || top.Size != 5 {
		t.Errorf("%+v", top)
	}
	for i, want := range []bed{{"north", "lily", 2 * unit.Second}, {"south", "rose", 3 * unit.Second}} {
		v := yaml.View{Of: of, Chain: [2]*yaml.Node{root.Get("beds").Items[i], root.Get("defaults")}}
		if got := yaml.Build[bed](v); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		from := []string{"defaults.water", "beds.south.water"}[i]
		if n := v.Node("water"); n.Path != from || (n.At.Set != nil) != (i == 1) {
			t.Errorf("water of %s is from %s in %+v", want.Name, n.Path, n.At)
		}
	}
}

// All mistakes are listed, each once, in the order of the lines. Those of --set come last.
func TestMistakes(t *testing.T) {
	f := read(`name:
size: 12
beds:
  - {plant: rosse, watr: 1s}
  - {name: b, water: 0s, colour: red}
pots: [1]
`, "beds.b.plant=oak", "beds.c.plant=rose", "sizes=2")
	f.Add(f.Root.Get("size").Spot, "again")
	f.Add(f.Root.Get("size").Spot, "again")
	var got []string
	for _, e := range f.Err().(*place.Errors).List {
		got = append(got, e.Error())
	}
	want := []string{
		`garden.yaml:1:1: name: the value is missing: expected a text`,
		`garden.yaml:2:7: size: "12" is not a whole number from 1 to 9`,
		`garden.yaml:2:7: size: again`,
		`garden.yaml:4:5: beds[0]: missing: name (a text)`,
		`garden.yaml:4:13: beds[0].plant: "rosse" is not one of rose, lily (did you mean "rose"?)`,
		`garden.yaml:4:20: beds[0]: unknown key "watr" (did you mean "water"?): allowed here are water, name, plant`,
		`garden.yaml:5:22: beds.b.water: "0s" is zero: it must be above zero`,
		`garden.yaml:5:26: beds.b: unknown key "colour": allowed here are name, plant, water`,
		`garden.yaml:6:7: pots: found a list: expected a text`,
		`--set beds.c.plant=rose: beds has no item "c": it has b`,
		`--set sizes=2: a scenario has no field "sizes" (did you mean "size"?): it has size, name, beds, pots, defaults`,
		`--set beds.b.plant=oak: "oak" is not one of rose, lily`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A path has the place of its value; without one, none.
func TestLocate(t *testing.T) {
	f := read(good, "pots.door.plant=lily")
	spots := map[string]place.Spot{"beds.north.plant": {}, "beds[1]": {}, "pots.door": {}, "pots.door.plant": {}, "beds.east": {}}
	f.Root.Locate(spots)
	for path, want := range map[string][2]int{"beds.north.plant": {4, 26}, "beds[1]": {5, 5}, "pots.door": {6, 14}, "beds.east": {}} {
		if at := spots[path].At; [2]int{at.Line, at.Column} != want {
			t.Errorf("%s is at %+v, want %v", path, at, want)
		}
	}
	if at := spots["pots.door.plant"].At; at.Set == nil || at.Line != 0 {
		t.Errorf("a value of --set is at %+v", at)
	}
}

// What is not YAML, or more of it than a file may have, is one mistake.
func TestNoFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "the file is empty",
		"# nothing\n":                       "the file is empty",
		"a: b\n--- \nc: d\n":                "a second document starts here",
		"a: \xff\n":                         "the file is not UTF-8 text",
		"a: \a\n":                           "U+0007",
		"- a\n":                             "found a list: expected a mapping",
		"name: *b\n":                        "aliases",
		strings.Repeat("[", 1000):           "100 deep",
		"name: a\nname: b\n":                `duplicate key "name"`,
		"a: " + strings.Repeat("b", 16<<20): "at most",
	} {
		err := read(text).Err()
		if err == nil || !strings.Contains(err.Error(), want) || len(err.(*place.Errors).List) != 1 {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

// FuzzRead: whatever the text and the change, each mistake has a place in the file or is one of
// --set, in order, and what is right can be built.
func FuzzRead(f *testing.F) {
	runtest.MinimizeLittle(f)
	for _, src := range append(runtest.Mutants([]byte(good), 40), []byte(good)) {
		f.Add(string(src), "beds.south.water=3s")
	}
	f.Add("beds: {a: b}", "beds.a=2")
	f.Add("pots: {a: }", "pots.a.plant=lily")
	f.Fuzz(func(t *testing.T, text, set string) {
		var sets []string
		if _, err := place.ParseSet(set); err == nil {
			sets = append(sets, set)
		}
		r := read(text, sets...)
		if err := r.Err(); err != nil {
			lines := strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n")
			last := place.Error{Line: 1}
			for _, e := range err.(*place.Errors).List {
				switch {
				case e.Message == "" || e.Error() == "":
					t.Errorf("%+v", e)
				case e.Line == 0:
				case last.Line == 0 || e.Line < last.Line || e.Line > len(lines):
					t.Errorf("line %d of %d, after %d: %s", e.Line, len(lines), last.Line, e.Message)
				}
				last = e
			}
			return
		}
		g := newGrammar().garden
		if top := yaml.Build[garden](yaml.View{Of: g, Chain: [2]*yaml.Node{r.Root}}); top.Size < 1 || top.Size > 9 {
			t.Errorf("%+v", top)
		}
		if beds := r.Root.Get("beds"); beds != nil {
			for _, n := range beds.Items {
				yaml.Build[bed](yaml.View{Of: g.Find("beds").Item.Object, Chain: [2]*yaml.Node{n, r.Root.Get("defaults")}})
			}
		}
	})
}
