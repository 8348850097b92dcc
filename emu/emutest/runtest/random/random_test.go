package random_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/wire/unit"
)

// Whatever the fabric, and whatever happens to it: nothing is sent while paused, on a
// busy link or on a link that is down, nothing overruns a memory, no frame is lost
// but where a link was down or flow control is not there, and none is stuck but in a
// deadlock, or behind a link that is down: what was sent has been delivered or dropped
// when the time is up, or the report names its flow.
func TestModelRandomFabricsKeepTheirPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	refused, sum := 0, [5]int{}
	const runs = witnessedFabrics
	for seed := range uint64(runs) {
		text := randomFabric(seed)
		wrong, w, err := examine(text)
		if err != nil {
			if refused++; !refusal(err) {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			continue
		}
		if len(wrong) > 0 {
			t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(wrong, "\n"), text)
		}
		left, _, _ := w.left(unit.Never)
		for i, n := range []int{w.delivered, w.dropped, w.pauses, w.feedback, left} {
			sum[i] += n
		}
	}
	t.Logf("%d runs, %d refused; %d frames delivered, %d dropped; %d PAUSE frames; %d frames of feedback; %d were left", runs, refused, sum[0], sum[1], sum[2], sum[3], sum[4])
	if refused > runs/4 || sum[1] == 0 || sum[2] < runs || sum[3] < runs || sum[4] == 0 {
		t.Error("that shows little")
	}
}

// What random fabrics have found once, made as small as it could be, stays right.
func TestModelKeptFabrics(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	files, err := filepath.Glob("testdata/fabrics/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if wrong, _, err := examine(string(text)); err != nil || len(wrong) > 0 {
			t.Errorf("%s: %v\n%s", file, err, strings.Join(wrong, "\n"))
		}
	}
}

// On the wall clock, over links, each of them is what it is on the virtual one, however
// little time there is.
func TestRandomFabricsInOtherWays(t *testing.T) { inOtherWays(t, 0, 2) }
func TestModelRandomFabricsInOtherWays(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	inOtherWays(t, 2, 2+otherFabrics)
}

func inOtherWays(t *testing.T, from, to uint64) {
	for seed := from; seed < to; seed++ {
		if wrong := compare(randomFabric(seed)); len(wrong) > 0 {
			t.Errorf("seed %d:\n%s", seed, strings.Join(wrong, "\n"))
		}
	}
}

// Domains and loops change neither log nor figures nor curves, whatever the fabric.
func TestModelRandomFabricsInDomains(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	for seed := range uint64(dividedFabrics) {
		if wrong := divided(randomFabric(seed)); len(wrong) > 0 {
			t.Errorf("seed %d:\n%s", seed, strings.Join(wrong, "\n"))
		}
		if seed%100 == 99 {
			t.Logf("%d fabrics", seed+1)
		}
	}
}

// Nothing overruns a memory, neither in domains nor on the wall clock. In its long form
// FABEMU_FIRST is the first seed, and FABEMU_RUNS how many there are.
func TestRandomFabricsDoNotOverrun(t *testing.T) {
	t.Parallel()
	first, most := seedsOf(t)
	if testing.Short() {
		most = 2
	}
	refused, ran := 0, 0
	for seed := first; seed < first+most; seed++ {
		text := randomFabric(seed)
		wrong, err := overruns(text)
		switch {
		case err != nil && refusal(err):
			refused++
		case err != nil:
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		case len(wrong) > 0:
			t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(wrong, "\n"), text)
		default:
			ran++
		}
		if n := seed + 1 - first; n%100 == 0 {
			t.Logf("%d fabrics, %d refused", n, refused)
		}
	}
	t.Logf("seeds %d to %d: %d ran, %d refused", first, first+most-1, ran, refused)
	if ran == 0 {
		t.Error("that shows nothing")
	}
}
