package node

import (
	"math/bits"

	"fabemu/wire/unit"
)

// TokenBucket is a rate limiter that makes up for unused time, up to its depth: tokens arrive at
// the flow's rate, a packet takes out its length, and starts when the bucket holds that much. The
// bucket is full at first. So
//
//   - over any span t at most as many bytes start as the depth and the tokens that arrive within t
//     and a picosecond,
//   - a flow that always has a packet gets its rate exactly: the lateness of a start, rounded to a
//     whole picosecond, is in the bucket for the next one,
//   - a change of the rate leaves the tokens of the old rate in the bucket.
//
// Only the instant that Next returns is rounded, up. Tokens that arrive within that picosecond do
// not overflow, so the rate is exact even if the bucket holds one packet only. A packet that is
// longer than the depth of the bucket increases the depth to its length.
type TokenBucket struct {
	rate  uint64    // bits per second
	deep  unit.Size // as depth
	depth tokens
	level tokens    // at last
	last  unit.Time // when level was brought up to date
}

// NewTokenBucket returns a limiter at rate r with a bucket of the given depth, which is at least 0.
func NewTokenBucket(r unit.Rate, depth unit.Size) *TokenBucket {
	full := tokensOf(depth)
	return &TokenBucket{rate: uint64(max(r, 0)), deep: depth, depth: full, level: full}
}

// Next returns when the bucket holds n bytes: now or later; unit.Never if the rate is 0.
func (l *TokenBucket) Next(now unit.Time, n unit.Size) unit.Time {
	want := tokensOf(n)
	l.deepen(want)
	now = max(now, l.last)
	level := l.levelAt(now)
	if !level.less(want) {
		return now
	}
	want.sub(level)
	if want.hi >= l.rate { // also at no rate
		return unit.Never
	}
	wait, rest := bits.Div64(want.hi, want.lo, l.rate)
	if rest > 0 {
		wait++
	}
	return now.Add(unit.Duration(min(wait, uint64(unit.Never))))
}

// Sent takes n bytes out, or all there are if a packet did not wait.
func (l *TokenBucket) Sent(now unit.Time, n unit.Size) {
	taken := tokensOf(n)
	l.deepen(taken)
	l.settle(now)
	if l.level.less(taken) {
		taken = l.level
	}
	l.level.sub(taken)
}

// Burst returns the depth of the bucket.
func (l *TokenBucket) Burst() unit.Size { return l.deep }

// Rate returns the rate at which tokens arrive.
func (l *TokenBucket) Rate() unit.Rate { return unit.Rate(l.rate) }

// SetRate adds the tokens of the old rate up to now, and then changes the rate.
func (l *TokenBucket) SetRate(now unit.Time, r unit.Rate) {
	l.settle(now)
	l.rate = uint64(max(r, 0))
}

// deepen makes the bucket deep enough.
func (l *TokenBucket) deepen(n tokens) {
	if l.depth.less(n) {
		l.depth = n
	}
}

// settle brings the level up to date. Time does not run back: a packet whose start is
// run late has found its tokens before.
func (l *TokenBucket) settle(now unit.Time) {
	now = max(now, l.last)
	l.level, l.last = l.levelAt(now), now
}

// levelAt returns the level at now, which is not before last.
func (l *TokenBucket) levelAt(now unit.Time) tokens {
	level := l.level
	level.add(bits.Mul64(l.rate, uint64(now-l.last)))
	full := l.depth
	if l.rate > 1 {
		full.add(0, l.rate-1)
	}
	if full.less(level) {
		return full
	}
	return level
}

// tokens is an amount, in the unit that makes everything a whole number: the tokens that come in
// within a picosecond at one bit per second. A byte is 8e12 of them. Two words hold
// the tokens of any rate in any time, and any depth.
type tokens struct{ hi, lo uint64 }

// tokensOf returns n bytes.
func tokensOf(n unit.Size) tokens {
	hi, lo := bits.Mul64(uint64(max(n, 0)), 8*uint64(unit.Second))
	return tokens{hi, lo}
}

func (t tokens) less(u tokens) bool { return t.hi < u.hi || t.hi == u.hi && t.lo < u.lo }

func (t *tokens) add(hi, lo uint64) {
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, lo, 0)
	t.hi += hi + carry
}

func (t *tokens) sub(u tokens) {
	var borrow uint64
	t.lo, borrow = bits.Sub64(t.lo, u.lo, 0)
	t.hi -= u.hi + borrow
}
