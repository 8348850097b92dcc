package process

import (
	"strings"
	"testing"
	"time"
)

// A part cannot hold the clock for longer than the run has lasted, nor by an invalid message.
func TestHoldsThatCannotBe(t *testing.T) {
	r := &conductor{passing: make(chan struct{}, 1), epoch: 1000, clock: func() int64 { return 1000 + int64(2*time.Second) }}
	for _, x := range []struct {
		b    []byte
		want string
	}{
		{holdBytes(int64(time.Second)), ""},
		{holdBytes(int64(time.Second) / 2), ""}, // another part has held it for longer
		{holdBytes(0), "eight bytes"},
		{holdBytes(-1), "eight bytes"},
		{[]byte{1, 2}, "eight bytes"},
		{holdBytes(int64(time.Hour)), "the clock is held for 1h0m0s, in a run of 2s"},
	} {
		if err := r.hold(nil, x.b); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%x: %v, want %q", x.b, err, x.want)
		}
	}
}
