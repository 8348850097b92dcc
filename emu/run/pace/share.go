package pace

// Share keeps a loop that spins while it waits to its share of a processor: to the kernel waiting is work, and it gives
// the loop a processor of its own while two other processes share one. Where others take the processor away from the
// loop again and again, and it has had more than shareMost of the time all the same, it is to sleep. That is one long hold
// of the clock in place of many short ones, each of which puts a gap of every link off.
type Share struct {
	waited func() (thread int, ns int64) // how long the thread of the loop has waited for a processor
	thread int                           // when that was last asked
	known  int64
	since  int64 // the instant of that
	// ns of the last seconds, and those of them in which others had the processor, or the loop slept for them.
	all, others, slept int64
}

const (
	// shareMost is how much of the time is the loop's, in percent: of three equal loops on two processors each has 67.
	shareMost = 72
	// shareOthers is how much others have to take before they count: on a machine with nothing else to do it is less.
	shareOthers = 2
	// shareLate is the lateness in ns from which on a loop asks for how long it has waited: a question costs a few µs.
	// A loop that is in time asks after shareEvery.
	shareLate  = 1_000_000
	shareEvery = 250_000_000
	// shareNap is how long the loop sleeps at a time, in ns. After a nap it shares a processor for a while, until the
	// kernel has moved one of the others, so a few long naps hold the clock less often than many short ones.
	shareNap = 200_000_000
	// shareSpan is after how many ns the past counts half. A loop starts as if it had been alone for a quarter of that.
	shareSpan = 4_000_000_000
)

// NewShare returns the share of a loop that starts now. waited returns for how long the thread that calls it could have
// run and had no processor.
func NewShare(now int64, waited func() (thread int, ns int64)) *Share {
	s := &Share{waited: waited, since: now, all: shareSpan / 4}
	s.thread, s.known = waited()
	return s
}

// Nap returns for how many ns a loop that is so late should sleep now, which may be 0.
func (s *Share) Nap(now, late int64) int64 {
	if late < shareLate && now-s.since < shareEvery {
		return 0
	}
	return s.ask(now)
}

func (s *Share) ask(now int64) int64 {
	thread, waited := s.waited()
	passed := now - s.since
	s.all += passed
	if thread == s.thread {
		s.others += min(waited-s.known, passed)
	}
	s.thread, s.known, s.since = thread, waited, now
	for s.all > shareSpan {
		s.all, s.others, s.slept = s.all/2, s.others/2, s.slept/2
	}
	if s.others < s.all*shareOthers/100 || s.others+s.slept > s.all*(100-shareMost)/100 {
		return 0
	}
	s.slept += shareNap
	return shareNap
}
