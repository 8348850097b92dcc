package link_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// mixes are the sizes of the datagrams of a train: flow control has 98 bytes with its trailer,
// data 2138.
var mixes = []struct {
	name string
	size func(i int) int
}{
	{"small", func(int) int { return 98 }},
	{"large", func(int) int { return 2138 }},
	{"mixed", func(i int) int { return []int{98, 2138, 98}[i%3] }},
}

// trainOf returns n datagrams of a mix.
func trainOf(n int, size func(i int) int) (train [][]byte) {
	for i := range n {
		train = append(train, pattern(size(i), i))
	}
	return train
}

// BenchmarkTrain is what a datagram costs that is sent and received with others, and compared with
// what was sent. The least of many rounds is ns/datagram: others work on the machine too.
func BenchmarkTrain(b *testing.B) {
	for _, k := range batches {
		for _, mix := range mixes {
			for _, n := range []int{1, 2, 4, 8, 16} {
				b.Run(fmt.Sprintf("%s/%s/%d", k.name, mix.name, n), func(b *testing.B) {
					b.ReportAllocs()
					from, to := k.pair(b)
					train := trainOf(n, mix.size)
					least := time.Duration(1 << 62)
					for b.Loop() {
						begin := time.Now()
						put(b, from, train)
						for _, want := range train {
							if got := next(b, to); !bytes.Equal(got, want) {
								b.Fatalf("%d bytes came as %d, or with other content", len(want), len(got))
							}
						}
						least = min(least, time.Since(begin))
					}
					b.ReportMetric(float64(least.Nanoseconds())/float64(n), "ns/datagram")
				})
			}
		}
	}
}

// BenchmarkDatagram sends a data packet of 2048 bytes with its trailer and reads
// it at the other end.
func BenchmarkDatagram(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			from, to := k.pair(b)
			out, in := pattern(2138, 1), make([]byte, 4096)
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
