package scenario_test

import (
	"bytes"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
)

// Each scenario that comes with the program is the same in its compact form.
func TestCompact(t *testing.T) {
	for _, e := range scenarios.List() {
		src, err := scenarios.Read(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Load(e.Name, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range [][]byte{src, want} {
			compact, err := scenario.Compact(from)
			if err != nil {
				t.Fatal(err)
			}
			again, err := scenario.LoadCompact(e.Name, compact)
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if got, err := again.Resolved(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v\n%s\nwant\n%s", e.Name, err, got, want)
			}
		}
	}
}

func TestCompactMistakes(t *testing.T) {
	whole, err := scenario.Compact([]byte("{name: x, model: {duration: 1ms}, endpoints: [a, b], links: [{between: a - b, rate: 1GB/s}], flows: [{name: f, from: a, to: b}]}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scenario.LoadCompact("x", whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := scenario.LoadCompact("x", whole[:n]); err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("%d bytes of %d: %v", n, len(whole), err)
		}
	}
	for _, x := range []struct{ text, want string }{
		{string(whole) + "x", "behind its end"},
		{"\x02\x01\x04name\x07", "no kind"},
		{"\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "cut off"},
		{strings.Repeat("\x03\x01", 2000), "too deep"},
		{"\x02\x01\x07rubbish\x01\x01y", "rubbish"},
	} {
		if _, err := scenario.LoadCompact("x", []byte(x.text)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%.50q: %v, want %q", x.text, err, x.want)
		}
	}
}

func FuzzCompact(f *testing.F) {
	whole, err := scenario.Compact([]byte("{name: x, model: {duration: 1ms}, endpoints: [a, b], links: [{between: a - b, rate: 1GB/s}], flows: [{name: f, from: a, to: b}]}"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := scenario.LoadCompact("x", b); err == nil {
			if _, err := s.Resolved(); err != nil {
				t.Error(err)
			}
		}
	})
}
