package fabric

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Sizes are the sizes of a data frame.
type Sizes struct {
	Blocks   int       // of credit
	Length   unit.Size // on the line
	Datagram unit.Size // with its trailer in a datagram
}

// Framing returns the framing of the lines.
func (f *Fabric) Framing() wire.Framing { return f.Scenario.Model.Framing }

// Frame returns a data frame of a flow, for its length.
func (f *Fabric) Frame(w *Flow) wire.Frame { return f.Scenario.Frame(w.Flow, w.Family) }

// Largest returns the sizes of the largest data frame of any flow.
func (f *Fabric) Largest() (s Sizes) {
	framing := f.Framing()
	frames := make([]wire.Frame, 0, len(f.Flows)+len(f.Scenario.Workloads))
	for i := range f.Flows {
		frames = append(frames, f.Frame(&f.Flows[i]))
	}
	for _, p := range f.Workloads() {
		frames = append(frames, f.Frame(&p.Flow))
	}
	for _, frame := range frames {
		s.Blocks = max(s.Blocks, wire.BlocksOf(frame.WireSize()))
		s.Length = max(s.Length, framing.Length(&frame))
		s.Datagram = max(s.Datagram, frame.WireSize()+wire.TrailerSize)
	}
	return s
}

// Room returns a buffer in blocks of credit, where s are the sizes of the largest frame.
func (s Sizes) Room(r unit.Room) int {
	if r.Packets > 0 {
		return r.Packets * s.Blocks
	}
	return int(r.Bytes / wire.BlockSize)
}

// Longest returns for each wire the duration of the longest data frame on it.
func (f *Fabric) Longest() []unit.Duration {
	length := f.Largest().Length
	longest := make([]unit.Duration, len(f.Wires))
	for i := range f.Wires {
		longest[i] = f.Wires[i].Link.Rate.Serialise(length)
	}
	return longest
}
