package host

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUMeter measures how many processors other programs have used: neither this process nor its
// children that have ended meanwhile.
type CPUMeter struct {
	began    time.Time
	all      processors // NaN: unknown
	own      float64
	children float64
}

// StartCPUMeter starts a meter.
func StartCPUMeter() CPUMeter {
	return CPUMeter{time.Now(), readProcessors(), OwnCPU(), childrenCPU()}
}

// Load returns two means since the meter started: the number of processors that were busy with
// other work, and the number that the hypervisor took for others. Both are NaN where the system
// does not count them. The system counts in hundredths of a second, so a short time means little.
func (m CPUMeter) Load() (others, stolen float64) {
	return m.all.until(readProcessors(), m.Used()+childrenCPU()-m.children, time.Since(m.began).Seconds())
}

// Foreign returns the sum of Load.
func (m CPUMeter) Foreign() float64 {
	others, stolen := m.Load()
	return others + stolen
}

// Used returns the processor time in seconds that this process has used since the
// meter started.
func (m CPUMeter) Used() float64 { return OwnCPU() - m.own }

// processors is the work of all processors since the machine started, in seconds.
type processors struct{ busy, stolen float64 }

// readProcessors reads that work; NaN where the system does not count it.
func readProcessors() processors {
	text, err := os.ReadFile("/proc/stat")
	if err == nil {
		var p processors
		if p, err = parseStat(string(text)); err == nil {
			return p
		}
	}
	return processors{math.NaN(), math.NaN()}
}

// until returns the load between two readings, while this process used own seconds of processor
// time in wall seconds.
func (p processors) until(now processors, own, wall float64) (others, stolen float64) {
	if wall <= 0 {
		return 0, 0
	}
	return max(0, (now.busy-p.busy-own)/wall), max(0, (now.stolen-p.stolen)/wall)
}

// userHZ is the unit of /proc/stat on every architecture that Go runs on.
const userHZ = 100

// parseStat reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq,
// steal. Guests are part of user.
func parseStat(text string) (p processors, err error) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return p, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var ticks [8]float64
	for i := range ticks {
		if ticks[i], err = strconv.ParseFloat(f[i+1], 64); err != nil {
			return p, fmt.Errorf("/proc/stat begins with %q", line)
		}
	}
	busy := ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]
	return processors{busy / userHZ, ticks[7] / userHZ}, nil
}
