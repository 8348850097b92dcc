package host

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUMeter measures how many processors other programs have used.
type CPUMeter struct {
	began time.Time
	busy  float64 // of all, in seconds since the machine started; negative: unknown
	own   float64
}

// StartCPUMeter starts a meter.
func StartCPUMeter() CPUMeter { return CPUMeter{time.Now(), busyCPU(), ownCPU()} }

// Foreign returns the mean number of processors that were busy with something
// else since the meter started; it is NaN where the system does not tell. The
// system counts in hundredths of a second: over a short time it says little.
func (m CPUMeter) Foreign() float64 {
	busy, own, wall := busyCPU(), ownCPU(), time.Since(m.began).Seconds()
	if m.busy < 0 || busy < 0 || wall <= 0 {
		return math.NaN()
	}
	return max(0, (busy-m.busy-(own-m.own))/wall)
}

// Used returns the processor time in seconds that this process has used since the
// meter started.
func (m CPUMeter) Used() float64 { return ownCPU() - m.own }

// userHZ is the unit of /proc/stat on every architecture that Go runs on.
const userHZ = 100

// busyCPU returns the seconds that all processors have been busy, from the first
// line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func busyCPU() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return -1
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return -1
	}
	var ticks float64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return -1
		}
		ticks += n
	}
	return ticks / userHZ
}
