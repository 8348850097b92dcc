// Package host is this computer and this process on it: what it is, which part of its
// processors others use, the priority of the process, its garbage collector, and whether
// somebody reads what it writes.
//
// # Limitations
//
// Priorities, the processor time of this process and the handing over of sockets are
// known on Linux alone; elsewhere they do nothing.
package host
