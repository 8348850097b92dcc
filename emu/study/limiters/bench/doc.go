// Package bench measures rate limiters and reaction points. It puts them into cases, each a
// situation that has gone wrong in practice. It reports the error of their rates, their bursts,
// their delay of reaction and their fairness.
//
//	for _, c := range bench.Cases() {
//		r := bench.Measure(mine.New, c, nil)
//		for _, f := range r.Faults {
//			fmt.Println(c.Name, f)
//		}
//	}
//
// Cases are for rate limiters on the virtual clock, RealCases, with MeasureReal, in real time,
// and Loops, with MeasureReaction, for reaction points.
//
// Package emu/limitertest runs the cases as tests of package testing.
//
// # Limitations
//
// Reaction points are measured on the virtual clock only, each with its own limiter. Groups of
// flows and answers to probes need a scenario.
//
// Cases on the virtual clock and loops have their own sources. Endpoints of package node cannot
// send packets of 20 or 9000 bytes in turn, cannot ask a limiter again before its instant, and do
// not check the contract of a reaction point at random instants.
package bench
