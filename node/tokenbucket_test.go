package node_test

import (
	"fmt"
	"math/big"
	"testing"

	"fabemu/node"
	"fabemu/wire/unit"
)

// Packets of 1500 bytes at 1 Gb/s, 12 µs each, from a bucket of 3000 bytes: two start
// at once; after a pause the bucket is full again, and no fuller.
func ExampleTokenBucket() {
	l := node.NewTokenBucket(1e9, 3000)
	for _, ready := range []unit.Duration{0, 0, 0, 100 * us, 100 * us, 100 * us} {
		start := l.Next(unit.Time(ready), 1500)
		fmt.Printf("ready at %v, starts at %v\n", ready, start)
		l.Sent(start, 1500)
	}
	// Output:
	// ready at 0s, starts at 0s
	// ready at 0s, starts at 0s
	// ready at 0s, starts at 12us
	// ready at 100us, starts at 100us
	// ready at 100us, starts at 100us
	// ready at 100us, starts at 112us
}

// exactly returns when n bytes have come in at rate r, rounded up, by big integers.
func exactly(n int64, r unit.Rate) unit.Time {
	if n <= 0 {
		return 0
	}
	x := new(big.Int).Mul(big.NewInt(n), big.NewInt(8*int64(unit.Second)))
	q, m := x.DivMod(x, big.NewInt(int64(r)), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return unit.Time(q.Int64())
}

// "A flow that always has a packet gets its rate exactly": the start of each packet is
// where it would be if nothing had ever been rounded, from 1 Mb/s to 400 Gb/s, also for
// rates whose packets do not last whole picoseconds.
func TestTokenBucketIsExactInTheMean(t *testing.T) {
	for _, r := range []unit.Rate{1e6, 1e6 + 1, 7_777_777, 1e9, 2_068_000_001, 1e10 - 3, 25e9, 100e9 + 7, 400e9} {
		for _, depth := range []int64{1500, 1501, 9000, 1 << 20} {
			l := node.NewTokenBucket(r, unit.Size(depth))
			now, sent := unit.Time(0), int64(0)
			for i := range 20_000 {
				n := int64(64 + i*37%1437)
				now = l.Next(now, unit.Size(n))
				sent += n
				if want := exactly(sent-depth, r); now != want {
					t.Fatalf("%v, depth %d: after %d bytes the next %d start at %d ps, want %d", r, depth, sent-n, n, now, want)
				}
				l.Sent(now, unit.Size(n))
			}
		}
	}
}

// "Over any span t no more bytes start than the depth and what comes in within t and a
// picosecond", whenever the flow is ready.
func TestTokenBucketBoundsBursts(t *testing.T) {
	const depth = 6000
	const rate = unit.Rate(3_333_333_333)
	random := unit.NewRandom(5, 0)
	l := node.NewTokenBucket(rate, depth)
	type start struct {
		at   unit.Time
		from int64 // bytes before
	}
	var starts []start
	now, sent := unit.Time(0), int64(0)
	burst := int64(0)
	for range 3000 {
		if random.Below(4) == 0 {
			now = now.Add(random.Span(40 * us))
		}
		n := int64(64 + random.Below(1437))
		now = l.Next(now, unit.Size(n))
		l.Sent(now, unit.Size(n))
		starts = append(starts, start{now, sent})
		sent += n
		for _, s := range starts[max(0, len(starts)-200):] {
			if earliest := exactly(sent-s.from-depth, rate); now < s.at.Add(unit.Duration(earliest)-1) {
				t.Fatalf("%d bytes start within %v", sent-s.from, now.Sub(s.at))
			}
			if s.at == now {
				burst = max(burst, sent-s.from)
			}
		}
	}
	if burst < depth-1500 || burst > depth {
		t.Errorf("the largest burst has %d bytes, of a depth of %d", burst, depth)
	}
}

// "A change of the rate leaves in the bucket what came in at the old one."
func TestTokenBucketSettlesAtTheOldRate(t *testing.T) {
	l := node.NewTokenBucket(gigabyte, 1000)
	l.Sent(0, 1000) // empty; a byte lasts a nanosecond
	l.SetRate(at(600*ns), gigabyte/100)
	for _, tc := range []struct {
		n    unit.Size
		want unit.Duration
	}{{600, 600 * ns}, {601, 700 * ns}, {1000, 40600 * ns}} {
		if got := l.Next(at(600*ns), tc.n); got != at(tc.want) {
			t.Errorf("%d bytes may start at %v, want %v", tc.n, got, tc.want)
		}
	}
	l.SetRate(at(10600*ns), 0) // 700 bytes are in
	if got := l.Next(at(20*us), 701); got != unit.Never {
		t.Errorf("at no rate: %v, want never", got)
	}
	if got := l.Next(at(20*us), 700); got != at(20*us) {
		t.Errorf("what is in the bucket may go at no rate: %v", got)
	}
	l.SetRate(at(30*us), gigabyte)
	if got := l.Next(at(30*us), 701); got != at(30*us+ns) {
		t.Errorf("after no rate: %v, want 1 ns later", got)
	}
	l.SetRate(at(20*us), gigabyte/2) // informed late: what came in stays
	if got := l.Next(at(20*us), 701); got != at(30*us+2*ns) {
		t.Errorf("after a change that is informed late: %v", got)
	}
}

func TestTokenBucketIsNeverTooShallowForAPacket(t *testing.T) {
	l := node.NewTokenBucket(gigabyte, 100)
	if got := l.Next(0, 1000); got != at(900*ns) {
		t.Errorf("the first may start at %v, want 900 ns", got)
	}
	l.Sent(at(900*ns), 1000)
	if got := l.Next(at(900*ns), 1000); got != at(1900*ns) {
		t.Errorf("the second may start at %v, want 1.9 us", got)
	}
	l.Sent(at(900*ns), 1000) // it did not wait: nothing is owed
	if got := l.Next(at(900*ns), 1000); got != at(1900*ns) {
		t.Errorf("after one that did not wait: %v", got)
	}
}

// A packet may start at the same instant however often one asks, and when.
func TestTokenBucketAnswersTheSame(t *testing.T) {
	l := node.NewTokenBucket(7_777_777, 1500)
	l.Sent(0, 1500)
	want := l.Next(0, 1500)
	for now := unit.Time(0); now < want; now += 1 + want/97 {
		if got := l.Next(now, 1500); got != want {
			t.Fatalf("asked at %v: %v, at 0: %v", now, got, want)
		}
	}
}

// FuzzTokenBucket compares any sequence of calls with big integers.
func FuzzTokenBucket(f *testing.F) {
	f.Add([]byte("\x01\x05\x02\x10\x20\x30\x01\xff\xff\x02\x00\x80\x03\x01\x02\x03\x04\x05"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 2, 0, 1, 0, 2, 0, 0, 1, 0, 2})
	f.Add([]byte("0000000\x001000000100\x00\x000A")) // asks, and then deepens
	f.Fuzz(func(t *testing.T, in []byte) {
		s := script(in)
		rate, depth := unit.Rate(s.next(5)), unit.Size(s.next(3))
		l := node.NewTokenBucket(rate, depth)
		mul := func(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }
		bytes := func(n unit.Size) *big.Int { return mul(int64(n), 8*int64(unit.Second)) }
		deep, level := bytes(depth), bytes(depth)
		now, last := unit.Time(0), unit.Time(0) // level is that of last
		settle := func(t unit.Time) {
			level = new(big.Int).Add(level, mul(int64(rate), int64(t-last)))
			now, last = t, t
			full := new(big.Int).Add(deep, big.NewInt(max(int64(rate), 1)-1))
			if level.Cmp(full) > 0 {
				level = full
			}
		}
		for len(s) > 0 {
			op, gap, n := s.byte(), unit.Duration(s.next(4)), unit.Size(s.next(2))
			then := now.Add(gap << (op >> 4))
			switch op % 3 {
			case 0:
				settle(then)
				rate = unit.Rate(s.next(5))
				l.SetRate(now, rate)
			default:
				if bytes(n).Cmp(deep) > 0 {
					deep = bytes(n)
				}
				before, at := level, last
				settle(then)
				got := l.Next(now, n)
				short := new(big.Int).Sub(bytes(n), level)
				switch {
				case short.Sign() <= 0:
					if got != now {
						t.Fatalf("at %v the bucket holds %v and %d bytes may start at %v", now, level, n, got)
					}
				case rate == 0:
					if got != unit.Never {
						t.Fatalf("at no rate %d bytes may start at %v", n, got)
					}
				default:
					// In the instant before it the tokens are not there; then they are.
					if in := mul(int64(rate), int64(got-now)); in.Cmp(short) < 0 {
						t.Fatalf("%d bytes may start at %v, too early", n, got)
					}
					if in := mul(int64(rate), int64(got-now-1)); in.Cmp(short) >= 0 {
						t.Fatalf("%d bytes may start at %v, too late", n, got)
					}
				}
				if op%3 == 1 || got > now.Add(unit.Duration(1<<50)) {
					level, last = before, at // asked only: that changes nothing but the depth
					continue
				}
				settle(got)
				level = new(big.Int).Sub(level, bytes(n))
				l.Sent(got, n)
			}
			if now > 1<<62 {
				return
			}
		}
	})
}
