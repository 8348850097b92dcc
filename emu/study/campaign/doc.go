// Package campaign divides many runs among many processes, on one machine or on several that
// share a directory. Sweeps and the figures of papers are campaigns.
//
// A campaign has Cells, each a run that needs nothing of the others. A Cell has an ID: its number
// in the plan, and a hash of all that its result depends on. The same call gives the same cell the
// same ID on every machine, and a cell of another version or another scenario has another one.
// Share picks the cells that a call does: all, one, or a shard, which may come from the variables
// of a batch system (ParseShare).
//
// Claim takes a directory for a campaign. Each cell that is done has a file there, named by its
// hash:
//
//	cells/9f3a1c02b4d5.json
//
// Do does the cells that have no file yet. A file appears whole or not at all, because it is
// written under another name and then renamed. So a campaign that was killed, at any moment,
// continues where it was, and any number of calls can do cells at the same time: they share only
// the directory. Two that do the same cell write the same file, on the virtual clock the same
// bytes. Since the hash names the inputs, a directory can hold the cells of several campaigns, and
// a plan with more cells repeats none. A call that does all cells has the directory for itself;
// calls that do a share have it together.
//
// Job is written in the forms of Slurm and Kubernetes (Engine).
//
// # Limitations
//
// On a network file system the lock of the directory may hold for one machine only:
// then a call that does all cells may run at the same time as shares elsewhere. They
// do no harm to one another, but work twice. Shares are balanced by the estimated cost of cells.
// An unfinished file of a killed share stays until a call has the directory for
// itself: one that does all cells, or one that draws while no other call is there.
// Tables and figures of another campaign in the same directory stay unless they have the same
// names.
package campaign
