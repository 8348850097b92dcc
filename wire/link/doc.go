// Package link carries datagrams between two ports. It is the only package that
// touches data sockets, and it has no protocol: package wire defines the content of a
// datagram, and package emu/run/drive the instant at which it is sent.
//
// There are five kinds of links:
//
//   - UDP: two connected sockets, on the loopback interface or on two hosts (BindUDP).
//     The datagrams can be captured, and the ends can be in different threads.
//   - Unix: a pair of SOCK_SEQPACKET sockets without names, in one process or in two of one host.
//     It loses nothing: where the buffer is full, Send refuses.
//   - Veth: the two ends of a pair of virtual Ethernet interfaces, usually each in a separate
//     network namespace (emu/host/netns makes them). Frames of Ethernet are
//     on it as they are; others have an Ethernet header with EtherType in front.
//   - Train: an end of one of these that sends several datagrams in one packet, with one call of
//     the system (TrainPair, UnixTrainPair, VethTrain). A capture shows them in one packet.
//   - Pipe: a ring of buffers in memory, for tests and for runs in one process
//     that want no sockets.
//
// Neither call of a Link ever blocks: the driver has one loop that looks at the
// clock and at every link, and none of them may hold it up.
//
// A Batch is an end that takes many datagrams at once. If that gains nothing or is not
// available, it sends them one by one (Batched).
//
// A link of the fabric is lossless; most sockets are not. A lost datagram is lost at the
// receiver, when its buffer is full, and the sender does not notice: compare Granted
// with the requested size before a run, and read Lost after it.
//
// # Limitations
//
// UDP, Unix and veth links are for Linux. Each end has one owner: no two calls of Recv or of Send,
// nor Close at the same time as any other call, may run at the same time on the same end of one of
// these. A datagram has at least one byte and at most MaxDatagram.
package link
