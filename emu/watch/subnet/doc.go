// Package subnet answers the management datagrams (MADs) of an InfiniBand fabric, so that
// unmodified subnet managers and diagnostic programs, such as OpenSM and infiniband-diags, discover
// and configure a run.
//
// A Subnet is the management side of a fabric: the agents of all nodes as one state machine,
// without I/O or a clock. Handle takes a MAD from a client, routes it through the fabric by its
// directed route or the forwarding tables, and answers it or passes it on to the client that is
// attached where it arrives. The layouts follow the InfiniBand Architecture Specification, Volume
// 1: sections 13.4 (MADs), 14.2 (subnet management), 16.1 (performance) and Annex A10 (congestion
// control).
//
// A Server connects clients by ibsim's protocol: libumad2sim, an LD_PRELOAD library, replaces the
// devices in /dev/infiniband with datagram sockets. The server listens on abstract Unix sockets
// whose names have 64 random bits, and refuses clients of other users.
//
// By default management takes no model time, and its MADs no bandwidth, because managers run in
// wall time: at a dilation of 200 their MADs would be 200 times as dense on the links as they are
// on hardware. In-band (InBand) they are packets on VL15: the nodes of the model carry them, and
// ask the agents where they lead. What the agents decided is recorded, for the repetition of a run.
//
// A subnet manager sets LIDs, port states, forwarding tables and the
// tables of lanes; Scenario returns them as routes and rules, flows with the service levels of the
// manager's path records, and changes of congestion control as events. Limitations: multicast
// tables, partitions, and leases of M_Key and CC_Key are stored without effect.
package subnet
