package link_test

import (
	"errors"
	"testing"

	"fabemu/wire/link"
)

func TestFullPipeSaysSo(t *testing.T) {
	t.Attr("depends-on", "privileges")
	a, b := link.Pipe(3)
	for i := range 3 {
		send(t, a, []byte{byte(i)})
	}
	if err := a.Send([]byte{3}); !errors.Is(err, link.ErrFull) {
		t.Errorf("the fourth of three: %v, want %v", err, link.ErrFull)
	}
	send(t, b, []byte{9}) // the other direction has room of its own
	buf := make([]byte, 1)
	if got := recv(t, b, buf); got[0] != 0 {
		t.Errorf("first came %d", got[0])
	}
	send(t, a, []byte{4})
	for _, want := range []byte{1, 2, 4} {
		if got := recv(t, b, buf); got[0] != want {
			t.Errorf("came %d, want %d", got[0], want)
		}
	}
	silent(t, b)
}

func TestPipeWithoutRoomPanics(t *testing.T) {
	for _, n := range []int{0, -1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Pipe(%d) did not panic", n)
				}
			}()
			link.Pipe(n)
		}()
	}
}
