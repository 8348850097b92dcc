// Command placement measures what it costs to place the machines of a fabric: in
// one process or in one each, over UDP or over veth pairs between namespaces.
// scripts/bench.sh -g placement runs it.
//
//	placement FABEMU ENDPOINTS DILATION
//
// It runs the fabric of fabemu generate hpl2002 with so many endpoints for 10 ms of
// model time, once for each of the four, and prints a table:
//
//   - start-up: wall time from the begin of the program to model time 0: to lay the
//     fabric out, to build its links and to start its processes;
//   - tear-down: from the end of the model time to that of the program: to end its
//     processes, to remove its links, and to write the results;
//   - memory: the most that its processes take together, their common pages counted
//     once (the sum of Pss), for each machine;
//   - CPU: user and system time of its processes for each million datagrams;
//   - the verdict, since a cheap run that is off is not worth much.
//
// # Limitations
//
// One run each: on a busy computer figures differ by half from one time to the next.
// Memory is looked at 20 times a second. In one process the loop waits for the next
// instant with its eyes open, so its CPU time is that of the model, however little
// there is to do; processes sleep.
package main
