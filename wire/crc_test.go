package wire

import (
	"hash/crc32"
	"testing"

	"fabemu/wire/unit"
)

// bitwise is a reflected CRC as in the definition, one bit at a time.
func bitwise(s, poly uint32, p []byte) uint32 {
	for _, v := range p {
		s ^= uint32(v)
		for range 8 {
			if s&1 != 0 {
				s = s>>1 ^ poly
			} else {
				s >>= 1
			}
		}
	}
	return s
}

// randomBytes returns n bytes that are the same in every run.
func randomBytes(n int, seed uint64) []byte {
	r := unit.NewRandom(seed, 0)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return b
}

func TestSlicedCRCIsTheBitwiseCRC(t *testing.T) {
	all := randomBytes(300, 1)
	for n := range all {
		for from := range min(n, 9) {
			p := all[from:n]
			if got, want := VCRC(p), ^uint16(bitwise(0xFFFF, 0xD008, p)); got != want {
				t.Fatalf("VCRC of bytes %d to %d = %04x, want %04x", from, n, got, want)
			}
			if got, want := ^icrc.update(0xFFFFFFFF, p), crc32.ChecksumIEEE(p); got != want {
				t.Fatalf("CRC-32 of bytes %d to %d = %08x, want %08x", from, n, got, want)
			}
		}
	}
}

// The two entries that pin the table of the CRC-16 down.
func TestVCRCTable(t *testing.T) {
	if got := vcrc.after[0][1]; got != 0x1BA1 {
		t.Errorf("T[1] = %04x, want 1ba1", got)
	}
	if got := vcrc.after[0][255]; got != 0x0960 {
		t.Errorf("T[255] = %04x, want 0960", got)
	}
}

func TestRunOfZerosIsTheSameAsItsBytes(t *testing.T) {
	zeros := make([]byte, 40000)
	lengths := []int{MaxPayload - 1, MaxPayload, MaxPayload + 1, 2*MaxPayload - 1, 2 * MaxPayload, 2*MaxPayload + 1, MaxMSDU, 12345, 32768, 40000}
	for n := range 1100 {
		lengths = append(lengths, n)
	}
	for _, crc := range []struct {
		name  string
		table *crcTable
		width uint
	}{{"VCRC", vcrc, 16}, {"ICRC", icrc, 32}} {
		r := unit.NewRandom(7, 0)
		for _, n := range lengths {
			state := uint32(r.Uint64()) >> (32 - crc.width)
			if got, want := crc.table.padding(state, n), crc.table.update(state, zeros[:n]); got != want {
				t.Fatalf("%s of %d zeros from state %x = %x, want %x", crc.name, n, state, got, want)
			}
		}
	}
}

func TestAllZero(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 8, 9, 64, 2048} {
		p := make([]byte, n)
		if !allZero(p) {
			t.Errorf("%d zeros are not taken for zeros", n)
		}
		for i := range p {
			p[i] = 1
			if allZero(p) {
				t.Fatalf("byte %d of %d is one, and not seen", i, n)
			}
			p[i] = 0
		}
		for i := range p {
			p[i] = 9
		}
		if n > 0 && allZero(p) {
			t.Errorf("%d bytes of the same value are taken for zeros", n)
		}
	}
}

// The FCS is that of package hash/crc32, whether a frame has a run of zeros, almost has one, or has
// none.
func TestFCSOfZeros(t *testing.T) {
	for _, n := range []int{60, 387, 388, 389, 484, 1086, 1518, 4096, 9018, 12000} {
		for _, at := range []int{-1, 0, 95, 96, n / 2, n - 5, n - 4, n - 1} {
			p := make([]byte, n)
			for i := range min(n, 54) {
				p[i] = byte(7*i + 1)
			}
			if at >= 0 && at < n {
				p[at] ^= 0x40
			}
			if got, want := FCS(p), crc32.ChecksumIEEE(p); got != want {
				t.Errorf("%d bytes, byte %d changed: FCS %#08x, want %#08x", n, at, got, want)
			}
		}
	}
}
