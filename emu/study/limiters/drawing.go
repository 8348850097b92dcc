package limiters

import (
	"fabemu/emu/study/limiters/bench"
	"fabemu/wire/unit"
)

// bins is the number of parts into which a figure divides the time of a case.
const bins = 250

// drawing collects the starts of a case for its figures.
type drawing struct {
	c         *bench.Case
	bytes     [bins]float64 // bytes that started
	level     [bins]float64 // highest level of a bucket that each start fills, and that empties at the set rate
	fill      float64       // level of that bucket
	last      unit.Time
	step      int          // index of the case's next rate
	recorded  []bench.Step // rates that were set in the recorded run; nil: this is no replay
	reactions []delay      // to the rates after which a packet started
}

// delay is the time from the setting of a rate to the first start.
type delay struct {
	at    unit.Time
	took  unit.Duration
	ideal unit.Duration // time of a packet at the rate
}

func draw(c *bench.Case) *drawing { return &drawing{c: c} }

// add adds a start. Where time goes back, the case begins again.
func (t *drawing) add(s bench.Start) {
	if s.At < t.last {
		*t = drawing{c: t.c, recorded: t.recorded}
	}
	i := min(int(float64(s.At)/float64(t.c.Duration)*bins), bins-1) // the part that holds the start
	t.bytes[i] += float64(s.Size)
	now := bench.Case{Rates: t.c.Rates[max(0, t.step-1):]}
	t.fill = max(0, t.fill-now.Through(t.last, s.At)) + float64(s.Size)
	t.level[i] = max(t.level[i], t.fill)
	for ; t.step < len(t.c.Rates) && t.c.Rates[t.step].At <= s.At; t.step++ {
		r := t.c.Rates[t.step]
		if next := t.step + 1; r.Rate == 0 || r.At == 0 || next < len(t.c.Rates) && t.c.Rates[next].At <= s.At {
			continue // no packet started before the next rate
		}
		t.reactions = append(t.reactions, delay{r.At, s.At.Sub(r.At), r.Rate.Serialise(s.Size)})
	}
	t.last = s.At
}

// rates returns the rate of the starts and the set rate, in bits per second, for the middle of each
// part of the time.
func (t *drawing) rates() (at, started, set []float64) {
	part := float64(t.c.Duration) / bins
	for i := range bins {
		at = append(at, (float64(i)+0.5)*part)
		started = append(started, 8*t.bytes[i]/(part/float64(unit.Second)))
	}
	return at, started, t.ratesOf(t.c.Rates)
}

// ratesOf returns the mean of set rates in each part of the time, in bits per second.
func (t *drawing) ratesOf(rates []bench.Step) (set []float64) {
	part := float64(t.c.Duration) / bins
	whole := bench.Case{Rates: rates}
	for i := range bins {
		from, to := unit.Time(float64(i)*part), unit.Time(float64(i+1)*part)
		set = append(set, 8*whole.Through(from, to)/to.Sub(from).Seconds()*float64(max(t.c.Limiters, 1)))
	}
	return set
}
