package actual

import (
	"encoding/json"

	"fabemu/wire/unit"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Starts is by how much packets start later than their limiters let them: from the instant that
// a limiter gave, or at which there was a packet, to that at which its answer was there.
type Starts struct {
	Count     int64
	Late      int64                   // later than 5 % of T, the time of a packet on the line
	Lateness  *hdrhistogram.Histogram // in ps of model time
	LatenessT *hdrhistogram.Histogram // in thousandths of T
}

// newStarts returns Starts of no packets: up to 100 s, in three digits.
func newStarts() *Starts {
	return &Starts{Lateness: hdrhistogram.New(1, 100_000_000_000_000, 3), LatenessT: hdrhistogram.New(1, 100_000_000_000, 3)}
}

// note counts a start.
func (s *Starts) note(late, packet unit.Duration) {
	s.Count++
	if late > packet/20 {
		s.Late++
	}
	s.Lateness.RecordValue(int64(late))
	s.LatenessT.RecordValue(int64(late) * 1000 / int64(max(packet, 1)))
}

// merge adds those of another part of the run.
func (s *Starts) merge(o *Starts) {
	s.Count += o.Count
	s.Late += o.Late
	s.Lateness.Merge(o.Lateness)
	s.LatenessT.Merge(o.LatenessT)
}

// written is Starts as JSON has it.
type written struct {
	Count, Late         int64
	Lateness, LatenessT *hdrhistogram.Snapshot
}

// MarshalJSON writes s, for the process that adds up all parts.
func (s *Starts) MarshalJSON() ([]byte, error) {
	return json.Marshal(written{s.Count, s.Late, s.Lateness.Export(), s.LatenessT.Export()})
}

// UnmarshalJSON reads what MarshalJSON writes. A histogram of another shape is left out.
func (s *Starts) UnmarshalJSON(b []byte) error {
	var w written
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = *newStarts()
	s.Count, s.Late = w.Count, w.Late
	for _, x := range []struct {
		to   **hdrhistogram.Histogram
		from *hdrhistogram.Snapshot
	}{{&s.Lateness, w.Lateness}, {&s.LatenessT, w.LatenessT}} {
		if own := (*x.to).Export(); x.from != nil && len(x.from.Counts) == len(own.Counts) {
			own.Counts = x.from.Counts
			*x.to = hdrhistogram.Import(own)
		}
	}
	return nil
}
