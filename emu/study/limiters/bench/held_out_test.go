package bench_test

import (
	"math"

	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// heldOut are wrong limiters of other designs than those that the experiments were written with.
// Four of them corrected the experiments: the rate in kb/s and the gaps in 32 bits had a wrong
// cause, the 2 bytes a misleading one, and the rate 0 had none.
func heldOut() []design {
	inAccount := func(plant func(*account)) bench.New {
		return func(r unit.Rate) node.RateLimiter {
			l := &account{rate: float64(r) / 8, level: 6000, depth: 6000}
			plant(l)
			return l
		}
	}
	inVirtual := func(plant func(*virtual)) bench.New {
		return func(r unit.Rate) node.RateLimiter {
			l := &virtual{rate: r, ahead: 6000}
			plant(l)
			return l
		}
	}
	return []design{
		{name: "account: rate in kb/s", new: inAccount(func(l *account) { l.rates = func(r float64) float64 { return math.Floor(r/125) * 125 } })},
		{name: "account: kb/s of 1024 bits", new: inAccount(func(l *account) { l.rates = func(r float64) float64 { return r * 1.024 } })},
		{name: "account: bits for bytes", new: inAccount(func(l *account) { l.rates = func(r float64) float64 { return r * 8 } })},
		{name: "account: forgets at a rate", new: inAccount(func(l *account) { l.set = func(now float64) { l.last = now } })},
		{name: "account: zero at a lower rate", new: inAccount(func(l *account) {
			l.set = func(now float64) {
				l.fill(now)
				if l.next < l.rate {
					l.level = math.Min(l.level, 0)
				}
			}
		})},
		{name: "account: full at a higher rate", new: inAccount(func(l *account) {
			l.set = func(now float64) {
				l.fill(now)
				if l.next > l.rate {
					l.level = l.depth
				}
			}
		})},
		{name: "account: never below zero", new: inAccount(func(l *account) { l.depth, l.level, l.floor = 3000, 3000, true })},
		{name: "account: refusals move the clock", new: inAccount(func(l *account) { l.moves = true })},
		{name: "account: clock of 1 ms", new: inAccount(func(l *account) { l.tick = 1e-3 })},
		{name: "account: a quarter of its depth after a rest", new: inAccount(func(l *account) { l.tired = true })},
		{name: "account: 2 bytes less at each look", new: inAccount(func(l *account) { l.leaks = 2 })},
		{name: "virtual: gaps of whole 10 us", new: inVirtual(func(l *virtual) { l.grain = 1e7 })},
		{name: "virtual: charges before the start", new: inVirtual(func(l *virtual) { l.early = true })},
		{name: "virtual: anew at a rate", new: inVirtual(func(l *virtual) { l.anew = true })},
		{name: "virtual: gaps in 32 bits of ps", new: inVirtual(func(l *virtual) { l.narrow = true })},
		{name: "virtual: 24 bytes more", new: inVirtual(func(l *virtual) { l.more = 24 })},
		{name: "virtual: stays at rate 0", new: inVirtual(func(l *virtual) { l.ignoresZero = true })},
		{name: "virtual: at most 1 Gb/s", new: inVirtual(func(l *virtual) { l.most = gbit })},
	}
}

const gbit unit.Rate = 1e9

// account is a bucket in seconds and bytes of floating point, which may go below zero.
type account struct {
	rate, next, level, depth, last float64
	rates                          func(float64) float64
	set                            func(now float64)
	floor, moves, tired            bool
	tick, leaks                    float64
}

func (l *account) read(now unit.Time) float64 {
	t := now.Sub(0).Seconds()
	if l.tick > 0 {
		t = math.Floor(t/l.tick+1e-9) * l.tick
	}
	return t
}

func (l *account) fill(t float64) {
	depth := l.depth
	if l.tired && t > l.last+l.depth/l.rate {
		depth /= 4
	}
	l.level, l.last = math.Min(depth, l.level+l.rate*(t-l.last)), t
}

func (l *account) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.read(now)
	if l.leaks > 0 {
		l.fill(t)
		l.level -= l.leaks
	}
	if l.tired {
		l.fill(t)
	}
	have := math.Min(l.depth, l.level+l.rate*(t-l.last))
	short := math.Min(float64(n), l.depth) - have
	if short <= 1e-5 {
		return now
	}
	if l.moves && t > l.last {
		l.last = t
	}
	if l.rate == 0 || short/l.rate > 1e6 {
		return unit.Never
	}
	wait := short / l.rate
	if l.tick > 0 {
		wait = math.Ceil(wait/l.tick) * l.tick
	}
	return max(now+1, unit.Time(math.Ceil((t+wait)*1e9)*1000))
}

func (l *account) Sent(now unit.Time, n unit.Size) {
	l.fill(l.read(now))
	if l.level -= float64(n); l.floor {
		l.level = math.Max(0, l.level)
	}
}

func (l *account) SetRate(now unit.Time, r unit.Rate) {
	l.next = float64(r) / 8
	if l.rates != nil {
		l.next = l.rates(l.next)
	}
	if t := l.read(now); l.set != nil && l.next != l.rate {
		l.set(t)
	} else {
		l.fill(t)
	}
	l.rate = l.next
}

func (l *account) Burst() unit.Size { return unit.Size(l.depth) }

// virtual is a schedule in bytes, which may be ahead of the time by a tolerance.
type virtual struct {
	rate, most  unit.Rate
	debt, ahead float64 // bytes that were sent beyond the rate, and how many may
	last        unit.Time
	more, grain float64
	early       bool
	anew        bool
	narrow      bool
	ignoresZero bool
}

func (l *virtual) pay(now unit.Time) {
	l.debt -= l.rate.BytesPerSecond() * now.Sub(l.last).Seconds()
	l.debt, l.last = math.Max(0, l.debt), now
}

func (l *virtual) Next(now unit.Time, n unit.Size) unit.Time {
	l.pay(now)
	short := l.debt - l.ahead
	switch {
	case short <= 1e-5:
		if l.early {
			l.debt += float64(n)
		}
		return now
	case l.rate == 0:
		return unit.Never
	}
	wait := math.Ceil(short / l.rate.BytesPerSecond() * 1e12)
	if l.narrow {
		wait = math.Mod(wait, 1<<32)
	}
	if l.grain > 0 {
		wait = math.Ceil(wait/l.grain) * l.grain
	}
	if wait > 1e18 {
		return unit.Never
	}
	return now.Add(1 + unit.Duration(wait))
}

func (l *virtual) Sent(now unit.Time, n unit.Size) {
	l.pay(now)
	if !l.early {
		l.debt += float64(n) + l.more
	}
}

func (l *virtual) SetRate(now unit.Time, r unit.Rate) {
	l.pay(now)
	if l.anew && r != l.rate {
		l.debt = 0
	}
	if l.ignoresZero && r == 0 {
		return
	}
	if l.rate = r; l.most > 0 {
		l.rate = min(r, l.most)
	}
}

func (l *virtual) Burst() unit.Size { return unit.Size(l.ahead) + 9000 }
