package runtest

import (
	"testing"
	"time"

	"fabemu/wire/link"
)

func TestStampIsTheTimeOfArrival(t *testing.T) {
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	stamp := int64(0)
	end := Stamped(b, func(_ []byte, at int64) { stamp = at })
	arrival := link.NewPoller([]link.File{b})
	for range 10 {
		stamp = 0
		before := time.Now().UnixNano()
		if err := a.Send([]byte{1}); err != nil {
			t.Fatal(err)
		}
		for came := false; !came; { // a busy kernel need not have delivered when Send returns
			if err := arrival.Wait(int64(time.Second), func(int) { came = true }); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Millisecond) // delivered long before it is read
		late := time.Now().UnixNano()
		if n, err := end.Recv(make([]byte, 9)); n != 1 || err != nil {
			t.Fatalf("Recv = %d, %v", n, err)
		}
		if stamp < before || stamp > late {
			t.Errorf("the stamp is %d ns after the send and %d ns before the read", stamp-before, late-stamp)
		}
	}
}
