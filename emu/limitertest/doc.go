// Package limitertest tests any rate limiter, on the virtual clock and in real time, and any
// reaction point:
//
//	func TestMyLimiter(t *testing.T) {
//		limitertest.Run(t, func(line unit.Rate) node.RateLimiter { return mine.New(line) })
//	}
//
// Each case of package emu/study/bench is a subtest: steady rates, steps, storms of
// feedback, rest and burst, callers that are late, sizes, hours of model time. What is wrong
// fails it, with the packets around: that a limiter keeps to the contract of
// node.RateLimiter, to the rate that is set, and to the burst that it promises by a
// method Burst() unit.Size, two packets if it has none.
//
// The cases in real time pace a source over sockets, in turns with an ideal limiter, which
// shows what the computer is worth now: a limiter that waits for an instant in place of
// giving it is found, and none is blamed for a computer that is busy. They take some seconds;
// go test -short leaves them out.
//
// RunController puts reaction points into loops with a bottleneck: storms of congestion, a
// link that is cut, feedback lost, repeated and out of order, hours of rest, several that share.
//
//	func TestMyLaw(t *testing.T) {
//		limitertest.RunController(t, func(s rp.Site) rp.Controller { return mine.New(s.Line) }, nil)
//	}
//
// # Limitations
//
// In real time the burst is measured as the limiter is told it; how punctual packets leave
// is a matter of the computer. Reaction points are tested on the virtual clock.
package limitertest
