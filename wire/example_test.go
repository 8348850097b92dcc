package wire_test

import (
	"errors"
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// A datagram of the fabric is a frame and the link trailer.
func ExampleFrame_Append() {
	f := wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpNormal, FCTBS: 33, FCCL: 132})}
	t := wire.Trailer{
		Head: unit.Time(5 * unit.Microsecond), Due: unit.Time(5001 * unit.Nanosecond),
		Seq: 1, Port: 3, Delimiter: f.Delimiter(),
	}
	b := f.Append(nil)
	fmt.Printf("frame %x\n", b)
	b = t.Append(b)
	fmt.Println("datagram", len(b), "bytes")
	// Output:
	// frame 002100843d3d
	// datagram 70 bytes
}

func ExampleParse() {
	ack := wire.Frame{Kind: wire.Ack, BECN: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, MSN: 5}
	b := ack.Append(nil)
	f, err := wire.Parse(wire.DataPacket, b)
	fmt.Println(f.Kind, f.PSN, f.BECN, err)

	b[15]++
	_, err = wire.Parse(wire.DataPacket, b)
	fmt.Println(err)
	fmt.Println(errors.Is(err, wire.ErrChecksum))
	// Output:
	// ack 7 true <nil>
	// wire: VCRC at byte 28: wrong checksum
	// true
}

// A switch marks a frame by its value; of the bytes only the mark and the VCRC
// change, since the ICRC does not cover the mark.
func ExampleICRC() {
	f := wire.Frame{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7}
	for range 2 {
		b := f.Append(nil)
		fmt.Printf("%x %x %x\n", b[:20], b[20:24], b[24:])
		f.FECN = true
	}
	// Output:
	// 00020005000600030440ffff0000001280000007 8bcadc86 9557
	// 00020005000600030440ffff8000001280000007 8bcadc86 46e6
}
