package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"fabemu/wire/link"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Speed is the speed of this computer at the work of a run. Times are in nanoseconds
// of wall time.
type Speed struct {
	Floor     Floor      `json:"floor"`
	Sleep     Sleep      `json:"sleep"`
	Datagrams []Datagram `json:"datagrams"` // one for each size, the largest first

	// Inline is the share of datagrams that could be read right after they had been
	// sent. A run waits for the others.
	Inline float64 `json:"inline"`
	// LostDatagrams counts the datagrams that did not come at all.
	LostDatagrams int64 `json:"lost_datagrams"`
}

// Floor is the lateness of this computer, as a loop measures it that does nothing but
// read the clock.
type Floor struct {
	// Late is a table of the share of time in which an instant would have been served
	// later than so many ns, by rising ns: the median over Windows windows of equal
	// length, so that a single stall does not decide it.
	Late []Late `json:"late"`

	Windows   int   `json:"windows"`
	WatchedNs int64 `json:"watched_ns"` // length of all windows together
	ReadNs    int64 `json:"read_ns"`    // a reading of the clock, the median
	GapP99Ns  int64 `json:"gap_p99_ns"` // gaps between two readings, in all windows
	GapP999Ns int64 `json:"gap_p99_9_ns"`
	GapMaxNs  int64 `json:"gap_max_ns"`
	Stalls    int   `json:"stalls"` // gaps of more than 5 ms
	StalledNs int64 `json:"stalled_ns"`
}

// Late is a line of the table of a Floor.
type Late struct {
	ThanNs int64   `json:"than_ns"`
	Share  float64 `json:"share"` // 0 to 1
}

// Share returns the share of time, 0 to 1, in which an instant would be served
// more than ns late. Between two lines of the table it interpolates, which gives
// rather too much, since the share falls ever more slowly; outside of the table it
// returns the nearest line.
func (f *Floor) Share(ns float64) float64 {
	for i, l := range f.Late {
		if ns > float64(l.ThanNs) {
			continue
		}
		if i == 0 {
			return l.Share
		}
		p := f.Late[i-1]
		return p.Share + (l.Share-p.Share)*(ns-float64(p.ThanNs))/float64(l.ThanNs-p.ThanNs)
	}
	if n := len(f.Late); n > 0 {
		return f.Late[n-1].Share
	}
	return 0
}

// Sleep is the lateness of time.Sleep: the price for a program that sleeps until an
// instant.
type Sleep struct {
	AskedNs int64 `json:"asked_ns"`
	P50Ns   int64 `json:"late_p50_ns"`
	P99Ns   int64 `json:"late_p99_ns"`
}

// Datagram is the cost of sending a datagram over the loopback interface and reading
// it again, on one processor.
type Datagram struct {
	Bytes     int     `json:"bytes"`
	Ns        float64 `json:"ns"` // the median over batches of 16, so that time away is left out
	PerSecond float64 `json:"per_second"`
}

// The sizes of the datagrams that are measured: a data packet of 2048 bytes and a
// flow control packet, each with its trailer.
const (
	LargeDatagram = 2138
	SmallDatagram = 70
)

// The parts of a round, and the number of rounds. The measurements take turns, so that
// a disturbance of the computer does not fall on one of them alone.
const (
	rounds         = 12
	floorWindow    = 50 * time.Millisecond
	datagramWindow = 12 * time.Millisecond
	sleepWindow    = 15 * time.Millisecond
	sleepAsked     = 200 * time.Microsecond
	stallLimit     = 5_000_000 // ns, as in the verdict of a run
	lostAfter      = 50 * time.Millisecond
)

// thresholds are the lines of Floor.Late, in ns.
var thresholds = []int64{
	100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000,
	100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
}

// Measure measures the speed of this computer, for about a second. progress, if
// not nil, receives the share of the work that is done. An error comes from the sockets
// or from ctx.
func Measure(ctx context.Context, progress func(done float64)) (Speed, error) {
	m := measurement{
		shares: make([][]float64, len(thresholds)),
		gaps:   hdrhistogram.New(1, 100_000_000_000, 3),
		sleeps: hdrhistogram.New(1, 100_000_000_000, 3),
		in:     make([]byte, 4096),
	}
	var err error
	m.a, m.b, err = link.UDPPair(link.UDPOptions{})
	if err != nil {
		return Speed{}, fmt.Errorf("measure a datagram: %w", err)
	}
	defer m.a.Close()
	defer m.b.Close()
	sizes := []int{LargeDatagram, SmallDatagram}
	costs := make([][]float64, len(sizes))

	runtime.GC() // not in the middle
	for round := range rounds {
		if err := ctx.Err(); err != nil {
			return Speed{}, err
		}
		if progress != nil {
			progress(float64(round) / rounds)
		}
		m.watch(floorWindow)
		for i, size := range sizes {
			costs[i], err = m.datagrams(make([]byte, size), datagramWindow, costs[i])
			if err != nil {
				return Speed{}, fmt.Errorf("measure a datagram of %d bytes: %w", size, err)
			}
		}
		m.sleep(sleepWindow)
	}
	s := Speed{Floor: m.floor(), LostDatagrams: m.lost}
	s.Sleep = Sleep{AskedNs: int64(sleepAsked), P50Ns: m.sleeps.ValueAtQuantile(50),
		P99Ns: m.sleeps.ValueAtQuantile(99)}
	for i, size := range sizes {
		ns := median(costs[i])
		s.Datagrams = append(s.Datagrams, Datagram{Bytes: size, Ns: math.Round(ns), PerSecond: math.Round(1e9 / ns)})
	}
	if m.sent > 0 {
		s.Inline = float64(m.inline) / float64(m.sent)
	}
	return s, nil
}

// measurement is a Measure that is under way.
type measurement struct {
	shares  [][]float64 // by threshold: the share of each window
	gaps    *hdrhistogram.Histogram
	watched int64
	stalls  int
	stalled int64
	sleeps  *hdrhistogram.Histogram

	a, b               *link.UDP
	in                 []byte
	sent, inline, lost int64
}

// watch reads the clock for so long and records the gaps.
func (m *measurement) watch(length time.Duration) {
	away := make([]int64, len(thresholds)) // by threshold: time that an instant would have waited for more than that
	base := time.Now()
	var now int64
	for now < int64(length) {
		next := int64(time.Since(base))
		gap := next - now
		now = next
		m.gaps.RecordValue(max(gap, 1))
		for i := 0; i < len(thresholds) && gap > thresholds[i]; i++ {
			away[i] += gap - thresholds[i]
		}
		if gap > stallLimit {
			m.stalls++
			m.stalled += gap
		}
	}
	m.watched += now
	for i := range away {
		m.shares[i] = append(m.shares[i], float64(away[i])/float64(now))
	}
}

func (m *measurement) floor() Floor {
	f := Floor{
		Windows: len(m.shares[0]), WatchedNs: m.watched, Stalls: m.stalls, StalledNs: m.stalled,
		ReadNs: m.gaps.ValueAtQuantile(50), GapP99Ns: m.gaps.ValueAtQuantile(99),
		GapP999Ns: m.gaps.ValueAtQuantile(99.9), GapMaxNs: m.gaps.Max(),
	}
	for i, than := range thresholds {
		f.Late = append(f.Late, Late{ThanNs: than, Share: median(m.shares[i])})
	}
	return f
}

// batch is how many datagrams are timed together.
const batch = 16

// datagrams sends and receives for so long, and appends the ns for each datagram,
// batch by batch.
func (m *measurement) datagrams(out []byte, length time.Duration, costs []float64) ([]float64, error) {
	base := time.Now()
	for began := time.Duration(0); began < length; {
		for range batch {
			if err := m.a.Send(out); err != nil {
				return nil, err
			}
			m.sent++
			switch got, err := m.b.Recv(m.in); {
			case err != nil:
				return nil, err
			case got > 0:
				m.inline++
			default:
				if err := m.await(); err != nil {
					return nil, err
				}
			}
		}
		ended := time.Since(base)
		costs = append(costs, float64(ended-began)/batch)
		began = ended
	}
	return costs, nil
}

// await waits for a datagram that was not there right after it had been sent.
func (m *measurement) await() error {
	for began := time.Now(); time.Since(began) < lostAfter; {
		switch n, err := m.b.Recv(m.in); {
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
	m.lost++
	if m.lost > 20 {
		return errors.New("the loopback interface does not deliver datagrams: is it up (ip link set lo up), does a filter drop them?")
	}
	return nil
}

// sleep sleeps again and again for so long.
func (m *measurement) sleep(length time.Duration) {
	for began := time.Now(); time.Since(began) < length; {
		before := time.Now()
		time.Sleep(sleepAsked)
		m.sleeps.RecordValue(max(1, int64(time.Since(before)-sleepAsked)))
	}
}

// median returns the middle of v, or the mean of the two in the middle.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
