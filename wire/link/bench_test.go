package link_test

import "testing"

// BenchmarkDatagram sends a data packet of 2048 bytes with its trailer and reads
// it at the other end.
func BenchmarkDatagram(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			from, to := k.pair(b)
			out, in := make([]byte, 2138), make([]byte, 4096)
			for b.Loop() {
				send(b, from, out)
				recv(b, to, in)
			}
		})
	}
}

// BenchmarkEmptyRecv is what it costs to look at a link where nothing waits.
func BenchmarkEmptyRecv(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			_, to := k.pair(b)
			in := make([]byte, 4096)
			for b.Loop() {
				if n, err := to.Recv(in); n != 0 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}
