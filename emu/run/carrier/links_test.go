package carrier_test

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/mode"
	"fabemu/wire/link"
)

// open opens the links of a small fabric.
func open(t *testing.T, o carrier.Options) (*carrier.Links, *fabric.Fabric) {
	t.Helper()
	f, err := fabric.Build(runtest.Short(t, "hpl2002/fig3b", "4ms"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := carrier.Open(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, f
}

// next returns the next frame of an end.
func next(t *testing.T, in link.Batch) []byte {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if b, err := in.Next(); b != nil || err != nil {
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatal("nothing came")
	return nil
}

// With trains, frames of all links that leave at the same instant leave the trunk in order, in one
// system call.
func TestFramesComeOutOfTheTrunk(t *testing.T) {
	l, _ := open(t, carrier.Options{Packing: mode.Trains})
	const many = 30
	for i := range many {
		if err := l.Trunk[0].Put(fmt.Appendf(nil, "frame %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := l.Trunk[0].Flush(); left != 0 || err != nil {
		t.Fatal(left, err)
	}
	for i := range many {
		if got, want := next(t, l.Trunk[1]), fmt.Appendf(nil, "frame %d", i); !bytes.Equal(got, want) {
			t.Fatalf("%q came, want %q", got, want)
		}
	}
	if train, ok := l.Trunk[0].(*link.Train); ok && train.Counts().Trains != 1 {
		t.Errorf("%d datagrams left in %d trains, want 1", train.Counts().Datagrams, train.Counts().Trains)
	}
}

// quiet is an end that sends nothing.
type quiet struct{ link.Link }

func (quiet) Send([]byte) error { return nil }

func TestWrapIsAroundTheEndsOfTrains(t *testing.T) {
	wrapped := 0
	l, _ := open(t, carrier.Options{Packing: mode.Trains, Wrap: func(l link.Link) link.Link {
		wrapped++
		return quiet{l}
	}})
	if err := l.Trunk[0].Put([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if left, err := l.Trunk[0].Flush(); left != 0 || err != nil {
		t.Fatal(left, err)
	}
	if b, err := l.Trunk[1].Next(); wrapped != 2 || b != nil || err != nil {
		t.Errorf("%d ends are wrapped, %d bytes came past them: %v", wrapped, len(b), err)
	}
}

func TestPortsOfTrainsThatAreTaken(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig3b", "4ms")
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	s.Wall.UDPPort = a.LocalPort()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	l, err := carrier.Open(t.Context(), f, carrier.Options{Packing: mode.Trains})
	var m *errs.Mistake
	if l != nil || !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &m) {
		t.Errorf("links.Open = %v, %v, want nil and a mistake of the user: %v", l, err, syscall.EADDRINUSE)
	}
}
