package runtest

import (
	"bytes"
	"flag"
	"slices"
	"testing"

	"fabemu/wire/unit"
)

// Mutants returns n texts that differ from a file as cut, damaged and mistyped files do, in at most
// four places. They are the same each time: seeds for fuzz targets, which so have them in plain
// tests too.
func Mutants(src []byte, n int) (all [][]byte) {
	random := unit.NewRandom(uint64(len(src)), 1)
	for range n {
		b := bytes.Clone(src)
		for range 1 + random.Below(4) {
			b = mutate(b, random)
		}
		all = append(all, b)
	}
	return all
}

// inserts are texts that mean something to a parser, or overflow a number.
var inserts = []string{`"`, `'`, ",", ":", "{", "}", "[", "]", "&a ", "*a", "- ", "#", "\x00", "\xff", "\t", "\r", "-", "null", "NaN", "1e999", "9223372036854775808", "99999999999999999999999999999"}

// mutate changes a text in one place.
func mutate(b []byte, random *unit.Random) []byte {
	at := int(random.Below(uint64(len(b) + 1)))
	to := min(len(b), at+1+int(random.Below(20)))
	line := bytes.LastIndexByte(b[:at], '\n') + 1
	end := len(b)
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		end = at + i + 1
	}
	switch random.Below(7) {
	case 0:
		return b[:at]
	case 1:
		return slices.Delete(b, at, to)
	case 2:
		return slices.Insert(b, end, bytes.Clone(b[line:end])...)
	case 3:
		return slices.Delete(b, line, end)
	case 4:
		if at < len(b) {
			b[at] ^= 1 << random.Below(8)
		}
		return b
	}
	insert := inserts[random.Below(uint64(len(inserts)))]
	return slices.Replace(b, at, at+int(random.Below(2))*(to-at), []byte(insert)...)
}

// Seeds returns all texts, and n of them, spread evenly, under go test -fuzz: Go reads the coverage
// of every seed before it changes any, which takes some 20 ms each, and finds the others itself.
func Seeds[T any](all []T, n int) []T {
	fuzz := flag.Lookup("test.fuzz")
	if fuzz == nil || fuzz.Value.String() == "" || len(all) <= n {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// MinimizeLittle limits to 20 executions what go test -fuzz spends on making an input smaller,
// unless -fuzzminimizetime says another limit. Its default is a minute for each input, in which a
// worker tries no other. Targets call it whose executions take longer than some 100 µs.
func MinimizeLittle(f *testing.F) {
	const name = "fuzzminimizetime"
	given := false
	flag.Visit(func(g *flag.Flag) { given = given || g.Name == "test."+name })
	if given {
		return
	}
	if err := flag.Set("test."+name, "20x"); err != nil {
		f.Fatal(err)
	}
}
