package bench_test

import (
	"math"
	"math/big"

	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// keeper is a right limiter that keeps a delay between packets. The wrong ones below change
// one thing each.
type keeper struct {
	rate unit.Rate
	last unit.Time
	size unit.Size
}

func (l *keeper) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.size == 0 {
		return now
	}
	return max(now, l.last.Add(l.rate.Serialise(l.size)))
}
func (l *keeper) Sent(now unit.Time, n unit.Size)  { l.last, l.size = now, n }
func (l *keeper) SetRate(_ unit.Time, r unit.Rate) { l.rate = r }

// forgetful loses the credit that it promises when there is nothing to send for a while.
type forgetful struct {
	node.TokenBucket
	last unit.Time
}

func (l *forgetful) Next(now unit.Time, n unit.Size) unit.Time {
	if now > l.last.Add(unit.Millisecond) {
		l.TokenBucket.Sent(now, 4500)
		l.last = now
	}
	return l.TokenBucket.Next(now, n)
}
func (l *forgetful) Sent(now unit.Time, n unit.Size) { l.TokenBucket.Sent(now, n); l.last = now }

// double counts a packet when it asks and when it starts.
type double struct{ keeper }

func (l *double) Sent(now unit.Time, n unit.Size) { l.keeper.Sent(now, 2*n) }

// nanoseconds rounds the delay down to whole nanoseconds.
type nanoseconds struct{ keeper }

func (l *nanoseconds) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if d := t.Sub(l.last); t > now && t != unit.Never {
		t = max(now, l.last.Add(d-d%unit.Nanosecond))
	}
	return t
}

// narrow reckons bits times nanoseconds in 64 bits.
type narrow struct {
	rate, level, last int64
}

func (l *narrow) fill(now unit.Time) {
	l.level = min(l.level+l.rate*(int64(now)/1000-l.last), 4500*8e9)
	l.last = int64(now) / 1000
}
func (l *narrow) Next(now unit.Time, n unit.Size) unit.Time {
	l.fill(now)
	short := min(int64(n), 4500)*8e9 - l.level
	switch {
	case short <= 0:
		return now
	case l.rate == 0:
		return unit.Never
	}
	return (now - now%1000).Add(unit.Duration(short/l.rate+1) * unit.Nanosecond)
}
func (l *narrow) Sent(now unit.Time, n unit.Size)    { l.fill(now); l.level -= int64(n) * 8e9 }
func (l *narrow) SetRate(now unit.Time, r unit.Rate) { l.fill(now); l.rate = int64(r) }
func (l *narrow) Burst() unit.Size                   { return 4500 }

// stubborn heeds a new rate with the next packet only.
type stubborn struct {
	keeper
	next unit.Time
}

func (l *stubborn) Next(now unit.Time, _ unit.Size) unit.Time { return max(now, l.next) }
func (l *stubborn) Sent(now unit.Time, n unit.Size)           { l.next = now.Add(l.rate.Serialise(n)) }

// hasty makes up at once for all that it missed while it was late.
type hasty struct {
	keeper
	next  unit.Time // on its schedule
	asked bool
}

func (l *hasty) Next(now unit.Time, n unit.Size) unit.Time {
	if !l.asked && now > l.next.Add(20*unit.Millisecond) { // it was idle
		l.next = now
	}
	l.asked = true
	return max(now, l.next)
}
func (l *hasty) Sent(_ unit.Time, n unit.Size) {
	l.next, l.asked = l.next.Add(l.rate.Serialise(n)), false
}

// milliseconds keeps time in whole milliseconds, as a timer does.
type milliseconds struct{ keeper }

func (l *milliseconds) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if t == now || t == unit.Never {
		return t
	}
	return (t + unit.Time(unit.Millisecond) - 1) / unit.Time(unit.Millisecond) * unit.Time(unit.Millisecond)
}

// hoarder has a bucket without a rim.
type hoarder struct{ node.TokenBucket }

func (l *hoarder) Burst() unit.Size { return 4500 }

// beheaded does not count the header.
type beheaded struct{ keeper }

func (l *beheaded) Sent(now unit.Time, n unit.Size) { l.keeper.Sent(now, max(1, n-18)) }

// dead stays stopped once its rate was 0.
type dead struct {
	keeper
	stopped bool
}

func (l *dead) SetRate(now unit.Time, r unit.Rate) {
	l.stopped = l.stopped || r == 0
	l.keeper.SetRate(now, r)
}
func (l *dead) Next(now unit.Time, n unit.Size) unit.Time {
	if l.stopped {
		return unit.Never
	}
	return l.keeper.Next(now, n)
}

// restarting begins its delay again with each change of the rate.
type restarting struct{ keeper }

func (l *restarting) SetRate(now unit.Time, r unit.Rate) { l.last, l.rate = now, r }

// eager counts a packet when it is asked for.
type eager struct{ keeper }

func (l *eager) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if t == now {
		l.keeper.Sent(now, n)
	}
	return t
}
func (l *eager) Sent(unit.Time, unit.Size) {}

// past gives instants that are over.
type past struct{ keeper }

func (l *past) Next(unit.Time, unit.Size) unit.Time {
	if l.size == 0 {
		return 0
	}
	return l.last.Add(l.rate.Serialise(l.size))
}

// dividing divides by the rate.
type dividing struct{ keeper }

func (l *dividing) Next(now unit.Time, n unit.Size) unit.Time {
	return max(now, l.last+unit.Time(int64(l.size)*8e9/int64(l.rate)*1000))
}

// putOff never lets a packet start.
type putOff struct{}

func (putOff) Next(now unit.Time, _ unit.Size) unit.Time { return now + 1 }
func (putOff) Sent(unit.Time, unit.Size)                 {}
func (putOff) SetRate(unit.Time, unit.Rate)              {}

// favouring returns limiters of which every other one is faster.
func favouring() bench.New {
	n := unit.Rate(0)
	return func(r unit.Rate) node.RateLimiter { n++; return &favoured{keeper{rate: r}, 2 - n%2} }
}

// favoured lets through its factor of the rate.
type favoured struct {
	keeper
	factor unit.Rate
}

func (l *favoured) SetRate(now unit.Time, r unit.Rate) { l.keeper.SetRate(now, l.factor*r) }

// amount is bytes times 8e12: the bits that come in, times picoseconds.
type amount = *big.Int

func of(n unit.Size) amount { return new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(8e12)) }

func during(r unit.Rate, d unit.Duration) amount {
	return new(big.Int).Mul(big.NewInt(int64(r)), big.NewInt(int64(d)))
}

// after returns the first instant at which an amount has come in.
func after(now unit.Time, short amount, r unit.Rate, grain unit.Duration) unit.Time {
	if r <= 0 {
		return unit.Never
	}
	per := during(r, grain)
	k := new(big.Int).Add(short, new(big.Int).Sub(per, big.NewInt(1)))
	if k.Div(k, per); !k.IsInt64() || k.Int64() > int64(unit.Never)/int64(grain)/4 {
		return unit.Never
	}
	return now.Add(unit.Duration(k.Int64()) * grain)
}

// pail is a token bucket with a clock of a grain. Flags make one thing wrong each.
type pail struct {
	depth, level amount
	rate         unit.Rate
	stamp        unit.Time
	grain        unit.Duration
	promise      unit.Size // 0: the depth
	full         func(unit.Rate) unit.Size

	uncapped     bool // takes in all of a rest
	frozen       bool // leaves its stamp alone while it is full
	refused      unit.Size
	zero         bool // lets all start at rate 0
	rescales     bool // keeps time instead of bytes at a change of the rate
	refills      bool // is full after each change of the rate
	repeats      bool // is full when the same rate is set again
	empties      bool // is empty after each change of the rate
	refusesLarge bool // never lets a packet start that is longer than its depth
}

func newPail(depth unit.Size) func(unit.Rate) *pail {
	return func(r unit.Rate) *pail {
		return &pail{depth: of(depth), level: of(depth), rate: r, grain: 1}
	}
}

func (l *pail) read(now unit.Time) unit.Time { return now - now%unit.Time(l.grain) }

func (l *pail) at(now unit.Time) amount {
	level := new(big.Int).Add(l.level, during(l.rate, l.read(now).Sub(l.stamp)))
	if !l.uncapped && level.Cmp(l.depth) > 0 {
		level.Set(l.depth)
	}
	return level
}

func (l *pail) fill(now unit.Time) {
	if l.frozen && l.level.Cmp(l.depth) >= 0 {
		return
	}
	l.level, l.stamp = l.at(now), l.read(now)
}

func (l *pail) Next(now unit.Time, n unit.Size) unit.Time {
	if l.refused == 0 {
		l.fill(now)
	}
	level, want := l.at(now), of(n)
	if want.Cmp(l.depth) > 0 {
		if want = l.depth; l.refusesLarge {
			return unit.Never
		}
	}
	short := new(big.Int).Sub(want, level)
	switch {
	case short.Sign() <= 0, l.zero && l.rate == 0:
		return now
	}
	if t := after(l.read(now), short, l.rate, l.grain); t > now {
		if l.refused > 0 && n >= l.refused {
			l.stamp = l.read(now)
		}
		return t
	}
	return now
}

func (l *pail) Sent(now unit.Time, n unit.Size) {
	l.fill(now)
	l.level.Sub(l.level, of(n))
	if l.zero && l.rate == 0 && l.level.Sign() < 0 {
		l.level.SetInt64(0)
	}
}

func (l *pail) SetRate(now unit.Time, r unit.Rate) {
	l.fill(now)
	switch {
	case l.rescales && l.rate > 0 && l.level.Sign() > 0:
		l.level.Div(new(big.Int).Mul(l.level, big.NewInt(int64(r))), big.NewInt(int64(l.rate)))
	case l.refills, l.repeats && r == l.rate:
		l.level = new(big.Int).Set(l.depth)
	case l.empties:
		l.level = new(big.Int)
	}
	if l.rate = r; l.full != nil {
		l.depth = of(l.full(r))
		if l.level.Cmp(l.depth) > 0 {
			l.level.Set(l.depth)
		}
	}
}

func (l *pail) Burst() unit.Size {
	if l.promise > 0 {
		return l.promise
	}
	return unit.Size(new(big.Int).Div(l.depth, big.NewInt(8e12)).Int64())
}

// gcra is the virtual scheduling of ATM: a packet may start when the schedule is no more than a
// tolerance ahead.
type gcra struct {
	tolerance, ahead amount
	rate             unit.Rate
	last             unit.Time
	burst            unit.Size
	late             bool // answers when all of the burst is back
	fresh            int  // so many packets are counted twice
}

func newGCRA(tolerance, burst unit.Size) func(unit.Rate) *gcra {
	return func(r unit.Rate) *gcra {
		return &gcra{tolerance: of(tolerance), ahead: new(big.Int), rate: r, burst: burst}
	}
}

func (l *gcra) fill(now unit.Time) {
	l.ahead.Sub(l.ahead, during(l.rate, now.Sub(l.last)))
	if l.last = now; l.ahead.Sign() < 0 {
		l.ahead.SetInt64(0)
	}
}

func (l *gcra) Next(now unit.Time, _ unit.Size) unit.Time {
	l.fill(now)
	short := new(big.Int).Sub(l.ahead, l.tolerance)
	if l.rate > 0 && short.Sign() <= 0 {
		return now
	}
	if l.late {
		short = l.ahead
	}
	return after(now, short, l.rate, 1)
}

func (l *gcra) Sent(now unit.Time, n unit.Size) {
	l.fill(now)
	if l.ahead.Add(l.ahead, of(n)); l.fresh > 0 {
		l.ahead.Add(l.ahead, of(n))
		l.fresh--
	}
}
func (l *gcra) SetRate(now unit.Time, r unit.Rate) { l.fill(now); l.rate = r }
func (l *gcra) Burst() unit.Size                   { return l.burst }

// grained rounds its delay to a grain, down or up.
type grained struct {
	keeper
	grain unit.Duration
	up    bool
}

func (l *grained) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if t == now || t == unit.Never {
		return t
	}
	d := t.Sub(l.last)
	if rest := d % l.grain; rest > 0 {
		if d -= rest; l.up {
			d += l.grain
		}
	}
	return max(now, l.last.Add(d))
}

// drifting adds delays of whole microseconds, and makes up for any time.
type drifting struct {
	rate unit.Rate
	next unit.Time
}

func (l *drifting) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.rate == 0 {
		return unit.Never
	}
	return max(now, l.next)
}
func (l *drifting) Sent(_ unit.Time, n unit.Size) {
	d := l.rate.Serialise(n)
	l.next = l.next.Add(d - d%unit.Microsecond)
}
func (l *drifting) SetRate(_ unit.Time, r unit.Rate) { l.rate = r }

// cells counts whole tokens of 64 bytes, and forgets the part of one at each call.
type cells struct {
	rate        unit.Rate
	level, deep int64
	stamp       unit.Time
}

func (l *cells) fill(now unit.Time) {
	came := during(l.rate, now.Sub(l.stamp))
	came.Div(came, of(64))
	if l.stamp = now; came.IsInt64() {
		l.level = min(l.deep, l.level+min(came.Int64(), l.deep))
	} else {
		l.level = l.deep
	}
}
func (l *cells) Next(now unit.Time, n unit.Size) unit.Time {
	l.fill(now)
	need := min((int64(n)+63)/64, l.deep)
	if need <= l.level {
		return now
	}
	return after(now, of(unit.Size(64*(need-l.level))), l.rate, 1)
}
func (l *cells) Sent(now unit.Time, n unit.Size)    { l.fill(now); l.level -= (int64(n) + 63) / 64 }
func (l *cells) SetRate(now unit.Time, r unit.Rate) { l.fill(now); l.rate = r }
func (l *cells) Burst() unit.Size                   { return unit.Size(64 * l.deep) }

// changed is the keeper with another rate, length or delay.
type changed struct {
	keeper
	rates  func(unit.Rate) unit.Rate
	sizes  func(unit.Size) unit.Size
	delays func(unit.Duration) unit.Duration
}

func (l *changed) SetRate(now unit.Time, r unit.Rate) {
	if l.rates != nil {
		r = l.rates(r)
	}
	l.keeper.SetRate(now, r)
}
func (l *changed) Sent(now unit.Time, n unit.Size) {
	if l.sizes != nil {
		n = l.sizes(n)
	}
	l.keeper.Sent(now, n)
}
func (l *changed) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if l.delays != nil && l.size > 0 && t != unit.Never {
		t = max(now, l.last.Add(l.delays(l.rate.Serialise(l.size))))
	}
	return t
}

// caching computes its delay for another length only.
type caching struct {
	keeper
	delay unit.Duration
}

func (l *caching) Next(now unit.Time, _ unit.Size) unit.Time { return max(now, l.last.Add(l.delay)) }
func (l *caching) Sent(now unit.Time, n unit.Size) {
	if n != l.size {
		l.delay = l.rate.Serialise(n)
	}
	l.last, l.size = now, n
}

// counting stops when it has counted this many bits as fit into 32.
type counting struct {
	keeper
	bits uint64
}

func (l *counting) Sent(now unit.Time, n unit.Size) {
	l.bits += 8 * uint64(n)
	l.keeper.Sent(now, n)
}
func (l *counting) Next(now unit.Time, n unit.Size) unit.Time {
	if l.bits > math.MaxUint32 {
		return now
	}
	return l.keeper.Next(now, n)
}

// single keeps its delays in time of 32-bit floating point.
type single struct {
	keeper
	next float32
}

func (l *single) Next(now unit.Time, _ unit.Size) unit.Time {
	t := float64(l.next) * 1e12
	if t >= math.MaxInt64 {
		return unit.Never
	}
	return max(now, unit.Time(t))
}
func (l *single) Sent(now unit.Time, n unit.Size) {
	l.next = float32(now.Sub(0).Seconds()) + float32(l.rate.Serialise(n).Seconds())
}

// askedFor charges the length that it is asked for.
type askedFor struct {
	keeper
	n unit.Size
}

func (l *askedFor) Next(now unit.Time, n unit.Size) unit.Time { l.n = n; return l.keeper.Next(now, n) }
func (l *askedFor) Sent(now unit.Time, _ unit.Size)           { l.keeper.Sent(now, l.n) }

// early computes the delay behind a packet as the packet may start.
type early struct {
	keeper
	delay unit.Duration
	next  unit.Time
}

func (l *early) Next(now unit.Time, n unit.Size) unit.Time {
	l.delay = l.rate.Serialise(n)
	return max(now, l.next)
}
func (l *early) Sent(now unit.Time, _ unit.Size) { l.next = now.Add(l.delay) }
func (l *early) SetRate(_ unit.Time, r unit.Rate) {
	l.rate = r
}

// first lets a packet start at once when the rate has changed.
type first struct {
	keeper
	free bool
}

func (l *first) SetRate(now unit.Time, r unit.Rate) { l.free = r != l.rate; l.keeper.SetRate(now, r) }
func (l *first) Next(now unit.Time, n unit.Size) unit.Time {
	if l.free {
		return now
	}
	return l.keeper.Next(now, n)
}
func (l *first) Sent(now unit.Time, n unit.Size) { l.free = false; l.keeper.Sent(now, n) }

// falling takes over lower rates only.
type falling struct {
	keeper
	most unit.Rate
}

func (l *falling) SetRate(_ unit.Time, r unit.Rate) {
	if l.most == 0 || r < l.most {
		l.most, l.rate = r, r
	}
}

// sharing returns limiters that are one.
func sharing() bench.New {
	var all = map[unit.Rate]node.RateLimiter{}
	return func(r unit.Rate) node.RateLimiter {
		if all[r] == nil {
			all[r] = &keeper{rate: r}
		}
		return all[r]
	}
}
