package param

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/wire/unit"
)

type chosen struct {
	Preset string        `key:"preset" def:"paper" words:"paper|simulator" from:"a paper|a program" rates:"40Gb/s|25Gb/s-400Gb/s" trips:"|13us" doc:"Sets."`
	Window unit.Size     `key:"window" by:"preset=1KB|2KB" rule:"preset=rate * rtt / 2|" grows:"rate" doc:"Window."`
	Trip   unit.Duration `key:"trip" def:"5us" low:"1ns" guess:"paper value|simulator" rule:"preset=rtt|" doc:"Trip."`
	Step   unit.Rate     `key:"step" def:"1Gb/s" from:"preset=a vendor|" grows:"rate/per" doc:"Step."`
	Hops   int           `key:"hops" def:"none" none:"none" low:"1" high:"9" rule:"preset=switches|switches" doc:"Hops."`
	Per    unit.Rate     `key:"per" by:"preset=none|25Gb/s" none:"none" doc:"Rate of step."`
}

// TestSets: what the tags say of sets, and the values of rules.
func TestSets(t *testing.T) {
	s := Of(chosen{})
	sets := s.Sets()
	if sets == nil || sets.Key != "preset" {
		t.Fatalf("the sets are %+v", sets)
	}
	q := map[string]float64{LinkRate: 12.5e9, RoundTrip: 3.001e-6}
	for _, c := range []struct{ got, want string }{
		{sets.SourceIn("simulator"), "a program"},
		{sets.MadeFor("paper").String(), "40Gb/s"},
		{sets.MadeFor("simulator").String(), "25Gb/s to 400Gb/s, a round trip of 13us"},
		{fmt.Sprint(sets.MadeFor("paper").Most), fmt.Sprint(unit.Rate(40e9))},
		{sets.MadeFor("other").String(), ""},
		{s.Find("window").In("simulator"), "2KB"},
		{s.Find("trip").In("simulator"), "5us"},
		{s.Find("window").Ruled("paper", q), "18757B"}, // 12.5 GB/s x 3.001 us / 2 = 18756.25
		{s.Find("window").Ruled("simulator", q), ""},
		{s.Find("trip").Ruled("paper", q), "3.01us"}, // in steps of 10 ns, upwards
		{s.Find("trip").Ruled("paper", map[string]float64{RoundTrip: 3e-6}), "3us"},
		{s.Find("hops").Ruled("paper", q), ""}, // the quantity is not known
		{s.Find("hops").Ruled("paper", map[string]float64{Switches: 5}), "5"},
		{s.Find("hops").Ruled("paper", map[string]float64{Switches: 10}), ""}, // out of range
		{s.Find("step").SourceIn("paper"), "a vendor"},
		{s.Find("step").SourceIn("simulator"), ""},
		{s.Find("step").Grows + " " + s.Find("step").Unless, "rate per"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	trip := s.Find("trip")
	for _, c := range []struct {
		set         string
		ruled, want bool
	}{{"paper", false, true}, {"paper", true, false}, {"simulator", false, true}, {"simulator", true, true}} {
		if got := trip.GuessedIn(c.set, c.ruled); got != c.want {
			t.Errorf("a guess in %s, by a rule %v: %v", c.set, c.ruled, got)
		}
	}
	if Of(struct{}{}).Sets() != nil {
		t.Error("a struct without fields has sets")
	}
}

func TestRule(t *testing.T) {
	q := map[string]float64{LinkRate: 12.5e9, RoundTrip: 2e-6, OneSwitch: 1e-6}
	for _, c := range []struct {
		rule string
		want float64
	}{
		{"rtt", 2e-6},
		{"one-switch / 0.5", 2e-6},
		{"one-switch / 0.5 * 5", 1e-5},
		{"80B * rate / 100Gb/s * rtt / 13us", 80 * 2 / 13.},
		{"10Mb/s * rate / 25Gb/s * rtt", 10},
		{"per-switch", math.NaN()},
		{"", math.NaN()},
	} {
		got, err := Rule(c.rule, q)
		if err != nil || math.Abs(got-c.want) > 1e-9*c.want || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s: %v %v, want %v", c.rule, got, err, c.want)
		}
	}
	for rule, want := range map[string]string{
		"rate *": "ends with *", "rate rtt": `"rtt" where * or / is expected`, "speed * 2": `"speed" is neither`, "* 2": `"*" is neither`,
	} {
		if _, err := Rule(rule, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
}

// TestWrongSets: tags about sets that do not fit are refused.
func TestWrongSets(t *testing.T) {
	for want, v := range map[string]any{
		"from needs one for each word": struct {
			P string `key:"p" def:"a" words:"a|b" from:"x"`
		}{},
		"needs a source and a rule": struct {
			P string    `key:"p" def:"a" words:"a|b" from:"x|y"`
			Q unit.Size `key:"q" def:"1B" rule:"p=rtt"`
		}{},
		"there is no set c": struct {
			P string    `key:"p" def:"a" words:"a|b" from:"x|y"`
			Q unit.Size `key:"q" def:"1B" guess:"c"`
		}{},
		"its struct has none": struct {
			Q unit.Size `key:"q" def:"1B" guess:"c"`
		}{},
		"the sets are of p": struct {
			P string    `key:"p" def:"a" words:"a|b" from:"x|y"`
			Q unit.Size `key:"q" def:"1B" from:"o=x|y"`
		}{},
		`search is "1": a range such as 1..4`: struct {
			Q unit.Size `key:"q" def:"1B" search:"1"`
		}{},
		"the rule rtt rtt": struct {
			P string    `key:"p" def:"a" words:"a|b" from:"x|y"`
			Q unit.Size `key:"q" def:"1B" rule:"p=rtt rtt|"`
		}{},
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, want) {
					t.Errorf("%q, want %q", said, want)
				}
			}()
			Of(v)
		}()
	}
}
