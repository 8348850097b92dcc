// Package carrier opens the links of a fabric: UDP sockets on the loopback interface, Unix sockets,
// veth pairs between network namespaces, or memory of this process.
//
// # Limitations
//
// All ends are on this host. Veth pairs need privileges, which netns.Missing names.
package carrier
