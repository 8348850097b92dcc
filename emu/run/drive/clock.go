package drive

import "fabemu/wire/unit"

// Dilate returns the wall time of a model time, in nanoseconds, rounded down. D * t fits into 64 bits for any run
// that ends within 290 years of wall time.
func Dilate(t unit.Time, dilation int64) int64 {
	return int64(t)/1000*dilation + int64(t)%1000*dilation/1000
}

// Measured shows how far the wall clock has advanced the model time of a run: the wall time since the epoch over the
// dilation. It is 0 before the run begins. It belongs to the loop of the run.
type Measured struct {
	clock    func() int64
	epoch    int64
	dilation int64
}

// Now reads the wall clock.
func (m *Measured) Now() unit.Time {
	if m.clock == nil {
		return 0
	}
	return max(0, m.at(m.clock()))
}

// at returns the model time of a reading of the clock.
func (m *Measured) at(now int64) unit.Time {
	wall := now - m.epoch
	return unit.Time(wall/m.dilation*1000 + wall%m.dilation*1000/m.dilation)
}
