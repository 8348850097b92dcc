//go:build timing

package agenda_test

import (
	"testing"

	"fabemu/wire/agenda"
	"fabemu/wire/unit"
)

// "Nothing allocates."
func TestAllocsOfAnAgenda(t *testing.T) {
	a := agenda.New(72)
	now := unit.Time(0)
	a.Set(0, now)
	if n := testing.AllocsPerRun(1000, func() {
		slot, _ := a.First()
		now++
		a.Set(slot, now+unit.Time(slot))
		a.Set(71-slot, now)
		_ = a.Next() + a.Due(slot)
	}); n != 0 {
		t.Errorf("an event of an agenda allocates %v times", n)
	}
}
