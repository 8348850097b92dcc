package netstack

import (
	"container/heap"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"fabemu/emu/run/guest"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// transfer has one stack send to another over a line of 10 Mb/s and 5 ms that keeps so many
// packets, and returns a digest of all packets with their times.
func transfer(t *testing.T, control string, size int64, room int) (guest.Sent, [32]byte) {
	t.Helper()
	var hosts [2]guest.Stack
	for i := range hosts {
		s, err := New(guest.StackConfig{Address: netip.MustParsePrefix(fmt.Sprintf("10.0.0.%d/24", i+1)), MTU: 1500, Queue: 1000, TCP: control, Seed: uint64(7 + i)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		hosts[i] = s
	}
	sending := hosts[0].Send(unit.Time(unit.Millisecond), netip.MustParseAddr("10.0.0.2"), size)
	var free [2]unit.Time
	var flying flights
	sum := sha256.New()
	buf := make([]byte, 2000)
	for now := unit.Time(0); now < unit.Time(10*unit.Second); {
		for i, s := range hosts {
			s.Advance(now)
			for {
				n, err := s.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
				took := unit.Rate(10e6).Serialise(unit.Size(n))
				if free[i] > now.Add(unit.Duration(room)*took) {
					continue // it is dropped
				}
				free[i] = max(free[i], now).Add(took)
				fmt.Fprintln(sum, now, i, buf[:n])
				heap.Push(&flying, flight{free[i].Add(5 * unit.Millisecond), 1 - i, append([]byte(nil), buf[:n]...)})
			}
		}
		next := min(hosts[0].Deadline(), hosts[1].Deadline())
		if len(flying) > 0 && flying[0].at <= next {
			f := heap.Pop(&flying).(flight)
			now = f.at
			hosts[f.to].Advance(now)
			if _, err := hosts[f.to].Write(f.packet); err != nil {
				t.Fatal(err)
			}
			continue
		}
		now = next
	}
	return sending.Sent(hosts[1]), [32]byte(sum.Sum(nil))
}

type flight struct {
	at     unit.Time
	to     int
	packet []byte
}

type flights []flight

func (h flights) Len() int           { return len(h) }
func (h flights) Less(i, j int) bool { return h[i].at < h[j].at }
func (h flights) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *flights) Push(x any)        { *h = append(*h, x.(flight)) }
func (h *flights) Pop() any {
	f := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return f
}

// TestTheSameEachTime: the same packets at the same times, with one processor and with two.
func TestTheSameEachTime(t *testing.T) {
	for _, control := range scenario.NetstackTCP() {
		t.Run(control, func(t *testing.T) {
			sent, want := transfer(t, control, 600_000, 20)
			if !sent.Whole || sent.Bytes != 600_000 || sent.Error != "" {
				t.Fatalf("got %+v", sent)
			}
			if sent.Retransmits == 0 {
				t.Errorf("got no segment retransmitted, on a link that drops: %+v", sent)
			}
			for _, n := range []int{1, 2} {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
				if again, got := transfer(t, control, 600_000, 20); got != want || again != sent {
					t.Fatalf("with %d processors it was %+v, and before %+v", n, again, sent)
				}
			}
			t.Logf("%+v", sent)
		})
	}
}
