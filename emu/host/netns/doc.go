// Package netns lays a fabric out in the kernel: a network namespace for each
// node, and for each link a veth pair between two of them. It is the one place
// that changes the network of the host, and the one that undoes it.
//
// Build makes a Topology from a Plan. For each end of each link it has a Port, which
// opens the end, here (Port.Open) or in another process. Topology.Close takes everything
// down. All interfaces are made inside the namespaces: the network of the host is not
// touched, unless a guest is one of its interfaces.
//
// # Existing namespaces and interfaces
//
// A guest can have its device in an existing namespace (Guest.At). The kernel removes the
// device with this process. It can also be an interface of this machine, or a TAP device that a
// virtual machine opens (Guest.Card), which a packet socket reads and writes. The state of such
// interfaces is in /run/fabemu/ID.interfaces before they are touched; Close, or Run.Remove after a
// kill, puts them back. Device.Changes returns the changes of a device by others.
//
// # Names and labels
//
// A run has an id of eight hexadecimal digits. A process that builds holds a lock on
// /run/fabemu/ID as long as it lives: the kernel releases it however the process ends.
// A namespace is named fabemu-ID-NODE, so that
//
//	ip netns exec fabemu-ID-NODE tcpdump -i fab0
//
// works, and carries the label "fabemu run ID ..." as the alias of its loopback
// interface; each interface of ours carries a label that names its link. A namespace
// gets its label before its name: at no instant is something of ours visible without
// a label.
//
// Find lists the traces of runs, living or dead. Run.Remove removes the traces of a dead
// run. It removes a namespace only if its name and its label have the same id, no process
// holds the lock of that id, and the process in the label does not live. It keeps a
// namespace that holds a foreign interface, because the kernel would remove that too.
// It leaves everything else alone, whatever its name.
//
// # Threads
//
// A network namespace is a property of a thread, and Go moves goroutines between
// threads. So work inside a namespace is done by a goroutine that keeps its thread for
// that time and brings it back. A thread that cannot be brought back ends with its
// goroutine. A socket stays in the namespace in which it was opened.
//
// # Limitations
//
// It needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, and a /run/netns that it
// may write to. A process that was put into a namespace (a shell, tcpdump) keeps
// it alive, without its name, until it ends. Two machines, or two containers, that
// share /run/netns but neither /run/fabemu nor their process numbers would regard each
// other's runs as dead.
package netns
