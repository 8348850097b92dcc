// Package files writes the files of runs: folders that one run has at a time, and files that
// prove that something is done.
//
// Write makes a file that appears whole or not at all, after a power cut too. Create makes one that
// grows while it is read. Neither writes through a link in its place, which may point to a file of
// another process. Both keep to the umask. Claim takes a folder for one run, Join for several that
// write their own files, and both find out at once whether the folder can be written to.
//
// Limitations: where the system or the file system has no locks, as on Windows, two
// runs can have one folder; where it cannot flush folders, a power cut can take away
// files that were written.
package files
