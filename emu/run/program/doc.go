// Package program talks to rate limiters and reaction points of other programs, in whatever
// language they are written: a program that is started (its standard input and output), or
// one that listens at a Unix socket. docs/guide/limiters.md is the protocol: one line
// asks, one line answers, and each question names its instant.
//
//	p := &program.Program{Command: []string{"./program"}}
//	defer p.Close()
//	t, err := p.Begin(rate, packet)
//	l := t.Limiter() // a node.RateLimiter
//
// A Talk is one limiter, or one reaction point; each has a process, or a connection, of its
// own. A violation of the protocol, or of the contract of node.RateLimiter, is a *Fault, which
// names the line that the program has sent; the talk is over then, and no packet starts any
// more.
//
// A Run has the programs of a run whose flows have algorithm exec. Each flow has a talk, or all
// flows with the same program share one, with a Controller for each (Talk.Flow).
//
// A program that is started is in its own process group. With the end of its talk its
// input ends; a program that continues after that, and all that is left in its group, is
// killed. Where this process is killed, so is the program; the processes that it has started
// then find their input ended, if they read it.
//
// # Limitations
//
// A reaction point of another program does not tag frames, does not send any (probes), and
// has no target to show. On systems other than Linux the processes that a program has started
// are not killed with it.
package program
