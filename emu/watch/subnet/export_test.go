package subnet

// Sizes and offsets of messages, for tests.
const (
	PacketSize, ControlSize = packetSize, controlSize
	AtMAD                   = atMAD
)

// Local returns management in-band without sockets, for a client of s, and a function that hands it
// a packet of the client.
func Local(s *Subnet) (b *InBand, send func(client int, p *Packet)) {
	v := &Server{subnet: s, incoming: make(chan struct{}, 1), outgoing: make(chan struct{}, 1), done: make(chan struct{})}
	return v.InBand(), func(client int, p *Packet) { s.Handle(client, p) }
}

// Control hands a control message to a server as from a process.
func (v *Server) Control(id string, pid int, m []byte) (ok bool) {
	v.do(func() { ok = v.take(id, pid, true, m) })
	return ok
}
