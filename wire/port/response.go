package port

import (
	"fmt"
	"strconv"
	"strings"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Response is how long a sender takes to obey a PAUSE frame: between the arrival of the frame and
// its effect the sender may begin further frames. Both stops and their ends take that long.
//
// IEEE 802.3, 31B.3.7, has the longest response that a standard port may have, in quanta: 67 at
// 10 Gb/s, 80 at 25, 118 at 40, 147 at 50, 394 at 100, 453 at 200, and 905 at 400 and 800.
type Response struct {
	Time   unit.Duration
	Quanta uint16 // in units of 512 bit times, in addition to Time
}

// MaxResponse is the longest response that is not in quanta.
const MaxResponse = unit.Second

// At returns the length of a response at a rate.
func (r Response) At(rate unit.Rate) unit.Duration {
	return unit.Duration(unit.Time(r.Time).Add(rate.Serialise(unit.Size(r.Quanta) * (wire.Quantum / 8))))
}

// String prints a response so that it reads back: "67 quanta", "2us".
func (r Response) String() string {
	switch r.Quanta {
	case 0:
		return r.Time.String()
	case 1:
		return "1 quantum"
	}
	return fmt.Sprintf("%d quanta", r.Quanta)
}

// Form describes the texts of a response (param.Formed).
func (Response) Form() param.Form {
	return param.Form{
		Wanted:  "quanta such as 67 quanta, or a duration such as 2us",
		Pattern: param.Spaced(`[0-9]+\s*quant(a|um)|` + param.DurationPattern),
		Units:   append([]string{"quanta", "quantum"}, unit.DurationUnits()...),
		Read:    func(s string) (any, error) { return ParseResponse(s) },
	}
}

// ParseResponse reads "67 quanta", "1 quantum", "2us".
func ParseResponse(s string) (Response, error) {
	number, word := unit.Split(s)
	switch word {
	case "quanta", "quantum":
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return Response{}, fmt.Errorf("%q is not a response: quanta are counted from 0 to %d", s, MaxQuanta)
		}
		return Response{Quanta: uint16(n)}, nil
	case "":
		return Response{}, fmt.Errorf("%q has no unit: write \"%s quanta\" or a duration such as 2us", s, strings.TrimSpace(s))
	}
	d, err := unit.ParseDuration(s)
	switch {
	case err != nil:
		return Response{}, err
	case d > MaxResponse:
		return Response{}, fmt.Errorf("%q is too long: it must be at most %v", s, MaxResponse)
	}
	return Response{Time: d}, nil
}

// responding holds what a sender has received of PAUSE, and does not obey yet.
type responding struct {
	Response
	waiting []order // in the order in which they take effect
}

// order is what a PAUSE frame asks for. Of a PAUSE without priorities the only class is 0.
type order struct {
	at      unit.Time // when it takes effect
	head    unit.Time // when its frame left the peer
	classes uint8
	stopped uint8 // of the classes, those that stop for the quanta
	quanta  uint16
}

// response returns how long the peer takes to obey PAUSE.
func (s *Pausing) response() unit.Duration {
	if s.late == nil {
		return 0
	}
	return s.late.At(s.port.transmitter.Rate())
}

// received takes in the order of a PAUSE frame that arrives.
func (s *Pausing) received(now unit.Time, o order) {
	o.at = now
	if s.late == nil {
		s.obey(&o)
		return
	}
	s.catchUp(now)
	o.at = now.Add(s.response())
	if n := len(s.late.waiting); n > 0 {
		o.at = max(o.at, s.late.waiting[n-1].at) // the rate has become higher
	}
	s.late.waiting = append(s.late.waiting, o)
}

// catchUp obeys the orders that have taken effect by now. Nothing has to wake the port for that: a
// port that may send asks again for each frame, and one that is stopped asks when the stop ends,
// which is no later than the next order (stop).
func (s *Pausing) catchUp(now unit.Time) {
	if s.late == nil {
		return
	}
	n := 0
	for ; n < len(s.late.waiting) && s.late.waiting[n].at <= now; n++ {
		s.obey(&s.late.waiting[n])
	}
	if n > 0 {
		s.late.waiting = s.late.waiting[:copy(s.late.waiting, s.late.waiting[n:])]
	}
}

// forget drops the orders that have not taken effect.
func (s *Pausing) forget() {
	if s.late != nil {
		s.late.waiting = s.late.waiting[:0]
	}
}

// stop returns until when a class is stopped, or may be: an order that waits is due before.
func (s *Pausing) stop(now unit.Time, class uint8) unit.Time {
	s.catchUp(now)
	until := s.until[class]
	if s.late == nil || until <= now {
		return until
	}
	for i := range s.late.waiting {
		if s.late.waiting[i].classes>>class&1 == 1 {
			return min(until, s.late.waiting[i].at)
		}
	}
	return until
}

// obey carries out an order.
func (s *Pausing) obey(o *order) {
	for class := range s.until {
		bit := uint8(1) << class
		if o.classes&bit == 0 {
			continue
		}
		last := unit.Duration(0)
		if o.stopped&bit != 0 {
			last = s.stopTime(o)
		}
		if s.ignored&bit != 0 {
			if last > 0 || s.meant[class] > o.at {
				s.meant[class] = o.at.Add(last)
			}
			continue
		}
		s.paused(o.at, class, last)
	}
}
