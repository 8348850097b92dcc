package wire

import (
	"testing"

	"fabemu/wire/unit"
)

// A packet of RoCEv2 that is as it would be written is not examined part by part, and would come
// through that as the same frame.
func TestExaminedRoCEIsTheSame(t *testing.T) {
	r := unit.NewRandom(8, 1)
	for range 2000 {
		f := Frame{Kind: []Kind{Data, Ack, CNP}[r.Below(3)], Family: RoCEv2, Src: LID(r.Below(1 << 16)), Dst: LID(r.Below(1 << 16)), QP: uint32(r.Below(1 << 24))}
		switch f.Kind {
		case Data:
			f.PSN, f.Last, f.Payload = uint32(r.Below(1<<24)), r.Below(2) == 1, uint32(r.Below(MaxPayload/4+1)*4)
		case Ack:
			f.PSN, f.MSN, f.BECN = uint32(r.Below(1<<24)), uint32(r.Below(1<<24)), r.Below(2) == 1
		}
		f.SetRoCE(RoCE{IPv6: r.Below(2) == 1, DSCP: uint8(r.Below(64)), ECT: r.Below(2) == 1, AckReq: r.Below(2) == 1, NAK: r.Below(2) == 1})
		b := f.Append(nil)
		read, examined := Frame{Src: f.Src, Dst: f.Dst}, Frame{Src: f.Src, Dst: f.Dst}
		var body Body
		if !read.readRoCE(&body, b[EthernetHeaderSize:], f.ipv6()) {
			t.Fatalf("%+v is not as it is written", f)
		}
		b = b[:len(b)-FCSSize]
		if err := examined.examineRoCE(&body, b, EthernetHeaderSize, f.ipv6()); err != nil || read != f || examined != f {
			t.Fatalf("%+v: read as %+v, examined as %+v, %v", f, read, examined, err)
		}
	}
}
