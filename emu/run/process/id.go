package process

import (
	"hash/fnv"
	"os"
	"time"
)

// NewID returns a number that distinguishes the datagrams of a run from those of all other runs on this machine.
func NewID(resolved []byte) uint32 {
	return ID(resolved, uint64(time.Now().UnixNano())^uint64(os.Getpid())<<32)
}

// ID returns the number of a run. Runs of the same scenario have different salts.
func ID(resolved []byte, salt uint64) uint32 {
	h := fnv.New64a()
	h.Write(resolved)
	mixed := (h.Sum64() ^ salt) * 0x9E3779B97F4A7C15
	return uint32(mixed >> 32)
}
