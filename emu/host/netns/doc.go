// Package netns lays a fabric out in the kernel: a network namespace for each
// machine, and for each link a veth pair between two of them. It is the one place
// that changes the network of the host, and the one that undoes it.
//
// Build makes a Topology from a Plan; its Ports say, for each end of each link,
// what is needed to open it, here (Port.Open) or in another process. Topology.Close
// takes everything down. Nothing is made outside the namespaces: the network that
// the host has is not touched.
//
// # What is ours
//
// A run is known by an id of eight hexadecimal digits. A process that builds holds
// a lock on /run/fabemu/ID as long as it lives: the kernel lets go of it however
// the process ends. A namespace is named fabemu-ID-MACHINE, so that
//
//	ip netns exec fabemu-ID-MACHINE tcpdump -i fab0
//
// works, and carries the label "fabemu run ID ..." as the alias of its loopback
// interface; each interface of ours carries one that says which link it is. A
// namespace gets its label before its name: there is no instant at which something
// of ours can be seen and has no label.
//
// Find lists what runs have left or still use, Run.Remove takes away what a dead
// run has left. It removes a namespace only if its name and its label say the same
// id, nobody holds the lock of that id, and the process that the label names does
// not live; and not if it holds an interface that is not ours, which would go with
// it. Whatever the names look like, the rest is left alone.
//
// # Threads
//
// A network namespace is a property of a thread, and Go moves goroutines between
// threads. So whatever has to be done inside a namespace is done by a goroutine
// that keeps its thread for that time and brings it back; a thread that cannot be
// brought back is ended with its goroutine. A socket stays in the namespace that
// it was opened in.
//
// # Limitations
//
// It needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, and a /run/netns that it
// may write to. A process that was put into a namespace (a shell, tcpdump) keeps
// it alive, without its name, until it ends. Two computers, or two containers, that
// share /run/netns but not /run/fabemu and not their process numbers would take
// each other's runs for dead.
package netns
