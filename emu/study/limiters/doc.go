// Package limiters puts rate limiters on the bench (package bench) and reports the results as text,
// as JSON and as a page for browsers. A limiter may be part of this program, in another program
// (package program), or the caller's.
//
//	r := limiters.Run(ctx, limiters.Subject{Name: "mine", New: mine.New}, limiters.Options{})
//	err := r.WriteText(os.Stdout, terminal.LookOf(os.Stdout))
//
// Replay passes the recorded rates and feedback of a flow (package feedback) to a limiter or a
// reaction point.
//
// # Limitations
//
// The cases for another program have fewer packets or lower rates than for a limiter in this one:
// each packet asks it two or three times.
package limiters
