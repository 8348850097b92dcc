package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/scenario/schema"
	"fabemu/wire/param"
)

// validator compiles the schema, which must itself be one of draft 7.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.JSON(scenario.Language())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	v, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// validate asks the schema about the text of a scenario, as an editor does.
func validate(t *testing.T, v *jsonschema.Schema, src []byte) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(src, &value); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(worded(value))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.Validate(doc)
}

// worded returns a value whose keys are words, as those of JSON: an editor takes 3 for "3".
func worded(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = worded(v)
		}
	case map[any]any:
		words := map[string]any{}
		for k, v := range value {
			words[fmt.Sprint(k)] = worded(v)
		}
		return words
	case []any:
		for i, v := range value {
			value[i] = worded(v)
		}
	}
	return value
}

// TestScenarios: the schema lets pass the scenarios that come with the program,
// the examples and what is generated, as they are and resolved.
func TestScenarios(t *testing.T) {
	v := validator(t)
	sources := map[string][]byte{}
	for _, e := range builtin.List() {
		src, err := builtin.Read(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		sources[e.Name] = src
	}
	examples, err := filepath.Glob("../../../docs/examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range examples {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources[file] = src
	}
	for _, k := range generate.Kinds() {
		src, err := generate.Write(k.Name, generate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sources[k.Name] = src
	}
	for name, src := range sources {
		s, err := resolve.Load(name, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := resolve.Text(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{src, resolved} {
			if err := validate(t, v, text); err != nil {
				t.Errorf("%s: %#v", name, err)
			}
		}
	}
}

// TestForms: what Load takes of a field, the schema takes, in all the ways in
// which it can be written; what is wrong in form, it refuses.
func TestForms(t *testing.T) {
	v := validator(t)
	const right = `name: x/y.z
model: {duration: 10 ms, seed: 18446744073709551615}
defaults:
wall: {dilation: 1, socket-buffer: 0.5MiB}
switches: {S: }
endpoints: [a, "b[01-12]x", c]
links:
  - {between: "b[01-12]x - S", rate: .5GB/s, buffer: 12packets, propagation: "1.5 µs"}
  - {between: a - S, rate: "8000000kb/s", buffer: 64KiB}
  - {between: c - S, rate: 1000MB/s, buffer: 1 packet}
flows:
  - {name: in.x, from: "b[01-12]x", to: a, start: 0us+1us, stop: end}
  - {name: two, from: a, to: c, start: 1us, stop: 5ms, control: {factor: 1.5, algorithm: fimd}}
events:
expect: []
`
	if _, err := resolve.Load("right.yaml", []byte(right), nil); err != nil {
		t.Fatal(err)
	}
	if err := validate(t, v, []byte(right)); err != nil {
		t.Errorf("right: %#v", err)
	}
	for _, change := range []struct{ from, to string }{
		{"name: x/y.z\n", ""}, {"x/y.z", "x y"}, {"duration: 10 ms", "duration: 10"}, {"duration: 10 ms", "length: 10ms"}, {"10 ms", "10 min"},
		{"seed: 18446744073709551615", "seed: -1"}, {"seed: 18446744073709551615", "seed: 1.5"}, {"dilation: 1", "dilation: 0"}, {"0.5MiB", "0.5MB/s"},
		{"defaults:", "defaults: 5"}, {"defaults:", "defaults: {links: {}}"}, {"switches: {S: }", "switches: [S]"}, {"{S: }", "{S.1: }"}, {"{S: }", "{S: {bypass: -1}}"},
		{"{S: }", "{S: {marking: {threshold: some}}}"}, {"{S: }", "{S: {marking: {scheme: some}}}"}, {"{S: }", "{S: {marking: {skip-blocked: maybe}}}"},
		{`endpoints: [a, "b[01-12]x", c]`, "endpoints: []"}, {`endpoints: [a, "b[01-12]x", c]`, ""}, {`"b[01-12]x", c]`, `"b[01-]x", c]`},
		{"between: a - S", "between: a-S"}, {".5GB/s", ".5GB"}, {"12packets", "12"}, {"12packets", "12.5packets"}, {"{between: a - S, ", "{"},
		{"0us+1us", "0us+1"}, {"stop: end", "stop: never"}, {"factor: 1.5", "factor: 1"}, {"events:", "events: [{rate: 1Gb/s}]"},
		{"expect: []", "expect: [{id: C, metric: in.rate, during: [1ms], low: 0, high: 1}]"}, {"expect: []", "expect: [{id: C, metric: in.rate, during: [1ms, 2ms], low: a, high: 1}]"},
	} {
		text := strings.Replace(right, change.from, change.to, 1)
		if text == right {
			t.Fatalf("nothing is changed by %q", change)
		}
		if _, err := resolve.Load("wrong.yaml", []byte(text), nil); err == nil {
			t.Errorf("%q is not wrong", change)
		}
		if err := validate(t, v, []byte(text)); err == nil {
			t.Errorf("the schema does not see that %q is wrong", change)
		}
	}
}

// TestBad: the schema refuses the bad files that are wrong in the form of one
// field, and takes those that are wrong in how fields fit together.
func TestBad(t *testing.T) {
	v := validator(t)
	form := strings.Fields(`buffer-unit check-missing duration-unit duration-value event flow-values link-form list lists-empty
		many name names-of-parts no-value range rate-unit seed switch-name switch-values unknown-key unknown-keys-within wall words wrong-kind event-time`)
	together := strings.Fields(`check-spans endpoint-links flow-name-twice forwarding-delay full-at group link-name-twice
		link-to-itself link-twice link-unknown name-twice no-path ports-too-few wall-too-long window-long window-short buffer-small`)
	for _, name := range form {
		src, err := os.ReadFile("../resolve/testdata/" + name + ".bad.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if validate(t, v, src) == nil {
			t.Errorf("the schema takes %s", name)
		}
	}
	for _, name := range together {
		src, err := os.ReadFile("../resolve/testdata/" + name + ".bad.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, v, src); err != nil {
			t.Errorf("%s: the schema claims to see it: %#v", name, err)
		}
	}
}

// TestEveryField: each key of the language is in the schema with its
// documentation, and with its default when that is a constant.
func TestEveryField(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(schema.JSON(scenario.Language()), &root); err != nil {
		t.Fatal(err)
	}
	scenario.Language().Walk("", func(path string, p *param.Param) {
		at := root
		for part := range strings.SplitSeq(strings.NewReplacer("[]", ".[]").Replace(path), ".") {
			switch part {
			case "*":
				at = at["additionalProperties"].(map[string]any)
			case "[]":
				at = at["items"].(map[string]any)
				if either, ok := at["anyOf"].([]any); ok {
					at = either[1].(map[string]any)
				}
			default:
				if either, ok := at["anyOf"].([]any); ok { // a single value, or the object
					at = either[1].(map[string]any)
				}
				next, ok := at["properties"].(map[string]any)[part].(map[string]any)
				if !ok {
					t.Fatalf("%s is not in the schema", path)
				}
				at = next
			}
		}
		if d, _ := at["description"].(string); !strings.HasPrefix(d, p.Doc) {
			t.Errorf("%s is described as %q", path, d)
		}
		if _, ok := at["default"]; ok != (p.Default != "") {
			t.Errorf("%s: default %v, not %q", path, at["default"], p.Default)
		}
	})
}

// TestSchemaFile: the schema in docs, for those who write scenarios there, is that
// of the language.
func TestSchemaFile(t *testing.T) {
	golden.File(t, "../../../docs/scenario.schema.json", schema.JSON(scenario.Language()))
	examples, err := filepath.Glob("../../../docs/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		src, err := os.ReadFile(example)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(src), "# yaml-language-server: $schema=../scenario.schema.json\n") {
			t.Errorf("%s does not name the schema in its first line", example)
		}
	}
}

// TestReference: the pages of docs/reference are those of the language.
func TestReference(t *testing.T) {
	const folder = "../../../docs/reference/"
	tables := scenario.BuiltIn()
	pages := append(schema.Pages(scenario.Language(), tables.Algorithms, tables.Points), schema.Page{File: "metrics.md", Text: metricsPage()})
	var names []string
	for _, p := range pages {
		golden.File(t, folder+p.File, p.Text)
		names = append(names, folder+p.File)
	}
	there, err := filepath.Glob(folder + "*")
	if slices.Sort(names); err != nil || !slices.Equal(there, names) {
		t.Errorf("docs/reference has %q, want %q (%v)", there, names, err)
	}
}

// metricsPage is the page of what a check can measure.
func metricsPage() string {
	return `# Metrics

A metric is ` + "`OBJECT.QUANTITY`" + `, or a quotient of two with spaces around the slash: ` + "`remote.rate / local.rate`" + `.

| Object | Written as | Example |
|---|---|---|
| a direction of a link | ` + "`LINK.FROM-TO`" + ` | ` + "`trunk.A-B`" + ` |
| a direction of a link without a name | ` + "`FROM-TO`" + ` | ` + "`A1-A`" + ` |
| the flows of a group, or of a range | its name | ` + "`local`" + ` |
| one flow of a range | ` + "`FLOW.MEMBER`" + ` | ` + "`local.B1`" + ` |

A frame that straddles the start or end of the interval counts pro rata: on a link the bytes that left within the interval, for a flow the bytes that arrived within it. Samples are means over a twentieth of ` + "`measure.window`" + `, or longer in large runs.

` + metrics.Reference()
}

// TestInfiniBandDocument: docs/guide/infiniband.md has each parameter of Annex A10 that opensm.conf
// has, by both names and with its default.
func TestInfiniBandDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guide/infiniband.md")
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	scenario.Language().Walk("", func(_ string, p *param.Param) {
		for _, also := range p.Also {
			if !strings.HasPrefix(also, "cc_") && also != "ccti_limit" {
				continue
			}
			met[also] = true
			usual := "`" + p.Default + "`"
			if p.Default == "" {
				usual = p.Computed
			}
			if row := " | `" + also + "` | `" + p.Key + "` | " + usual + " |\n"; !strings.Contains(string(text), row) {
				t.Errorf("no row ends in %q", row)
			}
		}
	})
	if len(met) != 14 {
		t.Errorf("%d parameters: %v", len(met), met)
	}
}
