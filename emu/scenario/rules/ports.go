package rules

import "fabemu/emu/scenario"

// ports refuses links that have not enough UDP ports: each has two.
func ports(s *scenario.Site, p *scenario.Problems) {
	if first := s.Head("wall").Mention("udp-port"); first.Given() && s.Wall.UDPPort > 0 {
		if last := s.Wall.UDPPort + 2*len(s.Links) - 1; last > 65535 {
			p.Add(first.Path, "%d links need %d ports, from %d to %d; the last port is 65535",
				len(s.Links), 2*len(s.Links), s.Wall.UDPPort, last)
		}
	}
}
