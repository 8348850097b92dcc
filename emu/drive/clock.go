package drive

import (
	"time"

	"fabemu/wire/unit"
)

// monotonic returns the clock of the system, CLOCK_MONOTONIC, in nanoseconds since
// the call.
func monotonic() func() int64 {
	base := time.Now()
	return func() int64 { return int64(time.Since(base)) }
}

// Dilate returns the wall time of a model time, in nanoseconds, rounded down:
// D * t without leaving 64 bits for any run that ends within 290 years of wall
// time.
func Dilate(t unit.Time, dilation int64) int64 {
	return int64(t)/1000*dilation + int64(t)%1000*dilation/1000
}
