package limitertest

import (
	"fmt"

	"fabemu/node"
	"fabemu/wire/unit"
)

// Watch is a limiter that passes all calls on to another and holds both sides to the
// contract of node.RateLimiter. It also adds up what was sent, and what the rates that
// were set let through.
type Watch struct {
	limiter node.RateLimiter
	err     error
	now     unit.Time // the latest instant that it was told
	gave    unit.Time // by the last Next
	size    unit.Size // for so many bytes
	open    bool      // the last Next let a packet start
	kept    bool      // it must let one start at gave: the rate has not changed since
	rate    unit.Rate
	since   unit.Time // when rate was set
	allowed float64   // bytes, until since
	sent    unit.Size
	changes int
}

// NewWatch returns a Watch of a limiter whose rate is r.
func NewWatch(l node.RateLimiter, r unit.Rate) *Watch { return &Watch{limiter: l, rate: r} }

// Err returns the first breach of the contract, nil when there was none.
func (w *Watch) Err() error { return w.err }

// SentBytes returns how many bytes have started, in lengths on the line.
func (w *Watch) SentBytes() unit.Size { return w.sent }

// AllowedBytes returns how many bytes the rates that were set let through until an
// instant, which is not before the last call of SetRate.
func (w *Watch) AllowedBytes(until unit.Time) float64 {
	return w.allowed + w.rate.BytesPerSecond()*until.Sub(w.since).Seconds()
}

// Changes returns how often the rate was set.
func (w *Watch) Changes() int { return w.changes }

// breach notes a breach of the contract, if it is the first.
func (w *Watch) breach(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// told checks that time does not run backwards.
func (w *Watch) told(call string, now unit.Time) {
	if now < w.now {
		w.breach("%s is called at %v, after a call at %v: time runs backwards", call, now, w.now)
	}
	w.now = max(w.now, now)
}

// Next asks the limiter.
func (w *Watch) Next(now unit.Time, n unit.Size) unit.Time {
	w.told("Next", now)
	t := w.limiter.Next(now, n)
	switch {
	case t < now:
		w.breach("the limiter, asked at %v, gives %v, which is before", now, t)
	case w.kept && n == w.size && now >= w.gave && t > now:
		w.breach("the limiter gave %v for %d bytes, and asked then, at %v, it gives %v", w.gave, n, now, t)
	}
	w.gave, w.size, w.open, w.kept = t, n, t == now, true
	return t
}

// Sent tells the limiter of a start.
func (w *Watch) Sent(now unit.Time, n unit.Size) {
	w.told("Sent", now)
	if !w.open {
		w.breach("%d bytes start at %v, and the limiter has not let them", n, now)
	} else if now < w.gave {
		w.breach("%d bytes start at %v, and the limiter gave %v", n, now, w.gave)
	}
	w.open, w.kept = false, false
	w.sent += n
	w.limiter.Sent(now, n)
}

// SetRate tells the limiter another rate.
func (w *Watch) SetRate(now unit.Time, r unit.Rate) {
	w.told("SetRate", now)
	w.allowed = w.AllowedBytes(now)
	w.rate, w.since, w.kept = r, now, false
	w.changes++
	w.limiter.SetRate(now, r)
}
