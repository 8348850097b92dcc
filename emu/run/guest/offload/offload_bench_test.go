package offload

import (
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// BenchmarkCut cuts a large segment into packets in place, and in addition to it by the layers of
// gopacket, which are used again. The packets are the same.
func BenchmarkCut(b *testing.B) {
	const size = 1448
	s, buf := shapes[0], make([]byte, 2000)
	whole := s.large(b, nil, random(40*size), size)
	b.Run("own", func(b *testing.B) {
		var c Cutter
		for b.Loop() {
			if err := c.Cut(whole); err != nil {
				b.Fatal(err)
			}
			for c.Next(buf) > 0 {
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(40*b.N), "ns/packet")
	})
	b.Run("gopacket", func(b *testing.B) {
		want := cutAll(b, false, whole)
		var ip layers.IPv4
		var tcp layers.TCP
		out, o := gopacket.NewSerializeBuffer(), gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
		p := gopacket.NewDecodingLayerParser(layers.LayerTypeIPv4, &ip, &tcp)
		p.IgnoreUnsupported = true
		var found []gopacket.LayerType
		for b.Loop() {
			if err := p.DecodeLayers(whole[HeaderSize:], &found); err != nil {
				b.Fatal(err)
			}
			_ = tcp.SetNetworkLayerForChecksum(&ip)
			push := tcp.PSH
			n := 0
			for rest := tcp.Payload; len(rest) > 0; n++ {
				piece := rest[:min(size, len(rest))]
				rest = rest[len(piece):]
				tcp.PSH = push && len(rest) == 0
				if err := gopacket.SerializeLayers(out, o, &ip, &tcp, gopacket.Payload(piece)); err != nil {
					b.Fatal(err)
				}
				if !slices.Equal(out.Bytes(), want[n]) {
					b.Fatal("another packet")
				}
				ip.Id++
				tcp.Seq += uint32(len(piece))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(40*b.N), "ns/packet")
	})
}

// BenchmarkJoin joins the packets of a large segment, and in addition to it reads them with the
// layers of gopacket and proves their checksums, which is the part of the work that gopacket could
// do.
func BenchmarkJoin(b *testing.B) {
	const size = 1448
	packets := cutAll(b, false, shapes[0].large(b, nil, random(40*size), size))
	b.Run("own", func(b *testing.B) {
		j := Joiner{Hold: 10, Write: func([]byte, int) {}}
		for b.Loop() {
			for _, p := range packets {
				j.Add(p, 1)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(40*b.N), "ns/packet")
	})
	b.Run("gopacket", func(b *testing.B) {
		var ip layers.IPv4
		var tcp layers.TCP
		p := gopacket.NewDecodingLayerParser(layers.LayerTypeIPv4, &ip, &tcp)
		p.IgnoreUnsupported = true
		var found []gopacket.LayerType
		for b.Loop() {
			for _, packet := range packets {
				if err := p.DecodeLayers(packet, &found); err != nil {
					b.Fatal(err)
				}
				_ = tcp.SetNetworkLayerForChecksum(&ip)
				if sum, err := tcp.ComputeChecksum(); err != nil || sum != 0 && sum != 0xFFFF {
					b.Fatalf("the sum is %04x: %v", sum, err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(40*b.N), "ns/packet")
	})
}
