package dump

import (
	"fmt"
	"strings"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"fabemu/wire"
)

// content holds the layers of the body of a frame.
type content struct {
	tag   layers.Dot1Q
	ip4   layers.IPv4
	ip6   layers.IPv6
	tcp   layers.TCP
	udp   layers.UDP
	icmp4 layers.ICMPv4
	icmp6 layers.ICMPv6
	parsers
}

// newContent returns layers for bodies.
func newContent() *content {
	c := new(content)
	c.parsers = newParsers(&c.tag, &c.ip4, &c.ip6, &c.tcp, &c.udp, &c.icmp4, &c.icmp6)
	return c
}

// words describes the body of a frame: its size; of an IP packet its addresses, and the first
// fields of its transport.
func (c *content) words(body wire.Body) string {
	if words := body.Words(); words != "" {
		return words
	}
	words := fmt.Sprintf(" body=%d", len(body.Bytes))
	c.found = c.found[:0]
	if p := c.first[layers.EthernetType(body.Type).LayerType()]; p != nil {
		_ = p.DecodeLayers(body.Bytes, &c.found) // the words end where an error is
	}
	if len(c.found) == 0 {
		return fmt.Sprintf("%s ethertype-%04x", words, body.Type)
	}
	for i, layer := range c.found {
		last := i == len(c.found)-1
		switch layer {
		case layers.LayerTypeDot1Q:
			words += fmt.Sprintf(" vlan %d", c.tag.VLANIdentifier)
			if last {
				words += fmt.Sprintf(" ethertype-%04x", uint16(c.tag.Type))
			}
		case layers.LayerTypeIPv4:
			words += fmt.Sprintf(" ipv4 %v->%v", c.ip4.SrcIP, c.ip4.DstIP)
			switch {
			case c.ip4.NextLayerType() == gopacket.LayerTypeFragment:
				words += " fragment"
			case last:
				words += fmt.Sprintf(" protocol-%d", c.ip4.Protocol)
			}
		case layers.LayerTypeIPv6:
			words += fmt.Sprintf(" ipv6 %v->%v", c.ip6.SrcIP, c.ip6.DstIP)
			if last {
				words += fmt.Sprintf(" protocol-%d", c.ip6.NextHeader)
			}
		case layers.LayerTypeTCP:
			t := &c.tcp
			words += fmt.Sprintf(" tcp %d->%d flags=%s seq=%d ack=%d win=%d len=%d", t.SrcPort, t.DstPort, flagsOf(t), t.Seq, t.Ack, t.Window, len(t.Payload))
		case layers.LayerTypeUDP:
			words += fmt.Sprintf(" udp %d->%d", c.udp.SrcPort, c.udp.DstPort)
		case layers.LayerTypeICMPv4:
			words += fmt.Sprintf(" icmp %v id=%d seq=%d", c.icmp4.TypeCode, c.icmp4.Id, c.icmp4.Seq)
		case layers.LayerTypeICMPv6:
			words += fmt.Sprintf(" icmpv6 %v", c.icmp6.TypeCode)
		}
	}
	return words
}

// flagsOf returns the first letters of the flags of a segment.
func flagsOf(t *layers.TCP) string {
	var b strings.Builder
	for i, set := range [...]bool{t.FIN, t.SYN, t.RST, t.PSH, t.ACK, t.URG, t.ECE, t.CWR} {
		if set {
			b.WriteByte("FSRPAUEC"[i])
		}
	}
	return b.String()
}
