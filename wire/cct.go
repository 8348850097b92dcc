package wire

import (
	"fmt"
	"strconv"
	"strings"

	"fabemu/wire/unit"
)

// CCTEntry is an entry of InfiniBand's congestion control tables (IBTA Volume 1, Annex A10,
// CongestionControlTable): 2 bits of shift and 14 of multiplier, which give the length of the pause
// behind a packet is.
type CCTEntry struct{ Shift, Multiplier int }

// The most that an entry can hold.
const (
	maxCCTShift      = 1<<2 - 1
	maxCCTMultiplier = 1<<14 - 1
)

// Delay returns the pause after a packet, given its duration on the link: (packet >> shift) x
// multiplier (drivers/infiniband/hw/hfi1/init.c of Linux, set_link_ipg).
func (e CCTEntry) Delay(packet unit.Duration) unit.Duration {
	return packet >> e.Shift * unit.Duration(e.Multiplier)
}

// Slowdown returns the divisor of the rate of the link where each packet has its pause.
func (e CCTEntry) Slowdown() float64 {
	return 1 + float64(e.Multiplier)/float64(int(1)<<e.Shift)
}

// ParseCCTEntry reads an entry as in opensm.conf, shift:multiplier, and returns a message that
// describes a mistake with it. Numbers are as in C: 0x10 and 020 are 16.
func ParseCCTEntry(text string) (e CCTEntry, wrong string) {
	shift, multiplier, ok := strings.Cut(strings.TrimSpace(text), ":")
	if !ok {
		return e, "expected a shift and a multiplier with a colon between, such as 0:1"
	}
	for _, part := range []struct {
		name, text string
		to         *int
		most       int
	}{{"shift", shift, &e.Shift, maxCCTShift}, {"multiplier", multiplier, &e.Multiplier, maxCCTMultiplier}} {
		n, err := strconv.ParseUint(strings.TrimSpace(part.text), 0, 64)
		if err != nil || n > uint64(part.most) {
			return e, fmt.Sprintf("the %s is a whole number from 0 to %d", part.name, part.most)
		}
		*part.to = int(n)
	}
	return e, ""
}
