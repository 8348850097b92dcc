// Package host describes and adjusts this machine and this process on it: the machine's
// name and processors, the load by others, the priority of the process, its garbage
// collector, and whether its output still has a reader.
//
// # Limitations
//
// Priorities, the processor time of this process and the handing over of sockets work on
// Linux only; elsewhere they do nothing.
package host
