package process

import (
	"sync/atomic"
	"time"

	"fabemu/emu/run/pace"
)

// A process that is stopped (SIGSTOP, a debugger) or gets no processor sends nothing, not even an alive message. A
// part that only waits for another part does send it.
const (
	// aliveEvery is how often a part that sends nothing else sends an alive message.
	aliveEvery = 200 * time.Millisecond
	// attendEvery is how often the conductor checks which parts have sent a message. A part that has sent none for
	// silentAfter is silent.
	attendEvery = 100 * time.Millisecond
	silentAfter = time.Second
)

// attention is the conductor's record of when a part has sent a message.
type attention struct {
	heard   atomic.Int64 // messages received
	telling atomic.Bool  // a message waits for the conductor

	before int64         // the same when the conductor last looked
	quiet  time.Duration // since the last message
	silent time.Duration // sum of the times longer than silentAfter
}

// attend checks which parts are silent. Time in which the conductor itself did not run
// does not count.
func (r *conductor) attend() {
	now := r.clock()
	passed := min(time.Duration(now-r.attended), 2*attendEvery)
	r.attended, r.silent = now, nil
	for _, s := range r.participants {
		n := s.heard.Load()
		if n != s.before || s.telling.Load() || !s.ready || s.report != nil {
			s.before, s.quiet = n, 0
			continue
		}
		s.quiet += passed
		if s.quiet < silentAfter {
			continue
		}
		if s.quiet-passed < silentAfter {
			s.silent += s.quiet - passed
		}
		s.silent += passed
		r.silent = append(r.silent, pace.Silent{Part: s.Part, For: s.quiet})
	}
	r.fabric.Progress.Miss(r.silent)
}

// silences returns the silent parts, and how long each was silent.
func (r *conductor) silences() (list []pace.Silent) {
	for _, s := range r.participants {
		if s.silent > 0 {
			list = append(list, pace.Silent{Part: s.Part, For: s.silent})
		}
	}
	return list
}
