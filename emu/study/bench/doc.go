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
// Package emu/limitertest is the same as tests of package testing.
//
// # Limitations
//
// What a limiter does in real time, and how long its calls take, is not measured on the
// virtual clock.
package bench
