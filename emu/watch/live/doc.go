// Package live shows a run in a browser while it runs, or the results of a finished
// run: which links are full, which are stopped and by whom, how full buffers are, the
// rates of the limiters, which checks hold.
//
// A [Server] serves one page, which asks no other host for anything. The page shows a
// [Scene], which is sent once, and one [Moment] after the other, as server-sent events.
// Moments come from an observer of a run ([Observer]), or from the files of a finished run
// ([Results]), by [Server.Show], which never waits for a reader.
//
// # Access
//
// The address has a token of 128 random bits in its path; without it there is nothing to
// see. A request is refused if its Host names another machine, or if its Origin is
// another page: so no page of a stranger can reach the server through the
// user's browser. By default it listens only on the loopback.
//
// # Slow readers
//
// A reader gets the newest moment whenever it has taken the one before. The moments
// between are skipped, and counted. A reader that takes nothing for a while is dropped.
//
// # Limitations
//
// It speaks HTTP without encryption: beyond the loopback, anyone on the path can read the
// token. A page keeps the moments of the last minutes. A late page gets the moments
// that the server keeps (Options.Keep).
package live
