package switchd

import (
	"fabemu/wire"
	"fabemu/wire/port"
)

// NoRoute stands in Config.Routes for a destination that cannot be reached.
const NoRoute port.ID = 0xFFFF

// forward picks the output for a destination; ok is false when there is none.
func (c *chassis) forward(dst wire.LID) (output int, ok bool) {
	if int(dst) >= len(c.routes) || c.routes[dst] == NoRoute {
		return 0, false
	}
	return int(c.routes[dst]), true
}
