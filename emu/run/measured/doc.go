// Package measured gives the rate limiters and the reaction points of a run measured time,
// as in a real host. All else keeps the time of the model: links, switches, sinks, and
// the order of events.
//
// A Time wraps both. The endpoint calls them with the time of the model; they receive the measured
// time, which is the wall clock over the dilation, read at the call:
//
//   - A limiter is asked, and a reaction point is called, at the measured instant. It is never
//     before the instant of the model, nor before an instant that was handed over earlier.
//   - A packet that the limiter lets start does so at the instant of the limiter's answer, which
//     lies ahead of the event that asked. The endpoint asks again then, and the packet may start
//     whatever has come between, be it another rate. So the lateness of the machine comes into
//     the model where it would come into a real host, as the instant of a start, and nowhere else.
//   - Lateness does not add up. A limiter that gave a later instant is asked again with that
//     instant, not with the time of the call. If nothing else kept the packet, it starts then,
//     unless the limiter has received a later instant since, with another rate for instance.
//   - A packet that the line or the credit keeps starts at the instant of the model, and the
//     limiter is handed that instant.
//
// With this a limiter has the contract of node.RateLimiter.
//
// # The proof
//
// A machine adds nothing to such a run but the readings of its clock. A Time keeps these, and
// Repeat returns one that shows the same again: a run with it, on the virtual clock, must have the
// same event log.
//
// # Limitations
//
// The reaction of a destination to a flow (rp.Answerer) and the timers of a transport (TCP) have
// the time of the model. A run whose limiter reads its own clock cannot be repeated.
package measured
