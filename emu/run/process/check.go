package process

import (
	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/run/mode"
)

// Check returns an *errs.Mistake if the placement of a plan, its carrier and its parts that are started by hand are
// incompatible, or not supported on this system. The virtual clock has no carrier.
func (p *Plan) Check(virtual bool) error {
	switch apart := p.Placement != mode.InGoroutines; {
	case p.Placement == mode.InHosts && p.Carrier != mode.UDP:
		return errs.Errorf("placement %s has links of kind udp between hosts, not %s", mode.InHosts, p.Carrier)
	case p.Placement == mode.InHosts && len(p.ByHand) > 0:
		return errs.Errorf("with placement %s hosts are started by hand, not parts: fabemu agent --join HOST:PORT", mode.InHosts)
	case p.Placement == mode.InHosts && p.Fleet == nil:
		return errs.Errorf("placement %s needs a fleet of hosts", mode.InHosts)
	case p.Placement != mode.InHosts && (p.Fleet != nil || len(p.HostsOf) > 0):
		return errs.Errorf("other hosts take part with placement %s, not %s", mode.InHosts, p.Placement)
	case p.Pin != "" && p.Pin != mode.PinOn && p.Pin != mode.PinOff:
		return errs.Unknown("pin", p.Pin, mode.PinOn, mode.PinOff)
	case apart && p.Carrier == mode.Pipe:
		return errs.Errorf("placement %s needs links between processes: udp, unix or veth", p.Placement)
	case apart && p.Packing == mode.Trains:
		return errs.Errorf("packing %s requires placement %s: processes send each frame in its own packet", mode.Trains, mode.InGoroutines)
	case p.Carrier == mode.Pipe && p.Packing == mode.Trains:
		return errs.Errorf("packing %s requires links of kind udp, unix or veth: memory has no packets", mode.Trains)
	case !apart && len(p.ByHand) > 0:
		return errs.Errorf("a part can be started by hand with placement %s or %s", mode.InProcesses, mode.InDomains)
	case len(p.ByHand) > 0 && p.Carrier != mode.UDP:
		return errs.Errorf("a part that is started by hand has links of kind udp, not %s", p.Carrier)
	case apart:
		return host.NeedsLinux("placement " + string(p.Placement))
	case !virtual && p.Carrier != mode.Pipe:
		return host.NeedsLinux("a wall run over links of kind " + string(p.Carrier))
	}
	return nil
}
