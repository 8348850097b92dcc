// Package bench measures rate limiters and reaction points: it puts them into cases, each a
// situation that has gone wrong for somebody, and reports how exact their rates are, what
// they let go at once, how soon they heed feedback and whether they are fair.
//
//	for _, c := range bench.Cases() {
//		r := bench.Measure(mine.New, c, nil)
//		for _, f := range r.Faults {
//			fmt.Println(c.Name, f)
//		}
//	}
//
// Cases are for rate limiters on the virtual clock, WallCases, with MeasureWall, in real time,
// and Loops, with MeasureController, for reaction points.
//
// Package emu/limitertest is the same as tests of package testing.
//
// # Limitations
//
// Reaction points are measured on the virtual clock only, each with a limiter of its own:
// groups of flows, and answers to probes, are what scenarios are for.
package bench
