package proc

import (
	"hash/fnv"
	"os"
	"time"
)

// NewID returns a number that tells the datagrams of a run of a scenario from those of others:
// another one for each run of this computer.
func NewID(resolved []byte) uint32 {
	return ID(resolved, uint64(time.Now().UnixNano())^uint64(os.Getpid())<<32)
}

// ID returns the number of a run that is told from others by a salt.
func ID(resolved []byte, salt uint64) uint32 {
	h := fnv.New64a()
	h.Write(resolved)
	mixed := (h.Sum64() ^ salt) * 0x9E3779B97F4A7C15
	return uint32(mixed >> 32)
}
