// Package campaign divides many runs among many processes, on one computer or on several that
// share a directory. Sweeps and the figures of papers are campaigns.
//
// A campaign has Cells, each a run that needs nothing of the others. A Cell has an ID, which
// holds a hash of all that its result depends on: the same call gives the same cell the same
// ID, on every computer, and a cell of another version, another scenario or another
// plan has another one. Share picks those that a call does: all, one, or a shard, which may
// come from the variables of a batch system (ParseShare).
//
// Claim takes a directory for a campaign. It writes there:
//
//	KIND.json      the plan: by it a later call identifies the campaign
//	cells/         a file for each cell that is done
//
// Do does cells that are not there yet. The plan is written before them, and every file
// appears whole or not at all, under a name of its own until then. So a campaign that was
// killed, at any moment, goes on where it was, and any number of calls can do cells at a
// time: nothing but the directory is between them. Two that do the same cell write the same
// file, on the virtual clock the same bytes. A call that does all cells has the directory for
// itself; calls that do a share have it together. A directory of another campaign is refused.
//
// Job is written in the forms of Slurm and Kubernetes (Engine).
//
// # Limitations
//
// On a file system of a network the lock of the directory may hold for one computer only:
// then nothing keeps a call that does all cells from going on beside shares elsewhere. They
// do no harm to one another, but work twice. Shares are balanced by the estimated cost of cells.
// An unfinished file of a killed share stays until a call has the directory for
// itself: one that does all cells, or one that draws while nobody else is there.
package campaign
