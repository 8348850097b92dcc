package generate_test

import (
	"strings"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"

	"errors"
)

// net is a topology of ibsim, with a channel adapter of two ports, descriptions that are no names,
// and links whose ports are not in the order of the file.
const net = `
Switch 4 "S1" # "leaf 1"
[3] "H1"[1] # 4xEDR
[1] "S2"[2] # 4xHDR
Switch 4 "S2" # "leaf 1"
[2] "S1"[1]
[1] "H1"[2]
[4] "H2"[1]
Hca 2 "H1" # "host HCA-1"
[1] "S1"[3]
[2] "S2"[1]
Ca 1 "H2"
`

func TestFromNet(t *testing.T) {
	text, err := generate.FromNet("net", []byte(net))
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load("net", text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got []string
	for _, l := range s.Links {
		got = append(got, l.Name+" "+l.Rate.String())
	}
	// leaf-1 has port 1 before port 3, and leaf-1-2 has 1, 2 and 4.
	const want = "leaf-1-2 - host-HCA-1-2 1GB/s, leaf-1 - leaf-1-2 25GB/s, leaf-1-2 - H2 1GB/s, leaf-1 - host-HCA-1-1 100Gb/s"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestFromNetRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "net: fewer than two channel adapters have links",
		"[1] \"A\"[1]\n":             "net:1: a port without a node",
		"Ca 1 \"A\"\nCa 1 \"A\"\n":   `net:2: a second node "A"`,
		"Ca 1 \"A\"\n[1] \"B\"[1]\n": `net:2: there is no node "B"`,
		"Ca 1 \"A\"\n[1] \"B\"[1]\n[1] \"B\"[2]\nCa 2 \"B\"\n":             "net:3: port 1 has two links",
		"Ca 1 \"A\"\n[1] \"B\"[1]\nCa 2 \"B\"\n[1] \"C\"[1]\nCa 1 \"C\"\n": "net:4: port 1 of B has two links",
	} {
		_, err := generate.FromNet("net", []byte(text))
		if err == nil || err.Error() != want || !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzFromNet(f *testing.F) {
	f.Add([]byte(net))
	f.Add([]byte("Ca 1 \"A\"\n[1](2) \"B\"[1](3) # lid 4 lmc 0 \"B\" lid 2 4xSDR\nCa 1 \"B\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if out, err := generate.FromNet("net", text); err == nil && len(out) == 0 {
			t.Error("no scenario and no error")
		}
	})
}
