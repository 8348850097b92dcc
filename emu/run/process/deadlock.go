package process

import (
	"encoding/json"
	"fmt"
	"slices"

	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// classes is the largest number of classes that a kind of flow control has.
const classes = 16

// parseWaits reads the content of a waits message; ports is the number of ports of each node.
// The frames must be in order, each once, so there are no more of them than the nodes can hold.
func parseWaits(b []byte, ports []int) (w deadlock.Waits, err error) {
	if err := json.Unmarshal(b, &w); err != nil {
		return w, fmt.Errorf("the frames that wait, in %d bytes: %w", len(b), err)
	}
	if w.At < 0 || w.Carried < 0 {
		return w, fmt.Errorf("frames that wait at %v, after %d frames", w.At, w.Carried)
	}
	for i, h := range w.Frames {
		switch {
		case h.Node < 0 || h.Node >= len(ports) || int(h.In) >= ports[h.Node] || int(h.Out) >= ports[h.Node] || max(h.Class, h.From) >= classes:
			return w, fmt.Errorf("a frame of class %d that waits from port %d for port %d of node %d: there is none", h.Class, h.In, h.Out, h.Node)
		case h.Block >= port.Blocks || h.Since < 0 || h.Since > w.At:
			return w, fmt.Errorf("a frame at node %d that has waited since %v, at %v, for reason %d", h.Node, h.Since, w.At, h.Block)
		case i > 0 && w.Frames[i-1].Compare(h) >= 0:
			return w, fmt.Errorf("the frames that wait at node %d are out of order", h.Node)
		}
	}
	return w, nil
}

// lookOut looks for deadlock at the instants that all parts have passed, in the waits that they
// have sent.
func (r *conductor) lookOut() error {
	for r.watch != nil {
		at, ok := r.watch.Next()
		if !ok {
			return nil
		}
		var list []deadlock.Waits
		for _, s := range r.participants {
			s.waits = slices.DeleteFunc(s.waits, func(w deadlock.Waits) bool { return w.At < at })
			switch {
			case len(s.waits) > 0 && s.waits[0].At == at:
				list = append(list, s.waits[0])
			case s.now <= at:
				return nil
			}
		}
		found, over := r.watch.Look(list)
		for n, p := range deadlock.Outputs(found) {
			r.deadlocked(at, drive.PlaceOfLook(n), p)
		}
		if !over {
			continue
		}
		for _, s := range r.participants {
			if s.ended {
				continue
			}
			if err := write(s.conn, finish, nil); err != nil {
				return r.death(s, err)
			}
		}
		r.watch, r.over = nil, at
	}
	return nil
}

// deadlocked records that an output waits in a cycle, as an event of its node. As in a run in one
// process, it is the last event of that instant.
func (r *conductor) deadlocked(at unit.Time, place trace.Place, p deadlock.Waiting) {
	m := int32(p.From.Node)
	e := trace.Event{At: at, Node: m, Kind: trace.Deadlock, Port: uint16(p.From.Port), Lane: p.Class, B: int64(p.Since)}
	s := r.participantOf(p.From.Node)
	e.Seq = s.next[m]
	i := len(s.queue)
	for ; i > 0 && s.queue[i-1].At > at; i-- {
		if later := &s.queue[i-1]; later.frame == nil && later.Node == m {
			e.Seq = later.Seq
			later.Seq++
		}
	}
	s.queue = slices.Insert(s.queue, i, entry{place: place, Event: e})
	s.next[m]++
	s.base[m]++
}

// participantOf returns the part of a node.
func (r *conductor) participantOf(node int) *participant {
	return r.participants[slices.IndexFunc(r.participants, func(s *participant) bool { return slices.Contains(s.nodes, node) })]
}
