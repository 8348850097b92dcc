//go:build soak

package retry

import (
	"math/rand/v2"
	"testing"

	"fabemu/wire/unit"
)

// "No frame twice, none out of order, over a million random faults", with the sequences of 20 bits,
// which wrap ten times.
func TestModelMillionFaults(t *testing.T) {
	const frames = 11 * Modulus
	random := rand.New(rand.NewPCG(1, 2))
	p := profile()
	p.Count = 255
	r := newRig(p, Modulus).ready()
	faults := 0
	spoil := func(*carried) fate {
		if random.Float64() >= 0.05 {
			return whole
		}
		faults++
		return fate(1 + random.IntN(2))
	}
	r.a.spoils, r.b.spoils, r.a.toSend = spoil, spoil, frames
	r.run(unit.Time(100 * unit.Second))
	inOrder(t, r.b.passed, frames)
	if faults < 1_000_000 || r.a.Count(Flushed) > 0 {
		t.Errorf("%d faults, flushed %d times", faults, r.a.Count(Flushed))
	}
}
