package links_test

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/links"
	"fabemu/emu/mistake"
	"fabemu/emu/runtest"
	"fabemu/wire/link"
)

// open opens the links of a small fabric.
func open(t *testing.T, o links.Options) (*links.Links, *fabric.Fabric) {
	t.Helper()
	f, err := fabric.Build(runtest.Short(t, "hpl2002/fig3b", "4ms"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := links.Open(t.Context(), f, o)
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

// next returns the next frame of a track.
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

// Whatever carries them, frames of all links that leave at one instant come out of their tracks, in order. With
// trains that is one track, and one call of the system.
func TestFramesComeOutOfTheirTracks(t *testing.T) {
	for _, carrier := range []links.Carrier{links.UDP, links.Trains, links.Pipe} {
		t.Run(string(carrier), func(t *testing.T) {
			l, f := open(t, links.Options{Carrier: carrier})
			tracks := l.Tracks()
			want := 2 * len(f.Wires)
			if carrier == links.Trains {
				want = 1
			}
			if len(tracks) != want {
				t.Fatalf("%d tracks for %d wires, want %d", len(tracks), len(f.Wires), want)
			}
			for round := range 2 {
				for wire := range f.Wires {
					for end := range 2 {
						if err := tracks[l.Track(wire, end)].Out.Put(fmt.Appendf(nil, "%d: wire %d, end %d", round, wire, end)); err != nil {
							t.Fatal(err)
						}
					}
				}
				for _, track := range tracks {
					if left, err := track.Out.Flush(); left != 0 || err != nil {
						t.Fatal(left, err)
					}
				}
			}
			for round := range 2 {
				for wire := range f.Wires {
					for end := range 2 {
						want := fmt.Appendf(nil, "%d: wire %d, end %d", round, wire, end)
						if got := next(t, tracks[l.Track(wire, end)].In); !bytes.Equal(got, want) {
							t.Fatalf("%q came, want %q", got, want)
						}
					}
				}
			}
			if train, ok := tracks[0].Out.(*link.Train); ok && train.Segments() && train.Counts().Trains != 2 {
				t.Errorf("%d datagrams left in %d trains, want 2", train.Counts().Datagrams, train.Counts().Trains)
			}
		})
	}
}

// quiet is an end that sends nothing.
type quiet struct{ link.Link }

func (quiet) Send([]byte) error { return nil }

func TestWrapIsAroundTheEndsOfTrains(t *testing.T) {
	wrapped := 0
	l, _ := open(t, links.Options{Carrier: links.Trains, Wrap: func(l link.Link) link.Link {
		wrapped++
		return quiet{l}
	}})
	track := l.Tracks()[0]
	if err := track.Out.Put([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if left, err := track.Out.Flush(); left != 0 || err != nil {
		t.Fatal(left, err)
	}
	if b, err := track.In.Next(); wrapped != 2 || b != nil || err != nil {
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
	l, err := links.Open(t.Context(), f, links.Options{Carrier: links.Trains})
	var m *mistake.Error
	if l != nil || !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &m) {
		t.Errorf("links.Open = %v, %v, want nil and a mistake of the user: %v", l, err, syscall.EADDRINUSE)
	}
}
