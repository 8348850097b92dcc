package wire_test

import (
	"bytes"
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// datagram is a packet of IPv4 with UDP from 10.0.0.1:5000 to 10.0.0.2:6000.
const datagram = "4500001d00010000401166cd0a0000010a00000213881770000900002a"

// bodied returns the bytes of a frame of a family with a body of n bytes, and the frame.
func bodied(family wire.Family, n int) ([]byte, wire.Frame) {
	body := wire.Body{Type: 0x0800, Bytes: make([]byte, n)}
	for i := range body.Bytes {
		body.Bytes[i] = byte(i + 1)
	}
	f := wire.Frame{Kind: wire.Data, Family: family, Src: 3, Dst: 5, QP: 0x12, PSN: 7}
	var store wire.Bodies
	store.Put(&f, body)
	b := f.AppendBody(nil, store.Of(&f))
	store.Free(&f)
	return b, f
}

// The bytes are those of a program in another language.
func TestBodyGolden(t *testing.T) {
	ib := wire.Frame{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7}
	for _, c := range []struct {
		name  string
		frame wire.Frame
		body  string
		hex   string
	}{
		{"InfiniBand, pad of 3", ib, datagram, "00020005000f00030470ffff000000128000000708000000" + datagram + "000000a252d9417b48"},
		{"InfiniBand, no pad", ib, datagram[:56], "00020005000e00030440ffff000000128000000708000000" + datagram[:56] + "6dca522aedfd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, body := unhex(t, c.hex), wire.Body{Type: 0x0800, Bytes: unhex(t, c.body)}
			f := c.frame
			var store wire.Bodies
			store.Put(&f, body)
			if got := f.AppendBody(dirty(len(want)), store.Of(&f)); !bytes.Equal(got, want) {
				t.Errorf("AppendBody:\n%x, want\n%x", got, want)
			}
			if int(f.WireSize()) != len(want) {
				t.Errorf("WireSize %d, want %d", f.WireSize(), len(want))
			}
			got, b, err := wire.ParseBody(f.Delimiter(), want)
			store.Free(&f)
			if err != nil || got != f || b.Type != body.Type || !bytes.Equal(b.Bytes, body.Bytes) {
				t.Errorf("ParseBody: %+v, %+v, %v", got, b, err)
			}
			// Who knows no bodies refuses them.
			if f, err := wire.Parse(f.Delimiter(), want); err == nil {
				t.Errorf("Parse takes it for %+v", f)
			}
		})
	}
}

func TestBodyOfEachLengthComesBack(t *testing.T) {
	for _, family := range []wire.Family{wire.InfiniBand, wire.RoCEv2} {
		for n := range family.BodyRoom(family.Fit(1<<20)) + 1 {
			if n > 100 && n%97 != 0 && n < family.BodyRoom(family.Fit(1<<20))-8 {
				continue
			}
			b, f := bodied(family, n)
			got, body, err := wire.ParseBody(f.Delimiter(), b)
			if err != nil || got != f || len(body.Bytes) != n || n > 0 && body.Bytes[n-1] != byte(n) {
				t.Fatalf("%v, %d bytes: %+v, %d bytes, %v", family, n, got, len(body.Bytes), err)
			}
		}
	}
}

func TestBodyDamageIsRefused(t *testing.T) {
	for _, family := range []wire.Family{wire.InfiniBand, wire.RoCEv2} {
		b, f := bodied(family, 30)
		for n := range b {
			if _, _, err := wire.ParseBody(f.Delimiter(), b[:n]); err == nil {
				t.Fatalf("%v cut to %d of %d bytes passes", family, n, len(b))
			}
		}
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if _, _, err := wire.ParseBody(f.Delimiter(), b); err == nil {
				t.Fatalf("%v with bit %d of byte %d changed passes", family, bit%8, bit/8)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// Each case spoils one thing in a frame with a body and makes the checksums right again.
func TestBodyRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		family wire.Family
		at     int
		value  byte
		want   wire.ParseError
	}{
		{"length for a type", wire.InfiniBand, 20, 5, wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrPayload}},
		{"reserved behind the type", wire.InfiniBand, 23, 1, wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrPayload}},
		{"pad is not zero", wire.InfiniBand, 55, 1, wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrPayload}},
		{"length for a type", wire.RoCEv2, 58, 5, wire.ParseError{Field: "payload", Offset: 58, Reason: wire.ErrPayload}},
		{"reserved behind the type", wire.RoCEv2, 61, 1, wire.ParseError{Field: "payload", Offset: 58, Reason: wire.ErrPayload}},
		{"pad is not zero", wire.RoCEv2, 93, 1, wire.ParseError{Field: "payload", Offset: 58, Reason: wire.ErrPayload}},
	} {
		t.Run(c.family.String()+", "+c.name, func(t *testing.T) {
			b, f := bodied(c.family, 30)
			b[c.at] = c.value
			switch c.family {
			case wire.RoCEv2:
				b = refit(resealIP(b, wire.EthernetHeaderSize))
			default:
				b = reseal(b)
			}
			if _, _, err := wire.ParseBody(f.Delimiter(), b); !refusedFor(err, c.want) {
				t.Errorf("%v, want %v", err, &c.want)
			}
		})
	}
}

func TestBodiesBelongToOneFrameEach(t *testing.T) {
	var store wire.Bodies
	r := unit.NewRandom(1, 1)
	held := map[byte]*wire.Frame{}
	for k := range 10000 {
		id := byte(r.Below(20))
		if f := held[id]; f == nil {
			held[id] = &wire.Frame{Kind: wire.Data, Family: wire.Ethernet}
			store.Put(held[id], wire.Body{Type: 0x0800, Bytes: bytes.Repeat([]byte{id}, 1+int(r.Below(100)))})
		} else if b := store.Of(f); b.Type != 0x0800 || len(b.Bytes) != int(f.Payload) || b.Bytes[0] != id || b.Bytes[len(b.Bytes)-1] != id {
			t.Fatalf("round %d: body %d is %+v", k, id, b)
		} else {
			store.Free(f)
			store.Free(f) // it has none any more
			if f.HasBody() {
				t.Fatal("a frame has its body still")
			}
			delete(held, id)
		}
		if store.Held() != len(held) {
			t.Fatalf("%d bodies, want %d", store.Held(), len(held))
		}
	}
}

func TestBodyMistakesPanic(t *testing.T) {
	var store wire.Bodies
	put := func(family wire.Family, kind uint16, n int) func() {
		return func() {
			store.Put(&wire.Frame{Kind: wire.Data, Family: family}, wire.Body{Type: kind, Bytes: make([]byte, n)})
		}
	}
	f := wire.Frame{Kind: wire.Data}
	store.Put(&f, wire.Body{Type: 0x0800, Bytes: []byte{1}})
	g := f
	store.Put(&g, wire.Body{Type: 0x0800, Bytes: []byte{1}})
	freed := g
	store.Free(&g)
	plain := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: 64}
	for name, do := range map[string]func(){
		"no type":                put(wire.Ethernet, 0x05FF, 10),
		"too long, InfiniBand":   put(wire.InfiniBand, 0x0800, wire.MaxPayload-3),
		"too long, Ethernet":     put(wire.Ethernet, 0x0800, wire.MaxMSDU+1),
		"shorter than a header":  put(wire.Ethernet, 0x6558, 13),
		"bytes without the body": func() { f.Append(nil) },
		"bytes without a type":   func() { plain.AppendBody(nil, wire.Body{Bytes: make([]byte, 40)}) },
		"bytes with another":     func() { f.AppendBody(nil, wire.Body{Type: 0x0800, Bytes: make([]byte, 40)}) },
		"freed":                  func() { store.Of(&freed) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			do()
		})
	}
}
