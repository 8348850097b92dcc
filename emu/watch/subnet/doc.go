// Package subnet answers the management datagrams (MADs) of an InfiniBand fabric, so that unmodified subnet managers
// and diagnostic programs, such as OpenSM and infiniband-diags, discover and configure a run.
//
// A Subnet is the management side of a fabric: the agents of all nodes as one state machine, without I/O or a clock.
// Handle takes a MAD from a client, leads it through the fabric as a directed route or the forwarding tables say, and
// answers it, or passes it on to the client that is attached where it arrives. The layouts are those of the InfiniBand
// Architecture Specification, Volume 1: sections 13.4 (MADs), 14.2 (subnet management) and 16.1 (performance).
//
// A Server connects clients by the protocol of ibsim: libumad2sim, an LD_PRELOAD library, replaces the devices in
// /dev/infiniband by datagram sockets. It listens at abstract Unix sockets whose name has 64 random bits, and refuses
// clients of other users.
//
// Management takes no model time, and its MADs no bandwidth. LIDs, the states of ports and forwarding tables are what
// a subnet manager has set; Scenario has the forwarding tables as routes. Limitations: one data VL, so the tables for
// service levels and VL arbitration are stored and have no effect, like multicast tables, partitions and M_Key leases.
package subnet
