package pace

// Share limits a loop that spins until its next event to a share of a processor. To the kernel,
// spinning is work like any other, and on two processors it tends to leave one to the loop while
// two busy processes share the other. So a loop that other processes have preempted again and
// again, and that has run for more than shareMost of the time nevertheless, should sleep. The sleep
// is one long hold of the clock. Short holds in its place would disturb more gaps, because each
// puts one gap of every link off.
type Share struct {
	waited func() (thread int, ns int64) // how long the thread of the loop has waited for a processor
	thread int                           // when that was last asked
	known  int64
	since  int64 // the instant of that

	// The last seconds, in ns, and how much of them the loop waited for a processor, or slept.
	all, others, slept int64
}

const (
	// shareMost is the loop's share of the time in percent: that of each of three equal loops on
	// two processors.
	shareMost = 67
	// shareOthers is the share of the time, in percent, that others must have taken; on an idle
	// machine they take less. At the start of a run, the time counts as a quarter of shareSpan.
	shareOthers = 2
	// A loop that is later than shareLate, in ns, looks for how long it has waited, which costs a
	// few µs; a loop that is in time does so every shareEvery.
	shareLate  = 1_000_000
	shareEvery = 250_000_000
	// shareNap is how long the loop sleeps at a time, in ns. After a nap the loop and another
	// process take turns on one processor until the kernel moves one of them, and each turn is a
	// hold. So naps are few and long.
	shareNap = 200_000_000
	// After shareSpan, in ns, the past counts half.
	shareSpan = 4_000_000_000
)

// NewShare returns the Share of a loop that starts now. waited is WaitedForCPU, or takes its place
// in a test.
func NewShare(now int64, waited func() (thread int, ns int64)) *Share {
	s := &Share{waited: waited, since: now}
	s.thread, s.known = waited()
	return s
}

// Nap returns for how many ns a loop that is so many ns late should sleep now; often 0.
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
	if s.others < max(s.all, shareSpan/4)*shareOthers/100 || s.others+s.slept > s.all*(100-shareMost)/100 {
		return 0
	}
	s.slept += shareNap
	return shareNap
}
