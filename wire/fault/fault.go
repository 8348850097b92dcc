package fault

import (
	"cmp"
	"math"
	"math/bits"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Fate is the fate of a frame on a link.
type Fate uint8

// The fates.
const (
	Carried   Fate = iota // it arrives whole
	Lost                  // it does not arrive
	Corrupted             // it arrives with bits that its check sequence does not fit

	// Of a frame that its node starts, before it is on the link (Lapse).
	Repeated  // it leaves, and once more
	Overtaken // it is kept back: frames behind it may go first
)

// Config describes one fault of one direction of a link. It concerns the frames of its kind whose
// first bit leaves the sender in [From, Until). Of these it selects some: those by number (Nth,
// Every), or those in bad periods (Burst), or all; and of the selected ones it hits a share.
type Config struct {
	From, Until unit.Time
	Frames      wire.Kind // 0: of any kind
	Fate        Fate      // of the frames that it hits; Carried: they are late by Delay and up to Jitter, and so is what leaves later if they are Repeated or Overtaken
	Share       float64   // of the selected frames, above 0 to 1
	Delay       unit.Duration
	Jitter      unit.Duration
	Nth         int           // the first frame that it selects, from 1; 0 without Every: all
	Every       int           // so many frames lie between one that it selects and the next; 0: it selects one
	Burst       float64       // mean length of a bad period in frames; 0: there are no bad periods
	Within      float64       // with Burst: the share of frames that it hits in a bad period; Share is the mean
	Rise        unit.Duration // Share grows from 0 in this time
	Seed        uint64
	Stream      uint64 // of the seed
}

// MostInBursts returns the highest Share of a fault with bursts: then there is one good frame
// between two bad periods.
func MostInBursts(burst, within float64) float64 { return within * burst / (burst + 1) }

// Direction holds the faults of one direction of a link. The zero value has none.
type Direction struct {
	faults []fault
	tail   unit.Time // when the tail of the last frame passes: frames do not overtake one another
}

// fault is a Config at work.
type fault struct {
	Config
	random *unit.Random
	seen   int // frames that it concerns
	bad    bool
	share  chance // of a hit; with Burst in a bad period
	begin  chance // of a bad period, at each frame
	end    chance
}

// Add adds a fault.
func (d *Direction) Add(c Config) {
	f := fault{Config: c, random: unit.NewRandom(c.Seed, c.Stream), share: chanceOf(c.Share)}
	if c.Burst > 0 {
		part := c.Share / c.Within // the share of bad frames in the two-state chain of Gilbert and Elliott
		end := 1 / c.Burst
		f.share, f.begin, f.end = chanceOf(c.Within), chanceOf(end*part/(1-part)), chanceOf(end)
		f.bad = chanceOf(part).draw(f.random)
	}
	d.faults = append(d.faults, f)
}

// None reports whether there is no fault: Pass would only return Carried.
func (d *Direction) None() bool { return len(d.faults) == 0 }

// Pass returns the fate of the next frame, whose first bit leaves the sender at head and its last
// one at tail, and by how much it is late. Each fault sees all frames that it concerns, also those
// that another fault hits.
func (d *Direction) Pass(kind wire.Kind, head, tail unit.Time) (fate Fate, late unit.Duration) {
	for i := range d.faults {
		f := &d.faults[i]
		if !f.hits(kind, head) {
			continue
		}
		if f.Fate == Carried {
			late += f.Delay + f.random.Span(f.Jitter)
		} else if fate != Lost {
			fate = f.Fate
		}
	}
	if fate == Lost || d.None() {
		return fate, 0
	}
	late = max(late, d.tail.Sub(head))
	d.tail = tail.Add(late)
	return fate, late
}

// Lapse returns what becomes of the next frame that a node starts, at head, by faults of its port:
// Carried, Repeated or Overtaken; and by how much it, or its copy, leaves later.
func (d *Direction) Lapse(kind wire.Kind, head unit.Time) (fate Fate, later unit.Duration) {
	for i := range d.faults {
		if f := &d.faults[i]; f.hits(kind, head) && fate != Overtaken {
			fate, later = f.Fate, f.Delay+f.random.Span(f.Jitter)
		}
	}
	return fate, later
}

// hits reports whether the fault hits the next frame, if it concerns that.
func (f *fault) hits(kind wire.Kind, head unit.Time) bool {
	if f.Frames != 0 && f.Frames != kind || head < f.From || head >= f.Until {
		return false
	}
	f.seen++
	first := cmp.Or(f.Nth, f.Every)
	switch {
	case f.Every > 0 && (f.seen < first || (f.seen-first)%f.Every != 0), f.Every == 0 && first > 0 && f.seen != first:
		return false
	}
	if f.Burst > 0 {
		turn := f.begin
		if f.bad {
			turn = f.end
		}
		if f.bad = f.bad != turn.draw(f.random); !f.bad {
			return false
		}
	}
	share := f.share
	if risen := head.Sub(f.From); risen < f.Rise {
		share = share.times(uint64(risen), uint64(f.Rise))
	}
	return share.draw(f.random)
}

// chance is a probability: of 64 random bits as a number, those below it are hits. The highest is
// always.
type chance uint64

// always is the chance of 1.
const always chance = math.MaxUint64

// chanceOf returns the chance of a probability in [0, 1].
func chanceOf(p float64) chance {
	if p >= 1 {
		return always
	}
	return chance(math.Ldexp(p, 64))
}

// times returns the part n/of a chance; n is less than of.
func (c chance) times(n, of uint64) chance {
	hi, lo := bits.Mul64(uint64(c), n)
	q, _ := bits.Div64(hi, lo, of)
	return chance(q)
}

// draw reports whether the next number is a hit. A certain hit takes no number.
func (c chance) draw(r *unit.Random) bool { return c == always || uint64(c) > r.Uint64() }
