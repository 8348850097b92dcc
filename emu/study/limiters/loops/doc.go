// Package loops tries reaction points in scenarios: the built-in ones whose names begin with loop/.
// Each is a situation that algorithms get wrong: a switch that reports congestion which is not
// there, a link that is cut, feedback that is lost, two hours without a packet.
//
//	s, err := loops.Of(mine.New, nil)
//	for _, l := range loops.All() {
//		r, err := l.Measure(ctx, s)
//		for _, f := range r.Faults {
//			fmt.Println(l.Name, f)
//		}
//	}
//
// A loop is run as any scenario (emu.Run), on the virtual clock. Its claims judge the rates. A
// watch around each reaction point checks the contract of rp.Controller and measures when the rate
// falls and recovers.
//
// Package emu/limitertest/reactiontest runs the loops as tests of package testing.
//
// # Limitations
//
// A reaction point meets what the fabric lets through: on InfiniBand the window of a flow takes
// each ACK once and in order, so no reaction point sees one that is repeated or late.
//
// Algorithms that measure delays have no loops: a switch that reports congestion delays nothing.
package loops
