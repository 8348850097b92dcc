package node

import (
	"fabemu/node/tcp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// TransportRow is a row of the table of transports: everything about a transport except its code.
type TransportRow struct {
	Name   string      // in scenarios
	Also   []string    // its other names
	Doc    string      // a description, as the rest of a sentence
	Family wire.Family // the family that has it
	Usual  bool        // flows of the family that choose no transport have this one
	Params any         // a struct of parameters (package param), the zero value; nil: it has none
	// New returns the transport of a flow. The parameters are a struct of the type of Params.
	New func(params any, w Conditions) Transport
}

// Conditions is the data of a flow and its path that a transport may need.
type Conditions struct {
	Window  int           // packets that may await their ACK
	Timeout unit.Duration // how long to wait for an ACK; 0: forever
	Loses   bool          // links may go down and lose packets

	AckSL      uint8 // InfiniBand: service level of ACKs, if they are as data
	AcksAsData bool  // InfiniBand: ACKs have a service level; else a lane apart
}

// Transports returns the table of transports.
func Transports() []TransportRow {
	return []TransportRow{
		{Name: "acknowledged", Also: []string{"rc", "reliable", "infiniband"}, Family: wire.InfiniBand, Usual: true,
			Doc: "sends a window of packets on InfiniBand, each acknowledged separately",
			New: func(_ any, w Conditions) Transport { return Acknowledged(w) }},
		{Name: "datagrams", Also: []string{"udp", "datagram", "none"}, Family: wire.Ethernet, Usual: true,
			Doc: "sends without ACKs on Ethernet; lost packets stay lost",
			New: func(any, Conditions) Transport { return Datagrams{} }},
		{Name: "tcp", Family: wire.Ethernet, Params: tcp.Params{},
			Doc: "is TCP on Ethernet; a packet is an IPv4 packet of at least 48B",
			New: func(params any, _ Conditions) Transport { return TCP{params.(tcp.Params)} }},
		{Name: "rocev2", Also: []string{"roce"}, Family: wire.Ethernet, Params: RoCEParams{},
			Doc: "is a reliable connection of RoCEv2 on Ethernet: InfiniBand packets in UDP, with a payload of 16B to 4096B and go-back-N retransmission",
			New: func(params any, _ Conditions) Transport { return RoCE{params.(RoCEParams)} }},
	}
}
