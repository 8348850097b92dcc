// Package emu runs a scenario to its end and says what came out. What does the work
// stands in the packages below it: ARCHITECTURE.md is their map.
//
// Open reads a scenario by name or from a file; Run runs it:
//
//	s, err := emu.Open("hpl2002/fig3b")
//	...
//	result, err := emu.Run(ctx, s, emu.Options{Clock: emu.VirtualClock})
//	...
//	err = report.WriteText(os.Stdout, result.Result, terminal.Look{})
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
