package measured

import (
	"fabemu/emu/run/pace"
	"fabemu/wire/unit"
)

// Starts is by how much packets start later than their limiters let them: from the instant that
// a limiter gave, or at which there was a packet, to that at which its answer was there.
type Starts struct {
	Count     int64
	Late      int64          // later than 5 % of T, the time of a packet on the link
	Lateness  pace.Histogram // in ps of model time
	LatenessT pace.Histogram // in thousandths of T
}

// newStarts returns Starts of no packets: up to 100 s, in three digits.
func newStarts() *Starts {
	return &Starts{Lateness: pace.NewHistogram(100_000_000_000_000), LatenessT: pace.NewHistogram(100_000_000_000)}
}

func (s *Starts) note(late, packet unit.Duration) {
	s.Count++
	if late > packet/20 {
		s.Late++
	}
	s.Lateness.RecordValue(int64(late))
	s.LatenessT.RecordValue(int64(late) * 1000 / int64(max(packet, 1)))
}
