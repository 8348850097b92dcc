// Package emu runs a scenario to its end and returns the result. The packages below it do
// the work: ARCHITECTURE.md is their map.
//
// Open reads a scenario by name or from a file; Run runs it:
//
//	s, err := emu.Open("hpl2002/fig3b")
//	...
//	result, err := emu.Run(ctx, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
//	...
//	err = summary.WriteText(os.Stdout, result.Result, terminal.Look{})
//
// Open takes a path as well as a name; package scenario builds scenarios from parts.
//
// A program passes its own limiters and algorithms to a run in Options.Schemes:
//
//	own := emu.Schemes{Limiter: func(_ *emu.Flow, line unit.Rate) node.RateLimiter { return mine.New(line) }}
//	real := emu.Settings{Clock: emu.WallClock, Timing: emu.ActualTiming}
//	result, err := emu.Run(ctx, s, emu.Options{Settings: real, Schemes: own})
//
// The contracts are at node.RateLimiter and rp.Controller; package emu/limitertest
// tests them. docs/examples has complete programs, each a separate module.
//
// A run on the wall clock makes a datagram of each frame and carries it over real
// sockets. While it continues, the garbage collector of this process is stopped,
// up to a limit of memory.
//
// # Packages for programs
//
// Programs import these packages; the reproductions of papers (emu/study/papers) do with them
// alone. All others work for them, and their interfaces follow.
//
//	runs       emu, emu/fabric, emu/run/guest/netstack, emu/study, emu/study/campaign, emu/study/sweep
//	scenarios  emu/scenario, emu/scenario/resolve, emu/scenario/lint, emu/scenario/builtin, emu/scenario/generate
//	schemes    node, node/rp, switchd/cp, emu/limitertest, emu/limitertest/reactiontest
//	frames     wire, wire/unit, wire/param, wire/port, wire/trace
//	observers  emu/watch/observe, emu/watch/capture, emu/watch/perfetto, emu/watch/openmetrics
//	results    emu/metrics, emu/result/report, emu/result/summary, emu/result/plot, emu/result/compare
//	texts      emu/base/document, emu/base/files, emu/base/spelling, emu/base/terminal
//
// # Limitations
//
// Schemes of the calling program run only in this process.
package emu
