package agenda_test

import (
	"fmt"
	"testing"

	"fabemu/wire/agenda"
	"fabemu/wire/unit"
)

// BenchmarkEvent is what a driver does for each event: it takes the first slot and
// sets it to a later instant. 72 slots are those of a switch of 24 ports.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{72, 6000} {
		b.Run(fmt.Sprintf("slots=%d", n), func(b *testing.B) {
			random := unit.NewRandom(1, 1)
			a := agenda.New(n)
			for i := range n {
				a.Set(i, unit.Time(random.Below(1000)))
			}
			steps := make([]unit.Duration, 4096)
			for i := range steps {
				steps[i] = 1 + random.Span(2000)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				slot, due := a.First()
				a.Set(slot, due.Add(steps[i%len(steps)]))
			}
		})
	}
}
