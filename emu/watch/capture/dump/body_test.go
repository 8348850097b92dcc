package dump

import (
	"encoding/hex"
	"strings"
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
		{0x0800, "4600001c00010000400666cd0a0000010a0000020101010100501f90", " body=28 ipv4 10.0.0.1->10.0.0.2 protocol-6"},
		{0x0800, "4500001400012001400666cd0a0000010a00000200501f90", " body=24 ipv4 10.0.0.1->10.0.0.2 fragment"},
		{0x0800, "4500001400010000400166cd0a0000010a000002", " body=20 ipv4 10.0.0.1->10.0.0.2 protocol-1"},
		{0x0800, "4500001c00010000400166cd0a0000010a0000020800abcd00070009", " body=28 ipv4 10.0.0.1->10.0.0.2 icmp EchoRequest id=7 seq=9"},
		{0x0800, "4500001c00010000400166cd0a0000010a0000020301abcd00000000", " body=28 ipv4 10.0.0.1->10.0.0.2 icmp DestinationUnreachable(Host) id=0 seq=0"},
		{0x0800, "4500002800010000400666cd0a0000010a000002" + "14512710000003e8000007d0501200ff00000000", " body=40 ipv4 10.0.0.1->10.0.0.2 tcp 5201->10000 flags=SA seq=1000 ack=2000 win=255 len=0"},
		{0x0800, "4500001400010000401166cd0a0000010a00000213", " body=21 ipv4 10.0.0.1->10.0.0.2 protocol-17"},
		{0x0800, "4500001400010000402f66cd0a0000010a000002", " body=20 ipv4 10.0.0.1->10.0.0.2 protocol-47"},
		{0x0800, "4f00001400010000401166cd0a0000010a000002", " body=20 ethertype-0800"},
		{0x0800, "45", " body=1 ethertype-0800"},
		{0x86DD, v6 + "00350036", " body=44 ipv6 2001:db8::1->2001:db8::2 protocol-17"},
		{0x86DD, strings.Replace(v6, "0004", "0008", 1) + "0035003600080000", " body=48 ipv6 2001:db8::1->2001:db8::2 udp 53->54"},
		{0x86DD, v6[:78], " body=39 ethertype-86dd"},
		{0x6558, "0102", " body=2 ethertype-6558"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := newContent().words(wire.Body{Type: c.kind, Bytes: b}); got != c.want {
			t.Errorf("%s: %q, want %q", c.hex, got, c.want)
		}
	}
}
