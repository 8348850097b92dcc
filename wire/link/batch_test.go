package link_test

import (
	"bytes"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// A kind of link that takes many datagrams at once.
type batchKind struct {
	name string
	pair func(t testing.TB) (a, b link.Batch)
}

// batches are the links that take many datagrams at once, for the tests that all of them must pass.
var batches = []batchKind{
	{"train", func(t testing.TB) (link.Batch, link.Batch) {
		return trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
	}},
	{"udp", func(t testing.TB) (link.Batch, link.Batch) {
		a, b := udpPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
		return link.Batched(a, link.MaxDatagram), link.Batched(b, link.MaxDatagram)
	}},
	{"train with time stamps", func(t testing.TB) (link.Batch, link.Batch) {
		a, b := trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
		stamp(t, b)
		return a, b
	}},
	{"udp with time stamps", func(t testing.TB) (link.Batch, link.Batch) {
		a, b := udpPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
		stamp(t, b)
		return link.Batched(a, link.MaxDatagram), link.Batched(b, link.MaxDatagram)
	}},
	{"unix", func(t testing.TB) (link.Batch, link.Batch) {
		a, b := unixPair(t, 4*unit.MiB)
		return link.Batched(a, link.MaxDatagram), link.Batched(b, link.MaxDatagram)
	}},
	{"train over unix", func(t testing.TB) (link.Batch, link.Batch) { return unixTrains(t) }},
	{"veth", func(t testing.TB) (link.Batch, link.Batch) {
		a, b := vethPair(t, link.VethOptions{Buffer: 4 * unit.MiB})
		return a, b
	}},
	{"train over veth", func(t testing.TB) (link.Batch, link.Batch) {
		a, b := vethTrains(t, link.MaxDatagram, link.VethOptions{Buffer: 4 * unit.MiB})
		return a.Train, b.Train
	}},
	{"pipe", func(t testing.TB) (link.Batch, link.Batch) {
		a, b := link.Pipe(256)
		closeAtEnd(t, a, b)
		return a, b
	}},
}

// stamp asks for the time stamps of what comes to an end.
func stamp(t testing.TB, l link.Link) {
	t.Helper()
	if err := link.StamperOf(l).StampArrivals(); err != nil {
		t.Fatal(err)
	}
}

func trainPair(t testing.TB, opts link.UDPOptions) (a, b *link.Train) {
	t.Helper()
	a, b, err := link.TrainPair(opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, a, b)
	return a, b
}

// put puts datagrams and flushes.
func put(t testing.TB, l link.Batch, train [][]byte) {
	t.Helper()
	fill(t, l, train)
	if left, err := flush(l); left != 0 || err != nil {
		t.Fatalf("Flush left %d: %v", left, err)
	}
}

// flush flushes until nothing waits, or there is an error.
func flush(l link.Batch) (left int, err error) {
	for left, err = l.Flush(); left > 0 && err == nil; left, err = l.Flush() {
	}
	return left, err
}

// next returns the next datagram.
func next(t testing.TB, l link.Batch) []byte {
	var end time.Time
	for {
		b, err := l.Next()
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if b != nil {
			return b
		}
		if end.IsZero() {
			end = time.Now().Add(patience)
		} else if time.Now().After(end) {
			t.Fatalf("Next: nothing came within %v", patience)
		}
	}
}

// eachBatch runs a test on every kind of link that takes many datagrams at once, in both
// directions.
func eachBatch(t *testing.T, test func(t *testing.T, from, to link.Batch)) {
	for _, k := range batches {
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			test(t, a, b)
		})
		t.Run(k.name+" back", func(t *testing.T) {
			a, b := k.pair(t)
			test(t, b, a)
		})
	}
}

// came fails the test unless the next datagrams are those of the train.
func came(t *testing.T, l link.Batch, train [][]byte) {
	t.Helper()
	for i, want := range train {
		if got := next(t, l); !bytes.Equal(got, want) {
			t.Fatalf("datagram %d of %d, with %d bytes, came as %d, or with other content", i, len(train), len(want), len(got))
		}
	}
	if got, err := l.Next(); got != nil || err != nil {
		t.Fatalf("Next = %d bytes, %v after the last of %d", len(got), err, len(train))
	}
}

// trains are datagrams that leave together: of one size, of several, more than a packet can have,
// and longer.
func trains() map[string][][]byte {
	sizes := map[string]func(i int) (int, int){
		"one":                    func(int) (n, size int) { return 1, 98 },
		"of one byte":            func(int) (n, size int) { return 9, 1 },
		"the longest":            func(int) (n, size int) { return 3, link.MaxDatagram },
		"growing":                func(i int) (n, size int) { return 40, 1 + 50*i },
		"shrinking":              func(i int) (n, size int) { return 40, 2001 - 50*i },
		"as many as a packet":    func(int) (n, size int) { return 64, 98 },
		"one more than a packet": func(int) (n, size int) { return 65, 98 },
		"many":                   func(i int) (n, size int) { return 250, []int{98, 98, 2138, 114}[i%4] },
		"the last longer":        func(i int) (n, size int) { return 30, 98 + i/29*2040 },
		"the last shorter":       func(i int) (n, size int) { return 30, 2138 - i/29*2040 },
		"as long as a packet":    func(i int) (n, size int) { return 11, []int{6000, 5483}[i/10] },
		"a byte longer":          func(i int) (n, size int) { return 11, []int{6000, 5484}[i/10] },
	}
	all := map[string][][]byte{}
	for name, f := range sizes {
		n, _ := f(0)
		all[name] = trainOf(n, func(i int) int {
			_, size := f(i)
			return size
		})
	}
	return all
}

func TestTrainsComeWholeAndInOrder(t *testing.T) {
	all := trains()
	eachBatch(t, func(t *testing.T, from, to link.Batch) {
		sent := uint64(0)
		for name, train := range all {
			t.Run(name, func(t *testing.T) {
				put(t, from, train)
				came(t, to, train)
				if sent += uint64(len(train)); from.Counts().Datagrams != sent {
					t.Errorf("%d datagrams were counted, want %d", from.Counts().Datagrams, sent)
				}
			})
		}
		if left, err := from.Flush(); left != 0 || err != nil {
			t.Errorf("Flush of nothing left %d: %v", left, err)
		}
		if c := to.Counts(); c != (link.Counts{}) {
			t.Errorf("the end that sent nothing counted %+v", c)
		}
	})
}

// Several trains wait before any is read, with single datagrams between them, and are read in both
// directions.
func TestTrainsAndSinglesKeepTheirOrder(t *testing.T) {
	eachBatch(t, func(t *testing.T, from, to link.Batch) {
		all := trainOf(60, mixes[2].size)
		for first := 0; first < len(all); first += 6 {
			put(t, from, all[first:first+5])
			send(t, from, all[first+5])
		}
		buf := make([]byte, 4096)
		for i := 0; i < len(all); i += 2 {
			if got := recv(t, to, buf); !bytes.Equal(got, all[i]) {
				t.Fatalf("datagram %d came with %d bytes, or with other content", i, len(got))
			}
			if got := next(t, to); !bytes.Equal(got, all[i+1]) {
				t.Fatalf("datagram %d came with %d bytes, or with other content", i+1, len(got))
			}
		}
	})
}

func TestImpossibleDatagramsAreNotPut(t *testing.T) {
	eachBatch(t, func(t *testing.T, from, to link.Batch) {
		if err := from.Put(nil); !errors.Is(err, link.ErrEmpty) {
			t.Errorf("no bytes: %v, want %v", err, link.ErrEmpty)
		}
		if err := from.Put(pattern(link.MaxDatagram+1, 1)); !errors.Is(err, link.ErrTooLong) {
			t.Errorf("a byte too many: %v, want %v", err, link.ErrTooLong)
		}
		if _, ok := from.(*link.Train); ok {
			for _, err := range []error{from.Put([]byte{1, 0}), from.Send([]byte{0})} {
				if !errors.Is(err, link.ErrTail) {
					t.Errorf("a zero at the end: %v, want %v", err, link.ErrTail)
				}
			}
		}
		train := trainOf(3, mixes[2].size) // and what is put next to them leaves
		put(t, from, train)
		came(t, to, train)
	})
}

func TestClosedEndTakesNoTrain(t *testing.T) {
	eachBatch(t, func(t *testing.T, from, to link.Batch) {
		put(t, to, trainOf(3, mixes[0].size))
		next(t, from)
		if err := from.Close(); err != nil {
			t.Fatal(err)
		}
		err := from.Put([]byte{1})
		if err == nil {
			_, err = from.Flush()
		}
		if !errors.Is(err, link.ErrClosed) {
			t.Errorf("Put and Flush: %v, want %v", err, link.ErrClosed)
		}
		if b, err := from.Next(); b != nil || !errors.Is(err, link.ErrClosed) {
			t.Errorf("Next: %d bytes, %v, want %v", len(b), err, link.ErrClosed)
		}
	})
}

// A pipe that has room for a part of a train takes that, and the rest later.
func TestTheRestOfATrainFollowsInOrder(t *testing.T) {
	a, b := link.Pipe(10)
	train := trainOf(35, mixes[2].size)
	fill(t, a, train)
	full := uint64(0)
	for read := 0; read < len(train); read++ {
		// What was read last is the reader's still: its place becomes free with the next call.
		wantLeft := max(0, len(train)-10-max(0, read-1))
		left, err := flush(a)
		if left != wantLeft || errors.Is(err, link.ErrFull) != (left > 0) {
			t.Fatalf("after %d were read, Flush left %d: %v, want %d", read, left, err, wantLeft)
		}
		if left > 0 {
			full++
		}
		if got := next(t, b); !bytes.Equal(got, train[read]) {
			t.Fatalf("datagram %d came with %d bytes, or with other content", read, len(got))
		}
	}
	if got, err := b.Next(); got != nil || err != nil {
		t.Errorf("Next = %d bytes, %v after the last", len(got), err)
	}
	if c := a.Counts(); c.Full != full || full == 0 || c.Datagrams != uint64(len(train)) {
		t.Errorf("counted %+v, want %d datagrams, %d times full", c, len(train), full)
	}
}

// fill puts datagrams.
func fill(t testing.TB, l link.Batch, train [][]byte) {
	t.Helper()
	for _, b := range train {
		if err := l.Put(b); err != nil {
			t.Fatalf("Put of %d bytes: %v", len(b), err)
		}
	}
}

// One goroutine sends trains while another reads.
func TestTrainsAreReadWhileOthersAreSent(t *testing.T) {
	each := func(t *testing.T, from, to link.Batch) {
		const rounds = 30
		train := trainOf(40, mixes[2].size)
		var read atomic.Int64
		sent := make(chan error, 1)
		go func() {
			for round := range rounds {
				for read.Load() < int64(round-2)*int64(len(train)) {
					runtime.Gosched() // what waits has room in a socket of any kind
				}
				for _, b := range train {
					if err := from.Put(b); err != nil {
						sent <- err
						return
					}
				}
				if _, err := flush(from); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := range rounds * len(train) {
			if got, want := next(t, to), train[i%len(train)]; !bytes.Equal(got, want) {
				t.Fatalf("datagram %d, with %d bytes, came as %d, or with other content", i, len(want), len(got))
			}
			read.Add(1)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range batches {
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			each(t, a, b)
		})
	}
}
