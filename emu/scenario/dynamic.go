package scenario

import (
	"fmt"

	"fabemu/wire/unit"
)

// The keys of thresholds that follow from alpha. They are no fields of a scenario.
const (
	sharedKey = "switch.shared"
	oneKey    = "switch.high, 1 stopped"
)

// SharesAt returns what each of n inputs of a switch with alpha occupies when the watermark stops
// all of them, without the headroom: alpha B / (1 + n alpha) of a shared memory of B bytes.
func (s *Switch) SharesAt(n int) unit.Size {
	return unit.Size(s.Alpha * float64(s.Shared) / (1 + float64(n)*s.Alpha))
}

// setDynamic computes the shared memory of a switch with alpha, which is what the headroom of all
// inputs leaves, and refuses what alpha does not go with.
func (r *Site) setDynamic(s *Switch, m *NodeRef, a *losslessBuffer) {
	wrong := false
	refuse := func(key, format string, args ...any) {
		r.Found.Add(a.item.Where(key), "switch %s has alpha: %v, "+format, append([]any{s.Name, s.Alpha}, args...)...)
		wrong = true
	}
	if s.Sharing != Pooled {
		refuse("alpha", "a multiple of the free memory that all inputs share, and sharing: %s: give it sharing: pooled", s.Sharing)
	}
	if s.High != 0 {
		refuse("high", "which gives the high watermark, and high: %v: leave one of them out", s.High)
	}
	if wrong {
		s.High = 0
		return
	}
	total, need, n := s.Memory.Total(len(m.Links)), unit.Size(0), 0
	for i := range a.inputs {
		in := &a.inputs[i]
		in.headroom.Dynamic = true
		need += in.least(a)
		n += in.classes
	}
	s.Shared = total - need
	if s.Low == auto {
		s.Low = 0
	}
	if s.XonOffset == auto {
		s.XonOffset = 2 * r.largestAt(m)
	}
	switch {
	case s.Shared < 1:
		text := ""
		if len(a.inputs) > 0 {
			text = fmt.Sprintf(". That of link %s is %s", r.Links[a.inputs[0].link].Name, a.inputs[0].arithmetic())
		}
		refuse("memory", "and its inputs need %v of headroom together: with a memory of %v nothing is left to share; give it more%s", need, total, text)
	case s.Low >= s.SharesAt(1):
		refuse("low", "so an input alone is stopped at %v, and low: %v is not below that", s.SharesAt(1), s.Low)
	}
	if wrong {
		s.Shared = 0
		return
	}
	if a.factor < 1 && len(a.inputs) > 0 {
		r.Doubts.Add(a.item.Where("headroom"), "switch %s keeps %.3g %% of its headroom and may lose frames. The headroom of link %s is %s",
			s.Name, 100*a.factor, r.Links[a.inputs[0].link].Name, a.inputs[0].arithmetic())
	}
	r.deriveKey(sharedKey, s.Name, s.Shared)
	r.deriveKey(oneKey, s.Name, s.SharesAt(1))
	if n > 1 {
		r.deriveKey(fmt.Sprintf("switch.high, %d stopped", n), s.Name, s.SharesAt(n))
	}
}
