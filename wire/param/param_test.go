package param_test

import (
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
