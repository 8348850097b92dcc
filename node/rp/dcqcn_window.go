package rp

import (
	"fmt"

	"fabemu/wire/unit"
)

// DCQCNWindowParams are the parameters of DCQCN with a window: all that DCQCN has, and the window.
type DCQCNWindowParams struct {
	DCQCNParams
	// Maximum round trip without queues: the window is the flow's rate times this.
	// Source: Li et al. 2019
	BaseRTT unit.Duration `key:"base-rtt" def:"13us" rule:"preset=rtt|rtt|rtt|rtt" from:"preset=Li et al. 2019|Li et al. 2019||Li et al. 2019" low:"1ns" high:"1s" also:"rtt" search:"no"`
	// The window scales with the flow's rate instead of the link rate.
	// Source: HPCC's simulator, VAR_WIN
	Variable bool `key:"variable" def:"true" also:"var-win"`
}

// CheckSite refuses a window without room for a packet, and all that DCQCN refuses.
func (p DCQCNWindowParams) CheckSite(s Site) (string, error) {
	if most := windowOf(s.Line, p.BaseRTT); most < s.Length {
		return "base-rtt", fmt.Errorf("the window is %v, %v times %v, and a packet has %v on the link: no packet would fit",
			most, s.Line, p.BaseRTT, s.Length)
	}
	return p.DCQCNParams.CheckSite(s)
}

// windowOf returns how much a rate carries in a time.
func windowOf(r unit.Rate, d unit.Duration) unit.Size {
	return unit.Size(r.BytesPerSecond() * d.Seconds())
}

func dcqcnWindowAlgorithm() Algorithm {
	l := row(Algorithm{
		Name: "dcqcn-window", Also: []string{"dcqcn-vwin"}, Feedback: Marks,
		Doc:    "is DCQCN with a window of the rate times the maximum round trip without queues, on RoCEv2",
		Trials: dcqcnAlgorithm().Trials,
	}, func(p DCQCNWindowParams, s Site) Reaction {
		d := &DCQCNWindow{DCQCN: newDCQCN(p.DCQCNParams, s), params: p, line: s.Line}
		r := d.DCQCN.Reaction()
		r.Controller, r.Acknowledged = d, d
		return r
	})
	answer := dcqcnAlgorithm().Answer
	l.Answer = func(params any, s Site) (Answerer, error) { return answer(params.(DCQCNWindowParams).DCQCNParams, s) }
	return l
}

// DCQCNWindow is the reaction point of DCQCN with a window (Li et al. 2019, section 5.1,
// "DCQCN+win"): a source that no CNP reaches stops when a round trip's worth awaits its ACK.
type DCQCNWindow struct {
	*DCQCN
	params DCQCNWindowParams
	line   unit.Rate
}

// Acked takes in an ACK: it opens the window, and changes nothing else.
func (*DCQCNWindow) Acked(unit.Time, Ack) {}

// Lost changes nothing.
func (*DCQCNWindow) Lost(unit.Time) {}

func (d *DCQCNWindow) Window() unit.Size {
	r := d.line
	if d.params.Variable {
		r = d.Rate()
	}
	return max(windowOf(r, d.params.BaseRTT), 1)
}
