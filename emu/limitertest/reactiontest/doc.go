// Package reactiontest tests any reaction point in the loops of the bench (package loops): storms
// of congestion that is not there, a link that is cut, feedback lost, repeated and out of order,
// hours of rest, several sources.
//
//	func TestMyAlgorithm(t *testing.T) {
//		reactiontest.Run(t, func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: mine.New(s.Line)} }, nil)
//	}
//
// # Limitations
//
// Reaction points are tested on the virtual clock, and those that measure delays not at all.
package reactiontest
