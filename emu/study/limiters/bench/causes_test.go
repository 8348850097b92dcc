package bench_test

import (
	"slices"
	"testing"

	"fabemu/emu/study/limiters/bench"
)

// Words of causes in the table below.
const (
	rounds   = "a rounding or a coarse clock: asked again, the limiter computes another instant"
	keeps    = "a packet that waits keeps the instant of the old rate"
	asked    = "a packet counts as the length that was asked for"
	full     = "the bucket is full again after a change of the rate"
	empty    = "the bucket is empty after a change of the rate"
	refusal  = "a refusal consumes credit"
	overflow = "the time overflows, or has too few digits"
)

// Each planted bug has its cause, and no other one that its limiter does not show. Where none is
// given, the bench has no experiment for the bug and says nothing. The second table has bugs that
// the experiments were not written with.
func TestFiguresOfCauses(t *testing.T) {
	for _, set := range []struct {
		designs []design
		causes  map[string][]string
	}{
		{planted(), map[string][]string{
			"lets everything start":                       {"nothing limits the starts"},
			"is empty after a rest":                       {"credit is lost in a rest"},
			"has a tenth of its burst after a rest":       {"the bucket is smaller than its promise"},
			"counts each packet twice":                    {"each packet counts twice: packets start at half the rate"},
			"rounds delays down to nanoseconds":           {"gaps are rounded down to whole nanoseconds"},
			"rounds delays down to microseconds":          {"gaps are rounded down to whole microseconds"},
			"rounds delays up to microseconds":            {"gaps are rounded up to whole microseconds"},
			"gives whole milliseconds":                    {"gaps are rounded up to whole milliseconds"},
			"adds whole microseconds, makes up for rests": {"gaps are rounded down to whole microseconds", "credit grows without bound", keeps},
			"no delay below a microsecond":                {"no gap is shorter than 1µs"},
			"delay in 32 bits of nanoseconds":             {"a delay is kept in 32 bits of nanoseconds"},
			"rate in 32 bits":                             {"the rate is kept in 32 bits"},
			"rate in whole Mb/s":                          {"the rate is cut off to whole 1Mb/s"},
			"time in 32-bit floating point":               {"the limit of the credit fails after a long rest: a number overflows, or has too few digits", keeps, overflow},
			"bits times nanoseconds overflow":             {"the credit of a long rest overflows"},
			"counts bits in 32 bits":                      {"a count of bytes or bits overflows"},
			"applies a rate to the next packet":           {keeps},
			"keeps its delay for a length":                {"a delay is kept for packets of the same length, whatever the rate", "at rate 0 packets start as before"},
			"takes over lower rates only":                 {"only lower rates are taken over"},
			"computes the delay before the start":         {asked, "the delay after a packet has the rate of the last question", keeps},
			"begins its delay again with each rate":       {"the wait of a packet begins again at a change of the rate"},
			"a new rate lets a packet start":              {"a change of the rate lets a packet start at once"},
			"is full after each rate":                     {full},
			"is empty after each rate":                    {empty},
			"is full when the same rate is set again":     {"the bucket is full again when the same rate is set"},
			"credit kept as time":                         {"credit is kept as time, and so grows with the rate"},
			"makes up for late starts":                    {"a short rest is made up for at once", "what a late start has missed is made up for at once", keeps},
			"no limit to the credit":                      {"credit grows without bound"},
			"a limit of 1 GB to the credit":               {"the bucket is deeper than its promise"},
			"no stamp while it is full":                   {"the clock of the bucket stands still while it is full"},
			"a packet more after a rest":                  {"after a rest the bucket is deeper than its promise"},
			"a refusal consumes credit":                   {refusal},
			"a refusal of a large packet consumes credit": {refusal},
			"forgets parts of 64 bytes":                   {rounds},
			"waits until all of the burst is back":        {"a packet is told to wait for longer than it has to"},
			"counts 18 bytes too few":                     {"each packet counts as 18 bytes fewer, as with another header"},
			"counts 64 bytes at least":                    {"packets count as 64 bytes at least"},
			"counts 1500 bytes at most":                   {"packets count as 1500 bytes at most"},
			"never lets a packet beyond its depth start":  {"the bucket is smaller than the packet"},
			"counts the length that it was asked for":     {asked},
			"counts a packet when asked":                  {"an answer that permits a start counts the packet", asked},
			"lets everything start at rate 0":             {"at rate 0 everything starts"},
			"stops for good at rate 0":                    {"after rate 0 it does not continue"},
			"divides by rate 0":                           {"gaps are rounded down to whole nanoseconds", "it panics at rate 0"},
			"gives instants that are over":                {"an answer is not moved to the instant of the question where it is over"},
			"puts off for ever":                           {"nothing starts"},
			"favours every other limiter":                 {"limiters differ from one another"},
			"all limiters are one":                        {"limiters share their state"},
		}},
		{heldOut(), map[string][]string{
			"account: rate in kb/s":                        {"the rate is cut off to whole 1kb/s"},
			"account: kb/s of 1024 bits":                   {"1024 is taken for 1000: packets start at 1.024 times the rate"},
			"account: bits for bytes":                      {"bits and bytes are confused: packets start at 8 times the rate"},
			"account: forgets at a rate":                   {"credit is forgotten at a change of the rate: all that came since the last start"},
			"account: zero at a lower rate":                {empty},
			"account: full at a higher rate":               {full},
			"account: never below zero":                    {"packets count as 3000 bytes at most"},
			"account: refusals move the clock":             {refusal},
			"account: clock of 1 ms":                       {rounds},
			"account: a quarter of its depth after a rest": nil,
			"account: 2 bytes less at each look":           {rounds},
			"virtual: gaps of whole 10 us":                 {"a packet is told to wait for longer than it has to"},
			"virtual: charges before the start":            {"an answer that permits a start counts the packet", asked},
			"virtual: anew at a rate":                      {full},
			"virtual: gaps in 32 bits of ps":               nil,
			"virtual: 24 bytes more":                       {"each packet counts as 24 bytes more, as with another header"},
			"virtual: stays at rate 0":                     {"at rate 0 packets start as before"},
			"virtual: at most 1 Gb/s":                      {"no gap is shorter than 12µs"},
		}},
	} {
		for _, d := range set.designs {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				want, known := set.causes[d.name]
				if !known {
					t.Fatal("the table of causes does not have this bug")
				}
				new := d.new
				if d.fresh != nil {
					new = d.fresh()
				}
				var got []string
				for _, c := range bench.Causes(bench.Of(new), 0) {
					t.Logf("%s: %s", c.Text, c.Evidence)
					got = append(got, c.Text)
				}
				if !slices.Equal(got, want) {
					t.Errorf("causes %q, want %q", got, want)
				}
			})
		}
	}
}

// A right limiter has no cause of a fault.
func TestFiguresOfCausesOfRightLimiters(t *testing.T) {
	for _, d := range unusual() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range bench.Causes(bench.Of(d.new), 5000) {
				t.Errorf("%s: %s", c.Text, c.Evidence)
			}
		})
	}
}
