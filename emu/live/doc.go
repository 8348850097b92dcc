// Package live shows a run in a browser while it goes on, and the results of one that is
// over: which links are full, which are stopped and by whom, how full buffers are, what
// the rate limiters do, which checks hold.
//
// A [Server] serves one page, which asks no other host for anything. What it shows is a
// [Scene], told once, and [Moment] after Moment of it, as server-sent events.
// Moments come from an observer of a run ([Observer]), or from the files of one that is over
// ([Results]), by [Server.Show], which never waits for a reader.
//
// # Who may look
//
// The address has a token of 128 random bits in its path; without it there is nothing to
// see. Requests whose Host is a name that is not this computer's, or whose Origin is
// another page's, are refused: so no page of a stranger can reach the server through the
// user's browser. By default it listens on the loopback alone.
//
// # Readers that are slow
//
// A reader gets the newest moment whenever it has taken the one before: what came between
// is skipped for it, and counted. One that takes nothing for a while is dropped.
//
// # Limitations
//
// It speaks HTTP without encryption: beyond the loopback, anybody on the way can read the
// token. A page keeps the moments of the last minutes; one that comes late is told those
// that the server keeps (Options.Keep).
package live
