package pattern

import (
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for text, want := range map[string]string{
		"BC": "BC", "A[1-3]": "A1 A2 A3", "A[9-11]": "A9 A10 A11", "A[09-11]": "A09 A10 A11", "r[0-1]x-y": "r0x-y r1x-y",
		"A[7-7]": "A7", "a_b-1": "a_b-1", "x[00-02]": "x00 x01 x02",
		"": "", "1A": "", "[1-2]": "", "A[1-2": "", "A]1-2[": "", "A[2-1]": "", "A[1-2][1-2]": "", "A[-1-2]": "", "A[+1-2]": "",
		"A[1-]": "", "A[1]": "", "A[a-b]": "", "A[1-65537]": "", "A[9-010]": "", "A[01-2]": "", "A b": "", "A.b": "", "é": "", "A[1-2]é": "",
	} {
		p, err := Parse(text)
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken: %+v", text, p)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := strings.Join(p.List(), " "); got != want || len(p.List()) != p.Size() {
			t.Errorf("%q: %s, not %s; size %d", text, got, want, p.Size())
		}
	}
}

// TestJoint: one to all, pairwise, in turn, and each to each.
func TestJoint(t *testing.T) {
	for text, want := range map[string]string{
		"A - B":               "AB",
		"h[1-3] - S":          "h1S h2S h3S",
		"S - h[1-3]":          "Sh1 Sh2 Sh3",
		"h[1-2] - s[3-4]":     "h1s3 h2s4",
		"h[1-6] - s[1-2]":     "h1s1 h2s1 h3s1 h4s2 h5s2 h6s2",
		"s[1-2] - h[1-4]":     "s1h1 s1h2 s2h3 s2h4",
		"l[1-2] x s[1-3]":     "l1s1 l1s2 l1s3 l2s1 l2s2 l2s3",
		" l[1-2] x  x":        "l1x l2x",
		"h[1-3] - s[1-2]":     "",
		"A x B x C":           "",
		"A - B x C":           "",
		"A xB":                "",
		"x":                   "",
		"a[1-300] x b[1-300]": "",
	} {
		v, err := ParseJoint(text)
		if err != nil {
			if want != "" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		j := v.(Joint)
		var got []string
		for _, ends := range j.Ends() {
			got = append(got, ends[0]+ends[1])
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}
