package rp

import (
	"math"

	"fabemu/wire/unit"
)

// InPackets returns quantities of the algorithm in packets of a length on a link, and seconds: the link's
// capacity and the active increase in packets per second, and the byte counter in packets, infinite
// where there is none.
func (p *DCQCNParams) InPackets(link unit.Rate, packet unit.Size) (capacity, increase, bytes float64) {
	size := float64(packet)
	bytes = math.Inf(1)
	if p.ByteCounter > 0 {
		bytes = float64(p.ByteCounter) / size
	}
	increase = p.ActiveIncrease.BytesPerSecond() / size
	if p.IncreasePer > 0 {
		increase *= float64(link) / float64(p.IncreasePer)
	}
	return link.BytesPerSecond() / size, increase, bytes
}

// HasRest reports whether the equations of DCQCN describe the algorithm: alpha changes with CNPs, without a
// monitor period, and a timer drives the increases.
func (p *DCQCNParams) HasRest() bool {
	return p.AlphaUpdate == AlphaByCNP && p.Phases != PhasesOfTimer && p.MonitorPeriod == 0 && p.RateTimer > 0
}

// Rest returns the share of marked packets at which flows come to rest that are all alike and share a
// link. It is a closed form: the first term for a small share.
func (p *DCQCNParams) Rest(flows int, link unit.Rate, packet unit.Size) float64 {
	capacity, increase, bytes := p.InPackets(link, packet)
	n := float64(flows)
	cycles := 1/bytes + n/(p.RateTimer.Seconds()*capacity)
	return math.Cbrt(increase * n * n / (p.AlphaTimer.Seconds() * capacity * capacity) * cycles * cycles)
}
