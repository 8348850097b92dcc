package dump

import (
	"encoding/hex"
	"testing"

	"fabemu/wire"
)

func TestBodyWords(t *testing.T) {
	const v6 = "6000000000041140" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002"
	for _, c := range []struct {
		kind uint16
		hex  string
		want string
	}{
		{0x0800, "4500001d00010000401166cd0a0000010a0000021388177000090000", " body=28 ipv4 10.0.0.1->10.0.0.2 udp 5000->6000"},
		{0x0800, "4600001800010000400666cd0a0000010a0000020101010100501f90", " body=28 ipv4 10.0.0.1->10.0.0.2 tcp 80->8080"},
		{0x0800, "4500001400012001400666cd0a0000010a00000200501f90", " body=24 ipv4 10.0.0.1->10.0.0.2 fragment"},
		{0x0800, "4500001400010000400166cd0a0000010a000002", " body=20 ipv4 10.0.0.1->10.0.0.2 icmp"},
		{0x0800, "4500001400010000401166cd0a0000010a00000213", " body=21 ipv4 10.0.0.1->10.0.0.2 udp"},
		{0x0800, "4500001400010000402f66cd0a0000010a000002", " body=20 ipv4 10.0.0.1->10.0.0.2 protocol-47"},
		{0x0800, "4f00001400010000401166cd0a0000010a000002", " body=20 ethertype-0800"},
		{0x0800, "45", " body=1 ethertype-0800"},
		{0x86DD, v6 + "00350036", " body=44 ipv6 2001:db8::1->2001:db8::2 udp 53->54"},
		{0x86DD, v6[:78], " body=39 ethertype-86dd"},
		{0x6558, "0102", " body=2 ethertype-6558"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := bodyWords(wire.Body{Type: c.kind, Bytes: b}); got != c.want {
			t.Errorf("%s: %q, want %q", c.hex, got, c.want)
		}
	}
}
