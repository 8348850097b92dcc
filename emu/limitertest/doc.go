// Package limitertest tests any rate limiter, on the virtual clock and in real time:
//
//	func TestMyLimiter(t *testing.T) {
//		limitertest.Run(t, func(line unit.Rate) node.RateLimiter { return mine.New(line) })
//	}
//
// Each case of package emu/study/limiters/bench is a subtest: steady rates, steps, storms of
// feedback, rest and burst, a link that is held, sizes, hours of model time. A limiter has to keep
// the contract of node.RateLimiter, the rate that is set, and the burst that its method
// Burst() unit.Size returns: two packets without the method. A fault fails the subtest, which then
// shows the packets before it.
//
// The cases in real time pace a source over sockets, in turns with an ideal limiter. The ideal one
// shows how punctual the machine is now, so that a busy machine fails no limiter. A limiter that
// waits for an instant instead of returning it is found. These cases take some seconds; go test
// -short leaves them out.
//
// Package reactiontest does the same for reaction points.
//
// # Limitations
//
// In real time the burst is measured by the instants in the calls of the limiter; the punctuality
// of packets depends on the machine.
package limitertest
