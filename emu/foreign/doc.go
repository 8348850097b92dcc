// Package foreign talks to rate limiters and reaction points of other programs, in whatever
// language they are written: a program that is started (its standard input and output), or
// one that listens at a Unix socket. docs/guide/limiter-protocol.md is the protocol: one line
// asks, one line answers, and all time is told.
//
//	p := &foreign.Program{Command: []string{"./program"}}
//	defer p.Close()
//	t, err := p.Begin(rate, packet)
//	l := t.Limiter() // a node.RateLimiter
//
// A Talk is one limiter, or one reaction point; each has a process, or a connection, of its
// own. What the program does that the protocol, or the contract of node.RateLimiter, does
// not allow is a *Fault, which names the line that it has sent; the talk is over then, and
// no packet starts any more.
//
// A program that is started is in a process group of its own. With the end of its talk its
// input ends; a program that goes on after that, and all that is left in its group, is
// killed. Where this process is killed, so is the program; what that has itself started
// then finds its input ended, if it reads that.
//
// # Limitations
//
// A reaction point of another program does not tag frames, does not send any (probes), and
// has no target to show. On systems other than Linux what a program has started itself is
// not killed with it.
package foreign
