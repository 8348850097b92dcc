package traffic

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/unit"
)

// Sizes is a distribution of the sizes of transfers: linear between its points. The zero value is
// empty.
type Sizes struct {
	name   string // of one that is built in
	points []sizePoint
	mean   span // in bytes
}

// sizePoint is one point of a distribution: a share of the transfers, times 2^64, has at most this
// many bytes. The share of the last point is all of them, which 64 bits cannot hold: it counts as
// 2^64.
type sizePoint struct {
	size  unit.Size
	share uint64
}

// distributions are those that papers use, as points of bytes and per cent.
var distributions = []struct{ name, points string }{
	// M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, figure 4.
	{"web-search", "0B:0 10KB:15 20KB:20 30KB:30 50KB:40 80KB:53 200KB:60 1MB:70 2MB:80 5MB:90 10MB:97 30MB:100"},
	// A. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, figure 6.
	{"hadoop", "0B:0 100B:1 200B:2 300B:5 350B:15 400B:20 500B:30 600B:40 700B:50 1KB:60 2KB:67 7KB:70 30KB:72 " +
		"50KB:82 80KB:87 120KB:90 300KB:95 1MB:97.5 2MB:99 10MB:100"},
	// Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.
	{"storage", "0B:0 4KB:22.93 8KB:69.21 16KB:80.61 32KB:90.47 64KB:93.53 128KB:96.77 256KB:97.53 2MB:100"},
}

// Distributions returns the names of the distributions that are built in.
func Distributions() (names []string) {
	for _, d := range distributions {
		names = append(names, d.name)
	}
	return names
}

// One returns the distribution in which all transfers have one size.
func One(size unit.Size) Sizes {
	return Sizes{points: []sizePoint{{size: size}}, mean: span{whole: uint64(size)}}
}

// ParseSizes reads a distribution: the name of one that is built in; a size such as 1MB; or points
// such as "0B:0 10KB:15 1MB:100", each with a size and the per cent of all transfers that are no
// larger. Two points of one size are a step: so many transfers have just this size.
func ParseSizes(text string) (Sizes, error) {
	for _, d := range distributions {
		if d.name == text {
			s, err := parsePoints(d.points)
			s.name = d.name
			return s, err
		}
	}
	if strings.Contains(text, ":") {
		return parsePoints(text)
	}
	size, err := unit.ParseSize(text)
	switch {
	case err != nil:
		return Sizes{}, err
	case size < 1 || size > MostBytes:
		return Sizes{}, fmt.Errorf("a flow of %s: it has 1 to %d bytes", text, int64(MostBytes))
	}
	return One(size), nil
}

// PointError is a mistake in one point of a distribution.
type PointError struct {
	Point int // from 0
	Err   error
}

func (e *PointError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e *PointError) Unwrap() error { return e.Err }

// mostPoint is the longest text of a point.
const mostPoint = 100

func parsePoints(text string) (s Sizes, err error) {
	last := 0.0
	for word := range strings.FieldsSeq(text) {
		n := len(s.points)
		size, share, err := parsePoint(word)
		if err == nil && n > 0 && (size < s.points[n-1].size || share < last) {
			err = fmt.Errorf("the point %s is below the one before it, %v:%v: neither sizes nor per cents fall from point to point", word, s.points[n-1].size, last)
		}
		if err != nil {
			return Sizes{}, &PointError{n, err}
		}
		last = share
		s.points = append(s.points, sizePoint{size, fraction(share)})
	}
	switch n := len(s.points); {
	case n == 0:
		return Sizes{}, fmt.Errorf("a distribution has points such as 0B:0 10KB:15 1MB:100")
	case last == 1:
		return Sizes{}, fmt.Errorf("the last point has 1 per cent of the flows: it must have all of them, 100; multiply shares by 100")
	case last != 100:
		return Sizes{}, fmt.Errorf("the last point has %v per cent of the flows: it must have all of them, 100", last)
	case s.points[n-1].size == 0:
		return Sizes{}, fmt.Errorf("all flows have 0 bytes: there is no mean")
	}
	s.mean = s.average()
	return s, nil
}

func parsePoint(word string) (size unit.Size, share float64, err error) {
	bytes, percent, ok := strings.Cut(word, ":")
	switch {
	case len(word) > mostPoint:
		return 0, 0, fmt.Errorf("%.20q... is not a point: it has %d characters", word, len(word))
	case !ok:
		return 0, 0, fmt.Errorf("%q is not a point: a point is a size and a per cent, such as 10KB:15", word)
	}
	if size, err = unit.ParseSize(bytes); err != nil {
		return 0, 0, err
	}
	share, err = strconv.ParseFloat(percent, 64)
	switch {
	case err != nil || !(share >= 0 && share <= 100):
		return 0, 0, fmt.Errorf("the point %s has %q per cent, of 0 to 100", word, percent)
	case size > MostBytes:
		return 0, 0, fmt.Errorf("the point %s has a size beyond %d bytes", word, int64(MostBytes))
	}
	return size, share, nil
}

// fraction returns a share in per cent times 2^64, 0 for all.
func fraction(percent float64) uint64 {
	f, _ := bits.Div64(uint64(percent*1e12), 0, 100e12+1)
	return f
}

// average returns the mean in bytes: each part between two points has the mean of the two.
func (s *Sizes) average() (mean span) {
	for i, p := range s.points {
		low, below := p.size, uint64(0)
		if i > 0 {
			low, below = s.points[i-1].size, s.points[i-1].share
		}
		share := span{frac: p.share - below}
		if i == len(s.points)-1 {
			share = span{frac: -below}
			if below == 0 {
				share = span{whole: 1}
			}
		}
		mean.add(span{uint64(low+p.size) / 2, uint64(low+p.size) % 2 << 63}.times(share))
	}
	return mean
}

// Mean returns the mean in bytes.
func (s *Sizes) Mean() float64 { return float64(s.mean.whole) + float64(s.mean.frac)/(1<<64) }

func (s *Sizes) Largest() unit.Size { return s.points[len(s.points)-1].size }

// Single returns the size that all transfers have; false: sizes differ.
func (s *Sizes) Single() (unit.Size, bool) {
	if len(s.points) != 1 {
		return 0, false
	}
	return s.points[0].size, true
}

// draw returns a size of 1 byte or more for a random number.
func (s *Sizes) draw(random *unit.Random) unit.Size {
	last := len(s.points) - 1
	if last == 0 {
		return s.points[0].size
	}
	u := random.Uint64()
	i, _ := slices.BinarySearchFunc(s.points[:last], u, func(p sizePoint, u uint64) int {
		if p.share <= u {
			return -1
		}
		return 1
	})
	if i == 0 {
		return max(s.points[0].size, 1)
	}
	low, high := s.points[i-1], s.points[i]
	within, _ := bits.Div64(u-low.share, 0, max(high.share-low.share, u-low.share+1)) // below 1
	more, _ := bits.Mul64(within, uint64(high.size-low.size))
	return max(low.size+unit.Size(more), 1)
}

// String returns a text from which ParseSizes reads the distribution.
func (s Sizes) String() string {
	switch {
	case s.name != "":
		return s.name
	case len(s.points) == 1:
		return s.points[0].size.String()
	}
	var words []string
	for i, p := range s.points {
		percent := float64(p.share) / (1 << 64) * 100
		if i == len(s.points)-1 {
			percent = 100
		}
		words = append(words, fmt.Sprintf("%v:%.12g", p.size, percent))
	}
	return strings.Join(words, " ")
}
