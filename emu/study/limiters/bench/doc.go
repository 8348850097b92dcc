// Package bench measures rate limiters. It puts them into cases, each a
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
// Cases are for the virtual clock, and RealCases, with MeasureReal, for real time. Package loops is
// for reaction points.
//
// Package emu/limitertest runs the cases as tests of package testing.
//
// # Limitations
//
// The cases have their own sources. Endpoints of package node cannot send packets of 20 or 9000
// bytes in turn, and cannot ask a limiter again before its instant.
package bench
