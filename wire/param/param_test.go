package param_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

type word string

type inner struct {
	Count int `key:"count" def:"3" low:"1" high:"9" none:"none" doc:"How many there are."`
}

type all struct {
	inner
	Span unit.Duration `key:"span" def:"1ms" low:"above 0s" doc:"How long it lasts."`
	Rate unit.Rate     `key:"rate" def:"5Mb/s" doc:"How fast it is."`
	Size unit.Size     `key:"size" def:"150KB" low:"100B" doc:"How much it is."`
	Room unit.Room     `key:"room" def:"whole" none:"whole" doc:"What it holds."`
	Part float64       `key:"part" def:"0.5" low:"above 0" high:"1" doc:"How much of it."`
	On   bool          `key:"on" computed:"true without a count" doc:"Whether it is on." also:"enabled|active"`
	Word word          `key:"word" def:"one" words:"one|two" doc:"Which it is."`
}

// Complete makes On follow from Count.
func (a *all) Complete(given func(string) bool) {
	if !given("on") {
		a.On = a.Count == 0
	}
}

func TestDefaults(t *testing.T) {
	want := all{inner: inner{3}, Span: unit.Millisecond, Rate: 5e6, Size: 150e3, Part: 0.5, Word: "one"}
	if got := param.Defaults(all{}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What is read is built in, prints as it was written, and completes what follows.
func TestBuild(t *testing.T) {
	texts := map[string]string{"count": "none", "span": "10us", "rate": "1Gb/s", "size": "100B", "room": "3 packets", "part": "1", "word": "two"}
	s := param.Of(all{})
	got := s.Build(func(p *param.Param) any {
		text, ok := texts[p.Key]
		if !ok {
			return nil
		}
		v, err := p.Read(text)
		if err != nil {
			t.Errorf("%s: %v", p.Key, err)
		}
		return v
	}, param.Complete(func(key string) bool { return texts[key] != "" }))
	want := all{Span: 10 * unit.Microsecond, Rate: 1e9, Size: 100, Room: unit.Room{Packets: 3}, Part: 1, On: true, Word: "two"}
	if got != any(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for i := range s.Params {
		p := &s.Params[i]
		if text := p.Text(got); texts[p.Key] != "" && text != texts[p.Key] {
			t.Errorf("%s prints as %q, want %q", p.Key, text, texts[p.Key])
		}
	}
}

// even is a number that is written as its half, in stars.
type even int

func (even) Form() param.Form {
	return param.Form{Wanted: "stars", Listed: true, Read: func(s string) (any, error) {
		if n := len(strings.TrimLeft(s, "*")); n > 0 {
			return nil, fmt.Errorf("%q is not a number of stars", s)
		}
		return even(2 * len(s)), nil
	}}
}

func (e even) String() string { return strings.Repeat("*", int(e)/2) }

// A type that is Formed is read and printed in its form.
func TestFormed(t *testing.T) {
	type stars struct {
		E even `key:"e" def:"**" doc:"Stars."`
	}
	s := param.Of(stars{})
	p := s.Find("e")
	if p.Kind != param.Own || p.Wanted() != "stars" || !p.Listed() || param.Defaults(stars{}) != (stars{4}) {
		t.Errorf("%+v, %+v", p, param.Defaults(stars{}))
	}
	v, err := p.Read("***")
	got := s.Build(func(*param.Param) any { return v }, nil)
	if err != nil || got != any(stars{6}) || p.Text(got) != "***" {
		t.Errorf("%v, %v, %+v", v, err, got)
	}
	if _, err := p.Read("x"); err == nil {
		t.Error("x is read")
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"count", "0", "from 1 to 9, nor none"},
		{"count", "10", "from 1 to 9"},
		{"count", "1.5", "not a whole number"},
		{"span", "0s", "must be above zero"},
		{"span", "1", "no unit"},
		{"rate", "0b/s", "must be above zero"},
		{"size", "99B", "at least 100B"},
		{"size", "3GB", "too large"},
		{"room", "3", "no unit"},
		{"room", "0 packets", "holds no packet"},
		{"part", "0", "out of range: it is a number above 0 to 1"},
		{"part", "1.01", "out of range"},
		{"part", "50%", "percentage"},
		{"part", "NaN", "not a number"},
		{"on", "yes", "neither true nor false"},
		{"word", "three", "not one of one, two"},
	} {
		for _, p := range param.Of(all{}).Params {
			if p.Key != c.key {
				continue
			}
			if v, err := p.Read(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %q is read as %v, %v; want %q", c.key, c.text, v, err, c.want)
			}
		}
	}
}

// A struct that is declared wrongly is a mistake of who wrote it.
func TestDeclaredWrongly(t *testing.T) {
	for name, v := range map[string]any{
		"a type": struct {
			F []int `key:"f"`
		}{},
		"words of a number": struct {
			F int `key:"f" words:"a|b"`
		}{},
		"no words": struct {
			F string `key:"f"`
		}{},
		"a default": struct {
			F int `key:"f" def:"2" low:"3" high:"4"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			param.Of(v)
		}()
	}
}

type gear uint8

func (gear) Words() []string { return []string{"low", "high"} }

type wheel struct {
	Width int `key:"width" need:"given" low:"1" high:"9" doc:"How wide it is."`
}

type car struct {
	Name   string           `key:"name" form:"shout" own:"true" doc:"What it is called."`
	_      struct{}         `key:"spoken" form:"shout" doc:"It sets nothing."`
	Gear   gear             `key:"gear" def:"high" parts:"kind=gear|limit=limit" doc:"Which gear it is in."`
	Limit  unit.Rate        `key:"limit" def:"unlimited" none:"unlimited" at:"9223372036854775807" with:"gear=high" doc:"How fast it goes."`
	Start  unit.Size        `key:"start" def:"none" none:"none" counts:"gear!=low" omit:"usual" doc:"Where it starts."`
	Wheels []wheel          `key:"wheels" named:"width" least:"4" values:"a list of wheels" doc:"What it has."`
	During [2]unit.Duration `key:"during" low:"above 0s" values:"from and to" doc:"When it goes."`
	Spare  wheel            `key:"spare" doc:"One more."`
}

var shout = param.Forms{"shout": {Kind: param.Own, Form: &param.Form{
	Wanted: "a name", Pattern: "^[A-Z]$", Read: func(s string) (any, error) { return strings.ToUpper(s), nil },
}}}

// What nests, has its own form, counts with another value only, or is a word of a type.
func TestNested(t *testing.T) {
	of := param.Of(car{}, shout)
	var paths []string
	(&param.Param{Kind: param.Object, Object: of}).Walk("", func(path string, p *param.Param) { paths = append(paths, path) })
	if got, want := strings.Join(paths, " "), "name spoken gear limit start wheels wheels[].width during spare spare.width"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	given := map[string]string{"name": "a", "spoken": "b", "gear": "low", "limit": "5Gb/s", "start": "5B"}
	build := func() car {
		return of.Build(func(p *param.Param) any {
			if given[p.Key] == "" {
				return nil
			}
			v, err := p.Read(given[p.Key])
			if err != nil {
				t.Fatal(err)
			}
			return v
		}, nil).(car)
	}
	if got, want := build(), (car{Name: "A", Gear: 0, Start: 5}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v: a limit counts in high gear only", got, want)
	}
	given = map[string]string{"name": "a"}
	c := build()
	if c.Gear != 1 || c.Limit != 1<<63-1 {
		t.Errorf("%+v: not the defaults", c)
	}
	c.During = [2]unit.Duration{1, 2}
	for key, want := range map[string]string{"name": "A", "gear": "high", "limit": "unlimited", "start": "none", "during": "[1ps, 2ps]"} {
		if got := of.Find(key).Text(c); got != want {
			t.Errorf("%s prints as %s, want %s", key, got, want)
		}
	}
	start := of.Find("start")
	if !start.IsUsual(c) || !of.Holds(start.Counts, c) || start.Counts.String() != "gear other than low" {
		t.Errorf("%+v: usual %v", start, start.IsUsual(c))
	}
	if of.Find("spoken").Sets() || !of.Find("spare").Sets() {
		t.Error("a blank field is set, or another is not")
	}
	if w := of.Find("gear").Wanted(); w != "one of low, high, or a mapping with kind, limit" {
		t.Error(w)
	}
	if d := of.Find("during"); d.Length != 2 || d.Item.Kind != param.Duration || !d.Item.Above || d.Above {
		t.Errorf("%+v", d)
	}
}

// presets is a struct whose defaults belong to a word.
type presets struct {
	Preset word          `key:"preset" def:"one" words:"one|two|three" doc:"Whose defaults hold."`
	Span   unit.Duration `key:"span" by:"preset=5us|none|5us" none:"none" doc:"How long it lasts."`
}

// A default that belongs to a word is that of the word which was chosen, and gives way to what
// was given; what it is by word is told.
func TestDefaultsByWord(t *testing.T) {
	s := param.Of(presets{})
	if got, want := s.Find("span").Computed, "5us; two: none"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, tc := range []struct {
		given map[string]any
		want  presets
	}{
		{nil, presets{"one", 5 * unit.Microsecond}},
		{map[string]any{"preset": "two"}, presets{"two", 0}},
		{map[string]any{"preset": "three", "span": unit.Duration(7)}, presets{"three", 7}},
		{map[string]any{"preset": "two", "span": unit.Duration(7)}, presets{"two", 7}},
	} {
		if got := s.Build(func(p *param.Param) any { return tc.given[p.Key] }, nil); got != any(tc.want) {
			t.Errorf("%v: %+v, want %+v", tc.given, got, tc.want)
		}
	}
}

// Tags that name no field with words, or not as many defaults as it has words, are mistakes.
func TestDefaultsByWordRefuse(t *testing.T) {
	type none struct {
		Span unit.Duration `key:"span" by:"preset=5us|6us"`
	}
	type few struct {
		Preset word          `key:"preset" def:"one" words:"one|two"`
		Span   unit.Duration `key:"span" by:"preset=5us"`
	}
	type unreadable struct {
		Preset word          `key:"preset" def:"one" words:"one|two"`
		Span   unit.Duration `key:"span" by:"preset=5us|6"`
	}
	for _, v := range []any{none{}, few{}, unreadable{}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T is taken", v)
				}
			}()
			param.Of(v)
		}()
	}
}
