package generate_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

// net is a topology of ibsim, with a channel adapter of two ports, descriptions that are no names,
// and links whose ports are not in the order of the file.
const net = `
Switch 4 "S1" # "leaf 1"
[3] "H1"[1] # "host" lid 0 4xEDR
[1] "S2"[2] # "leaf" lid 0 4xHDR
Switch 4 "S2" # "leaf 1"
[2] "S1"[1]
[1] "H1"[2]
[4] "H2"[1]
Hca 2 "H1" # "host HCA-1"
[1] "S1"[3]
[2] "S2"[1]
Ca 1 "H2"
`

// two is a switch with two hosts, whose links have something behind them.
func two(behind string) string {
	return "Switch 8 \"S\"\n[1] \"A\"[1] " + behind + "\n[2] \"B\"[1] " + behind + "\nCa 1 \"A\"\nCa 1 \"B\"\n"
}

// loaded returns the scenario of a topology.
func loaded(t *testing.T, text string) (*scenario.Scenario, generate.Imported) {
	t.Helper()
	x, err := generate.FromNet("net", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load("net", x.Scenario, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, x.Scenario)
	}
	if _, err := fabric.Build(s); err != nil {
		t.Fatalf("%v\n%s", err, x.Scenario)
	}
	return s, x
}

// linksOf lists the links of a scenario with their rates, and its switches with their delay if it
// is not the usual one.
func linksOf(s *scenario.Scenario) string {
	var all []string
	for _, l := range s.Links {
		all = append(all, l.Name+" "+l.Rate.InBits())
	}
	for _, w := range s.Switches {
		if w.ForwardingDelay.String() != "40ns" {
			all = append(all, w.Name+" "+w.ForwardingDelay.String())
		}
	}
	return strings.Join(append(all, s.Flows[0].From+" to "+s.Flows[0].To), ", ")
}

func TestFromNet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want, said string }{
		// leaf-1 has port 1 before port 3, and leaf-1-2 has 1, 2 and 4.
		{"ports", net,
			"leaf-1-2 - host-HCA-1-2 8Gb/s, leaf-1 - leaf-1-2 200Gb/s, leaf-1 - host-HCA-1-1 100Gb/s, leaf-1-2 - H2 8Gb/s, host-HCA-1-1 to H2",
			"net:7: the link has no speed: 8Gb/s (4xSDR) is taken, and for 1 more, up to line 8"},
		{"parallel", `
Switch 65 "S-1" # "MF0;spine" base port 0 lid 2 lmc 0
[1] "S-2"[33] # "MF0;leaf" lid 1 4xNDR
[2] "S-2"[34] # "MF0;leaf" lid 1 4xNDR
[3] "H-3"[1](103) # "c hca" lid 13 4xNDR
Switch 65 "S-2" # "MF0;leaf" base port 0 lid 1 lmc 0
[1] "H-1"[1](101) # "a hca" lid 11 4xNDR
[2] "H-2"[1](102) # "b hca" lid 12 2xNDR
[33] "S-1"[1] # "MF0;spine" lid 2 4xNDR
[34] "S-1"[2] # "MF0;spine" lid 2 4xNDR
Ca 1 "H-1" # "a hca"
[1](101) "S-2"[1] # lid 11 lmc 0 "MF0;leaf" lid 1 4xNDR
Ca 1 "H-2" # "b hca"
[1](102) "S-2"[2] # lid 12 lmc 0 "MF0;leaf" lid 1 2xNDR
Ca 1 "H-3" # "c hca"
[1](103) "S-1"[3] # lid 13 lmc 0 "MF0;spine" lid 2 4xNDR
`, "MF0-leaf - a-hca 400Gb/s, MF0-leaf - b-hca 200Gb/s, MF0-leaf-p33 400Gb/s, MF0-leaf-p34 400Gb/s, MF0-spine - c-hca 400Gb/s, a-hca to c-hca", ""},
		{"XDR", two(`# "host" lid 3 4xXDR`), "S - A 800Gb/s, S - B 800Gb/s, A to B", ""},
		{"slow", two(`# "host" lid 3 1xSDR`), "S - A 2Gb/s, S - B 2Gb/s, S 80ns, A to B", ""},
		{"unknown", two(`# "host" lid 3 4xZDR`), "S - A 8Gb/s, S - B 8Gb/s, A to B",
			"net:2: the speed 4xZDR is unknown: 8Gb/s (4xSDR) is taken, and for 1 more, up to line 3"},
		{"a description like a speed", two(`# "4xNDR" lid 3 3xHDR`), "S - A 8Gb/s, S - B 8Gb/s, A to B",
			"net:2: the speed 3xHDR is unknown: 8Gb/s (4xSDR) is taken, and for 1 more, up to line 3"},
		{"options", two("w=12 s=7 e=4"), "S - A 600Gb/s, S - B 600Gb/s, A to B", ""},
		{"a width", two("w=1"), "S - A 2Gb/s, S - B 2Gb/s, S 80ns, A to B",
			"net:2: the link has a width and no speed: 2Gb/s (1xSDR) is taken\nnet:3: the link has a width and no speed: 2Gb/s (1xSDR) is taken"},
		{"defaults", "width=2\nspeed=1\nextspeed=8\n" + two(""), "S - A 400Gb/s, S - B 400Gb/s, A to B", ""},
		{"ends differ", "Switch 2 \"S\"\n[1] \"A\"[1] # \"A\" lid 0 4xHDR\n[2] \"B\"[1] # \"B\" lid 0 4xHDR\nCa 1 \"A\"\n[1] \"S\"[1] # lid 0 lmc 0 \"S\" lid 0 4xEDR\nCa 1 \"B\"\n",
			"S - A 100Gb/s, S - B 200Gb/s, A to B", "net:2: the link has another speed in line 5: 100Gb/s, the lower one, is taken"},
		{"planes", `
Switch 8 "P"
[1] "A"[1] # lid 0 4xHDR
[2] "B"[1] # lid 0 4xHDR
Switch 8 "Q"
[1] "A"[2] # lid 0 4xHDR
[2] "B"[2] # lid 0 4xHDR
Hca 2 "A"
Hca 2 "B"
`, "P - A-1 200Gb/s, P - B-1 200Gb/s, Q - A-2 200Gb/s, Q - B-2 200Gb/s, A-1 to B-1", ""},
		{"an island without a pair", "Switch 1 \"T\"\n[1] \"C\"[1] # lid 0 4xHDR\nCa 1 \"C\"\n" + two("# lid 0 4xHDR"),
			"T - C 200Gb/s, S - A 200Gb/s, S - B 200Gb/s, A to B", ""},
		{"SHARP", strings.Replace(two("# lid 0 4xHDR"), "[2]", "[8] \"X\"[1] # \"Aggregation\" lid 13 4xHDR\n[2]", 1) +
			"Ca 1 \"X\" # \"Mellanox Technologies Aggregation Node\"\n[1](11) \"S\"[8] # lid 13 lmc 0 \"S\" lid 1 4xHDR\n",
			"S - A 200Gb/s, S - B 200Gb/s, A to B",
			`net:3: "Mellanox Technologies Aggregation Node", the SHARP node of S: its place is in the switch`},
		{"left out", "do \"route\"\nSwitch 4 \"alone\"\n" + strings.Replace(two("# lid 0 4xHDR"), "[2]", "[3] \"S\"[4]\n[4] \"S\"[3]\n[5] \"S\"[5]\n[2]", 1),
			"S - A 200Gb/s, S - B 200Gb/s, A to B",
			"net:1: do \"route\": only ibsim does that\nnet:5: ports 3 and 4 of S are linked to each other\nnet:7: port 5 of S is linked to itself\nswitch \"alone\": it has no links"},
		{"long names", strings.ReplaceAll(two("# lid 0 4xHDR"), `"A"`, `"`+strings.Repeat("long ", 20)+`"`),
			"S - " + strings.TrimRight(strings.Repeat("long-", 12), "-") + " 200Gb/s, S - B 200Gb/s, " +
				strings.TrimRight(strings.Repeat("long-", 12), "-") + " to B", ""},
		{"crossed", "Switch 4 \"S\"\n[1] \"T\"[2] # lid 0 4xHDR\n[2] \"T\"[1] # lid 0 4xHDR\n[3] \"A\"[1] # lid 0 4xHDR\nSwitch 4 \"T\"\n[3] \"B\"[1] # lid 0 4xHDR\nCa 1 \"A\"\nCa 1 \"B\"\n",
			"S-p1 200Gb/s, S-p2 200Gb/s, S - A 200Gb/s, T - B 200Gb/s, A to B", ""},
	} {
		s, x := loaded(t, c.text)
		if got := linksOf(s); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
		if got := strings.Join(append(x.Left, x.Warnings...), "\n"); got != c.said {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.said)
		}
		for _, why := range append(x.Left, x.Warnings...) {
			if !strings.Contains(string(x.Scenario), ": "+why+"\n") {
				t.Errorf("%s: the scenario does not have %q", c.name, why)
			}
		}
	}
}

func TestFromNetRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "net: no links join two channel adapters",
		"[1] \"A\"[1]\n":             "net:1: a port without a node",
		"Ca 1 \"A\"\nCa 1 \"A\"\n":   `net:2: a second node "A"`,
		"Ca 1 \"A\"\n[1] \"B\"[1]\n": `net:2: there is no node "B"`,
		"Ca 1 \"A\"\n[1] \"B\"[1]\n[1] \"B\"[2]\nCa 2 \"B\"\n":                               "net:3: port 1 of A has two links",
		"Ca 1 \"A\"\n[1] \"B\"[1]\nCa 2 \"B\"\n[1] \"C\"[1]\nCa 1 \"C\"\n":                   "net:4: port 1 of B has another link, by line 2",
		"Switch 4 \"S\"\n[1] \"A\"[1]\nSwitch 4 \"T\"\n[1] \"A\"[1]\nCa 1 \"A\"\nCa 1 \"B\"": "net:4: port 1 of A has another link, by line 2",
		"Switch 99999 \"S\"\n": "net:1: 99999 ports: a node has at most 255",
		two("w=32"):            "net:2: w=32 is not a sum of codes, at most 31",
		two("s=x"):             "net:2: s=x is not a sum of codes, at most 7",
		"extspeed=16\n":        "net:1: extspeed=16 is not a sum of codes, at most 15",
		two("w=1") + "Ca 1 \"C\"\n[1] \"S\"[3] w=0":                                               "net:7: w=0 is not a sum of codes, at most 31",
		"Ca 1 \"A\"\n[1] \"B\"[1] w=8\nCa 1 \"B\"\n[1] \"A\"[1] w=2 s=1\n":                        "net:2: the ends of the link have no width in common: the codes are 8, and 2 in line 4",
		"CA     4  1 0x0000000000000251 12x HDR - SW     1  8 0x0000000000000123 ( 'a' - 'b' )\n": "net:1: this is a list of ports, as ibnetdiscover -p prints it: import the output of ibnetdiscover without -p",
		strings.Repeat("#", generate.MostBytes+1):                                                 "net: the file has more than 16 MiB",
	} {
		_, err := generate.FromNet("net", []byte(text))
		if err == nil || err.Error() != want || !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%.200q: %v, want %s", text, err, want)
		}
	}
}

// FuzzFromNet: whatever a topology holds, FromNet reports a mistake or returns a scenario, in which
// a mistake may be found.
func FuzzFromNet(f *testing.F) {
	runtest.MinimizeLittle(f)
	f.Add([]byte(net))
	f.Add([]byte(two("w=12 s=7 e=4")))
	f.Add([]byte("Ca 1 \"A\"\n[1](2) \"B\"[1](3) # lid 4 lmc 0 \"B\" lid 2 4xSDR\nCa 1 \"B\"\n"))
	for _, b := range runtest.Seeds(runtest.Mutants([]byte(net), 100), 20) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkImported(t, text, generate.FromNet) })
}

// checkImported checks that an importer reports a mistake with its file, or returns a scenario that
// can be read.
func checkImported(t *testing.T, text []byte, read func(string, []byte) (generate.Imported, error)) {
	t.Helper()
	x, err := read("file", text)
	if err != nil {
		if !errors.As(err, new(*errs.Mistake)) || !strings.HasPrefix(err.Error(), "file:") {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	for _, why := range append(x.Left, x.Warnings...) {
		if why == "" || bytes.Contains([]byte(why), []byte("\n")) {
			t.Fatalf("a note is %q", why)
		}
	}
	if _, err := resolve.Load("x.yaml", x.Scenario, nil); err != nil && !errors.As(err, new(*scenario.Errors)) {
		t.Fatalf("%T: %v", err, err)
	}
}
