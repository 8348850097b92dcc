package runtest

import (
	"bytes"
	"slices"

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
