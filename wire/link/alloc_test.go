//go:build timing

package link_test

import (
	"errors"
	"testing"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

func TestAllocsOfADatagram(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			out, in := pattern(2122, 1), make([]byte, 4096)
			round := func() {
				send(t, a, out)
				recv(t, b, in)
				if n, err := b.Recv(in); n != 0 || err != nil { // nothing waits
					t.Fatalf("Recv = %d, %v", n, err)
				}
			}
			for range 300 { // a pipe has held a datagram in each of its slots
				round()
			}
			if n := testing.AllocsPerRun(500, round); n != 0 {
				t.Errorf("a datagram allocates %v times", n)
			}
		})
	}
}

func TestAllocsOfATrain(t *testing.T) {
	for _, k := range batches {
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			train := trainOf(70, mixes[2].size)
			round := func() {
				put(t, a, train)
				came(t, b, train)
			}
			for range 20 {
				round()
			}
			if n := testing.AllocsPerRun(50, round); n != 0 {
				t.Errorf("a train allocates %v times", n)
			}
		})
	}
}

func TestAllocsOfAFullPipe(t *testing.T) {
	a, _ := link.Pipe(1)
	out := make([]byte, 100)
	send(t, a, out)
	if n := testing.AllocsPerRun(100, func() {
		if err := a.Send(out); !errors.Is(err, link.ErrFull) {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a refusal allocates %v times", n)
	}
}

func TestAllocsOfLost(t *testing.T) {
	a, _ := udpPair(t, link.UDPOptions{Buffer: unit.MiB})
	if n := testing.AllocsPerRun(100, func() {
		if _, err := a.Lost(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Lost allocates %v times", n)
	}
}
