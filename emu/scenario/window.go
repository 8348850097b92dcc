package scenario

import "fabemu/wire/unit"

// The default measuring window is a part of the run. The rows of a small fabric are as fine as
// possible, and the rows of a large one take bounded memory.
const (
	windowsOfRun   = 100
	longestUsual   = 2 * unit.Millisecond
	packetsOfUsual = 4
	headers        = 100     // of a packet, about
	figuresOfRun   = 4 << 20 // two rows for each window
	figuresOfLink  = 36      // in a row
	figuresOfFlow  = 30
)

// UsualWindow returns the default measuring window.
func (s *Scenario) UsualWindow() unit.Duration {
	end := s.Model.Duration
	windows := unit.Duration(figuresOfRun / 2 / max(1, figuresOfLink*len(s.Links)+figuresOfFlow*len(s.Flows)))
	window := roundUp(end / windowsOfRun)
	if window = min(window, longestUsual); windows < end/max(1, window) {
		window = roundUp(end / max(1, windows))
	}
	longest, slowest := unit.Size(0), unit.Rate(0)
	for i := range s.Flows {
		longest = max(longest, s.Flows[i].Packet+headers)
	}
	for i := range s.Workloads {
		longest = max(longest, s.Workloads[i].Packet+headers)
	}
	for i := range s.Links {
		if rate := s.Links[i].Rate; rate > 0 && (slowest == 0 || rate < slowest) {
			slowest = rate
		}
	}
	if slowest > 0 {
		window = max(window, roundUp(packetsOfUsual*slowest.Serialise(longest)))
	}
	return min(window, end)
}

// roundUp returns the next duration of 1, 2 or 5 of a power of ten, at least 20 ps.
func roundUp(d unit.Duration) unit.Duration {
	for ten := unit.Duration(10); ; ten *= 10 {
		for _, n := range []unit.Duration{2, 5, 10} {
			if n*ten >= d {
				return n * ten
			}
		}
	}
}
