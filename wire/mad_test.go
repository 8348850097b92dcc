package wire_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"fabemu/wire"
)

// management returns a directed-route SMP or, for queue pair 1, another MAD as a packet.
func management(qp uint32) ([]byte, *[wire.MADSize]byte) {
	mad := &[wire.MADSize]byte{1, 0x81, 1, 1, 7: 2, 17: 0x11, 129: 1, 255: 9}
	if qp == 1 {
		mad[1] = 4
	}
	f := wire.Frame{Kind: wire.Management, Lane: 15, Src: 0xFFFF, Dst: 0xFFFF, QP: qp, MSN: qp, PSN: 7}
	var store wire.Bodies
	store.PutMAD(&f, mad)
	return f.AppendBody(nil, store.Of(&f)), mad
}

// A MAD on the link: the headers are those of the standard (7.7, 9.2, 9.3.2), and what is wrong in
// them is refused.
func TestManagementPacket(t *testing.T) {
	for qp, want := range map[uint32]string{
		0: "f002ffff0048ffff6440ffff000000000000000700000000" + "00000000",
		1: "f002ffff0048ffff6440ffff000000010000000780010000" + "00000001",
	} {
		b, mad := management(qp)
		if len(b) != 290 || !bytes.HasPrefix(b, unhex(t, want)) || !bytes.Equal(b[28:28+256], mad[:]) {
			t.Errorf("%d bytes: %x", len(b), b[:28])
		}
		f, body, err := wire.ParseBody(wire.DataPacket, b)
		if err != nil || f.Kind != wire.Management || f.QP != qp || f.MSN != qp || f.PSN != 7 || *body.MAD() != *mad {
			t.Errorf("%+v, %v", f, err)
		}
		for name, change := range map[string]func(b []byte) []byte{
			"LRH.VL":        func(b []byte) []byte { b[0] = 0; return b },
			"LRH.SL":        func(b []byte) []byte { b[1] |= 0x10; return b },
			"BTH.FECN":      func(b []byte) []byte { b[12] |= 0x80; return b },
			"BTH.DestQP":    func(b []byte) []byte { b[15] = 2; return b },
			"DETH.Q_Key":    func(b []byte) []byte { b[20] ^= 1; return b },
			"DETH.Reserved": func(b []byte) []byte { b[24] = 1; return b },
			"MAD": func(b []byte) []byte {
				binary.BigEndian.PutUint16(b[4:], uint16(len(b)-6)/4)
				return append(b[:28+252], make([]byte, 6)...)
			},
		} {
			_, _, err := wire.ParseBody(wire.DataPacket, reseal(change(bytes.Clone(b))))
			if refused, ok := err.(*wire.ParseError); !ok || refused.Field != name {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
