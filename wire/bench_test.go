package wire_test

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

var (
	data2048     = wire.Frame{Kind: wire.Data, Lane: 1, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 2048}
	ackFrame     = wire.Frame{Kind: wire.Ack, BECN: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, MSN: 5}
	fcpFrame     = wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 33, FCCL: 132})}
	ethernet1500 = wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Tagged: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 1500}
	pauseFrame   = wire.Frame{Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 65535})}
	pfcFrame     = wire.Frame{Kind: wire.PriorityPause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 8, Stopped: 8, Quanta: 65535})}
	roceIPv6     = roce(roceData, wire.RoCE{IPv6: true, DSCP: 26, ECT: true})
	trailer      = wire.Trailer{Secret: wire.Secret{1, 2}, Head: 1000, Due: 21000, Promise: unit.Never, Duration: 2068000, Length: 2068,
		Seq: 9, Run: 0xC0FFEE, Port: 4, Delimiter: wire.DataPacket}
)

func BenchmarkAppend(b *testing.B) {
	for name, f := range map[string]wire.Frame{"data2048": data2048, "ack": ackFrame, "fcp": fcpFrame, "ethernet1500": ethernet1500, "pause": pauseFrame, "cnm": notified, "roce1024": roceData, "roce1024v6": roceIPv6} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 4200)
			for b.Loop() {
				f.Append(buf)
			}
		})
	}
	b.Run("trailer", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, wire.TrailerSize)
		for b.Loop() {
			trailer.Append(buf)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, f := range map[string]wire.Frame{"data2048": data2048, "ack": ackFrame, "fcp": fcpFrame, "ethernet1500": ethernet1500, "pause": pauseFrame, "cnm": notified, "roce1024": roceData, "roce1024v6": roceIPv6} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf, d := f.Append(nil), f.Delimiter()
			for b.Loop() {
				if _, err := wire.Parse(d, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("trailer", func(b *testing.B) {
		b.ReportAllocs()
		buf := trailer.Append(nil)
		for b.Loop() {
			if _, _, err := wire.ParseTrailer(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkVCRC shows what general content costs, against the run of zeros of
// BenchmarkAppend/data2048.
func BenchmarkVCRC(b *testing.B) {
	b.ReportAllocs()
	buf := data2048.Append(nil)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		wire.VCRC(buf)
	}
}
