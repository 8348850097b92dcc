// Package limiters puts rate limiters on the bench (package bench) and reports what comes
// out, as text, as JSON and as a page for browsers: those of this program, those of other
// programs (package foreign), and any of a caller.
//
//	r := limiters.Run(ctx, limiters.Subject{Name: "mine", New: mine.New}, limiters.Options{})
//	err := r.WriteText(os.Stdout, terminal.LookOf(os.Stdout))
//
// Replay hands what a flow was told in a run (package told) to a limiter or a reaction
// point instead.
//
// # Limitations
//
// The cases of a program have fewer packets than those of a limiter in this one, or lower
// rates: each packet asks it two or three times.
package limiters
