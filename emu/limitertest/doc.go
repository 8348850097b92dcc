// Package limitertest checks rate limiters, and the calls that are made to them, against
// the contract of node.RateLimiter:
//
//	func TestMyLimiter(t *testing.T) {
//		limitertest.Test(t, limitertest.Config{
//			New: func(r unit.Rate) node.RateLimiter { return mine.New(r) },
//		})
//	}
//
// Test calls the limiter by itself, lets it pace a flow on the virtual clock, and then on
// the wall clock over sockets with actual timing, where the machines are told the measured
// time. Watch is what holds the calls of any run to the contract.
//
// # Limitations
//
// On the wall clock no more than the rate is checked whatever the computer does; no less
// than it only where the verdict of the run is faithful or exact.
package limitertest
