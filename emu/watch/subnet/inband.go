package subnet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// This file has management in-band: MADs as packets on VL15, which the nodes of a model carry
// (assemble.Management).

const (
	// longestUp is the model time within which a manager must bring the subnet up.
	longestUp = unit.Time(10 * unit.Second)
	// react is how long model time stands still for a client to react to a MAD, in wall time.
	react = time.Millisecond
	// mostAsked is how many requests of clients are remembered at once, and mostRecorded how many
	// packets and decisions are kept for a repetition of the run.
	mostAsked, mostRecorded = 4096, 1 << 20
)

// launched is a packet that a node is to send.
type launched struct {
	node  int
	out   port.ID
	frame wire.Frame
	mad   mad
}

// launch sends a packet from a place over the links.
func (s *Subnet) launch(at place, p *Packet) bool {
	out := s.next(at, be.Uint16(p[atDLID:]), p.mad(), true)
	if out <= here {
		return out == here && s.arrive(at, p)
	}
	s.number++
	s.launched = append(s.launched, launched{at.node, port.ID(out - 1), wire.Frame{
		Kind: wire.Management, Lane: port.ManagementLane, Src: wire.LID(be.Uint16(p[atSLID:])), Dst: wire.LID(be.Uint16(p[atDLID:])),
		QP: min(be.Uint32(p[atDQP:]), 1), MSN: be.Uint32(p[atSQP:]) & 0xFFFFFF, PSN: s.number & 0xFFFFFF,
	}, *p.mad()})
	return true
}

// manage decides about a packet that has come to a place.
func (s *Subnet) manage(at place, f *wire.Frame, m *mad) port.ID {
	switch out := s.next(at, uint16(f.Dst), m, false); out {
	case nowhere:
		return port.AnyPort
	case here:
	default:
		return port.ID(out - 1)
	}
	var p Packet
	be.PutUint16(p[atDLID:], uint16(f.Dst))
	be.PutUint16(p[atSLID:], uint16(f.Src))
	be.PutUint32(p[atDQP:], f.QP)
	be.PutUint32(p[atSQP:], f.MSN)
	be.PutUint64(p[atLength:], uint64(len(m)))
	*p.mad() = *m
	before := len(s.launched)
	s.arrive(at, &p)
	for i := before; i < len(s.launched); i++ {
		if l := s.launched[i]; l.node == at.node { // the answer
			s.launched = slices.Delete(s.launched, i, i+1)
			l.frame.Extension = f.Extension
			*f, *m = l.frame, l.mad
			return l.out
		}
	}
	return port.Taken
}

// lost returns to their clients the requests that are no longer on the way.
func (s *Subnet) lost() {
	for id, r := range s.asked {
		if r.to < 0 {
			s.refuse(id)
		}
	}
}

// InBand is the management of a server whose packets cross the links of a model
// (assemble.Management).
type InBand struct {
	*Server
	bodies  *wire.Bodies
	sent    []drive.Change
	decided []decision
	told    bool // a client has got a MAD since model time last stood still for it
	repeats bool // it is a repetition
}

// decision is a result of manage.
type decision struct {
	out   port.ID
	frame wire.Frame
}

// InBand returns the management of a run.
func (v *Server) InBand() *InBand { return &InBand{Server: v} }

// Repeat returns management that sends and decides as this has, or nil if that was too much to
// record.
func (b *InBand) Repeat() assemble.Management {
	if max(len(b.decided), len(b.sent)) > mostRecorded {
		return nil
	}
	return &InBand{Server: b.Server, sent: b.sent, decided: b.decided, repeats: true}
}

// Begin is given the bodies of a model's frames. In a repetition it returns the packets to send,
// with empty MADs, because what was decided about them is recorded.
func (b *InBand) Begin(bodies *wire.Bodies) []drive.Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.repeats {
		b.bodies, b.subnet.inBand = bodies, true
	}
	all := slices.Clone(b.sent)
	for i := range all {
		f := *all[i].Makes.(port.SendMAD).Frame
		bodies.PutMAD(&f, new([wire.MADSize]byte))
		all[i].Makes = port.SendMAD{Frame: &f}
	}
	return all
}

// Manage returns what decides about the packets that come to a node.
func (b *InBand) Manage(node int) port.Manage {
	return func(_ unit.Time, in port.ID, f *wire.Frame, m *[wire.MADSize]byte) port.ID {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.repeats && len(b.decided) > 0 {
			d, part := b.decided[0], f.Extension
			b.decided, *f = b.decided[1:], d.frame
			f.Extension = part
			return d.out
		} else if b.repeats {
			return port.AnyPort
		}
		out := b.subnet.manage(place{node, int(in) + 1}, f, (*mad)(m))
		if len(b.decided) <= mostRecorded {
			b.decided = append(b.decided, decision{out, *f})
		}
		b.tell()
		return out
	}
}

// tell has the MADs in the outbox sent to clients.
func (b *InBand) tell() {
	if len(b.subnet.out) > 0 {
		b.told = true
		signal(b.outgoing)
	}
}

// Look has nodes send what clients and agents have (drive.Outside).
func (b *InBand) Look(offer func(node int, p port.ID, c port.Change) unit.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subnet.flush()
	for i := range b.subnet.launched {
		l := &b.subnet.launched[i]
		b.bodies.PutMAD(&l.frame, (*[wire.MADSize]byte)(&l.mad))
		c := port.SendMAD{Frame: &l.frame}
		if at := offer(l.node, l.out, c); len(b.sent) <= mostRecorded {
			b.sent = append(b.sent, drive.Change{At: at, Node: l.node, Port: l.out, Makes: c})
		}
	}
	if b.subnet.launched = nil; b.bodies.Held() == 0 {
		b.subnet.lost()
		b.tell()
	}
	return nil
}

// Wait waits for a client to send a MAD (drive.Outside).
func (b *InBand) Wait(most time.Duration) { b.wait(most) }

// wait does what Wait does, and reports whether a client has sent one.
func (b *InBand) wait(most time.Duration) bool {
	select {
	case <-b.incoming:
		return true
	case <-b.done:
	case <-time.After(most):
	}
	return false
}

// up waits until a manager has brought the subnet up in-band. It runs a model without flows, whose
// time passes only while MADs are on the way, so clients take no model time.
func (b *InBand) up(ctx context.Context) error {
	f, err := assemble.Quiet(b.subnet.fabric, assemble.Schemes{Management: b}, nil)
	if err != nil {
		return err
	}
	f.End, f.Watch, f.Changes = longestUp, nil, nil
	why, over := "no manager has sent a MAD", errors.New("the subnet is up")
	now, err := drive.Stepped(f, func() (bool, error) {
		b.mu.Lock()
		told, flying := b.told, b.bodies.Held() > 0
		b.told = false
		b.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return false, fmt.Errorf("the subnet is not up: %s", why)
		case told:
			b.wait(react)
			return false, nil
		case flying:
			return true, nil
		case b.wait(settled):
			return false, nil
		}
		if why = b.lacks(); why == "" {
			return false, over
		}
		return false, nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subnet.inBand = false
	switch b.subnet.Counts.UpPs = int64(now); err {
	case over:
		return nil
	case nil:
		err = fmt.Errorf("the subnet is not up after %v of model time: %s", longestUp, why)
	}
	return err
}

// signal wakes the goroutine that waits for c, which has room for one value.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
