//go:build soak

package random_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// How many random fabrics a test has.
const (
	witnessedFabrics = 90
	otherFabrics     = 10
	dividedFabrics   = 2000
	overrunFabrics   = 5000
	plannedFabrics   = 2000
)

// number returns the number that a variable of the environment has.
func number(t *testing.T, name string, def uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// seedsOf returns the first seed of the fabrics that must not overrun, and how many there are.
func seedsOf(t *testing.T) (first, most uint64) {
	return number(t, "FABEMU_FIRST", 0), number(t, "FABEMU_RUNS", overrunFabrics)
}

// TestSoakFabrics examines random fabrics, with random faults, each in all ways there are: for
// FABEMU_MINUTES, or FABEMU_FABRICS of them where that is given, from the seed FABEMU_SEED on,
// which is printed. A fabric that is at fault is made as small as it can be and written next to the
// others that TestModelKeptFabrics runs: commit it with the repair.
func TestSoakFabrics(t *testing.T) {
	number := func(name string, def uint64) uint64 { return number(t, name, def) }
	begin, most := time.Now(), time.Duration(number("FABEMU_MINUTES", 20))*time.Minute
	fabrics, first := number("FABEMU_FABRICS", 0), number("FABEMU_SEED", uint64(time.Now().UnixNano()/1000))
	if fabrics == 0 && most == 0 {
		t.Skip("none are asked for")
	}
	fmt.Printf("random fabrics from FABEMU_SEED=%d on\n", first)
	refused, hops, seed := 0, 0, first
	for ; fabrics > 0 && seed < first+fabrics || fabrics == 0 && time.Since(begin) < most; seed++ {
		text := randomFabric(seed)
		if seed%4 == 1 {
			text = queuedFabric(seed)
		}
		wrong, w, err := examine(text)
		if err != nil {
			if refused++; !refusal(err) {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		hops += w.moves
		look := func(text string) []string {
			wrong, _, _ := examine(text)
			return wrong
		}
		for _, x := range []func(string) []string{compare, divided} {
			if len(wrong) == 0 {
				wrong, look = x(text), x
			}
		}
		if len(wrong) == 0 {
			continue
		}
		kind := kindOf(wrong[0])
		small := reduce(text, func(text string) bool {
			return slices.ContainsFunc(look(text), func(s string) bool { return kindOf(s) == kind })
		})
		file := filepath.Join("testdata", "fabrics", fmt.Sprintf("found-%d.yaml", seed))
		note := "# " + strings.ReplaceAll(wrong[0], "\n", "\n# ") + "\n"
		if err := os.WriteFile(file, []byte(note+small), 0o666); err != nil {
			t.Error(err)
		}
		t.Errorf("seed %d: %s\nmade small, in emu/emutest/runtest/random/%s:\n%s", seed, strings.Join(wrong, "\n"), file, small)
	}
	fmt.Printf("%d fabrics in %v, %d refused, %d frame-hops\n", seed-first, time.Since(begin).Round(time.Second), refused, hops)
}

var digits = regexp.MustCompile(`[0-9.]+(us|ns|ms|s)?\b`)

// kindOf returns what is wrong, whenever and wherever it is.
func kindOf(wrong string) string {
	_, what, _ := strings.Cut(wrong, ": ")
	if what == "" {
		what = wrong
	}
	return digits.ReplaceAllString(what, "N")
}
