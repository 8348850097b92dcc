package pace

// Stamps turns time stamps of the kernel, which are of the time of day, into instants of a run's
// clock.
type Stamps struct {
	clock func() int64
	ahead int64 // by how much the time of day is ahead
}

// NewStamps returns the Stamps of a run that follows Monotonic.
func NewStamps(clock func() int64) Stamps {
	return Stamps{clock, timeOfDayAhead(clock)}
}

// Known reports whether s is of a clock: the zero value is not.
func (s *Stamps) Known() bool { return s.clock != nil }

// At returns the instant of a time stamp (0: none) that was made between since and now; now may be
// before it, and is read again then. Where the stamp is not between them, someone has set the time
// of day: ok is false, and the next stamps are compared with the new time.
func (s *Stamps) At(stamp, since, now int64) (at int64, ok bool) {
	if stamp == 0 {
		return 0, false
	}
	at = stamp - s.ahead
	if at >= since && (at <= now || at <= s.clock()) {
		return at, true
	}
	s.ahead = timeOfDayAhead(s.clock)
	return 0, false
}
