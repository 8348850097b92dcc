package switchd

import (
	"fabemu/wire"
	"fabemu/wire/port"
)

// NoRoute stands in Config.Routes for a destination that cannot be reached.
const NoRoute port.ID = 0xFFFF

// forward picks the output for a destination; ok is false when there is none.
func (s *Switch) forward(dst wire.LID) (output int, ok bool) {
	if int(dst) >= len(s.routes) || s.routes[dst] == NoRoute {
		return 0, false
	}
	return int(s.routes[dst]), true
}
