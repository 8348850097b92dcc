// Package files writes what runs leave on disk: folders that one run has at a time,
// and files that stand for something that is done.
//
// Write makes a file that appears whole or not at all, after a power cut too. Create
// makes one that grows while it is read. Neither writes through a link that stands in
// its place: what the link points to is somebody else's. Both heed the umask. Claim
// takes a folder for one run, Join for several that write files of their own, and both find
// out at once whether it can be written to.
//
// Limitations: where the system or the file system has no locks, as on Windows, two
// runs can have one folder; where it cannot flush folders, a power cut can take away
// files that were written.
package files
