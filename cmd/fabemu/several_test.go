package main

import "testing"

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"hpl2002/fig 2": "hpl2002-fig-2", "evil\x1b[2J\a": "evil-[2J-", "..": "-", "": "-", "v1.2": "v1.2",
	} {
		if got := fileName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
