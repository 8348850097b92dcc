// Package emu runs a scenario to its end and says what came out. What does the work
// stands in the packages below it: ARCHITECTURE.md is their map.
//
// Open reads a scenario by name or from a file; Run runs it:
//
//	s, err := emu.Open("hpl2002/fig3b")
//	...
//	result, err := emu.Run(ctx, s, emu.Options{Clock: emu.VirtualClock})
//	...
//	err = summary.WriteText(os.Stdout, result.Result, terminal.Look{})
//
// Open takes a path as well as a name; package scenario builds scenarios from parts.
//
// A program puts limiters and laws of its own into any scenario by Options.Schemes:
//
//	own := emu.Schemes{Limiter: func(_ *emu.Flow, line unit.Rate) node.RateLimiter { return mine.New(line) }}
//	result, err := emu.Run(ctx, s, emu.Options{Clock: emu.WallClock, Timing: emu.ActualTiming, Schemes: own})
//
// What they have to do is said at node.RateLimiter and rp.Controller, and tested by package
// emu/limitertest. The programs in docs/examples are modules of their own that do all of it.
//
// A run on the wall clock makes a datagram of each frame and carries it over real
// sockets. While it goes on, the garbage collector of this process is held back,
// up to a limit of memory; a program that runs fabrics beside other work should
// know.
//
// # Limitations
//
// All machines of a run live on this host.
package emu
