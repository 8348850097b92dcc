package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// skipped is how many gaps at the begin of a round do not count: bursts that a
// qdisc grants at first, cold caches.
const skipped = 100

// figures are what is known of a method.
type figures struct {
	name   string
	errs   []float64 // of each gap: how far from gapNs, in ns
	gaps   int64
	spent  int64 // ns, from the first stamp to the last of all rounds
	sent   int64
	came   int64
	rounds []float64 // mean rate of each round over the wanted one, less 1
}

// add adds a round.
func (f *figures) add(a arrivals) {
	f.sent += a.sent
	f.came += int64(len(a.stamps))
	if len(a.stamps) < skipped+2 {
		return
	}
	stamps := a.stamps[skipped:]
	for i := 1; i < len(stamps); i++ {
		f.errs = append(f.errs, math.Abs(float64(stamps[i]-stamps[i-1]-gapNs)))
	}
	n, spent := int64(len(stamps)-1), stamps[len(stamps)-1]-stamps[0]
	f.gaps += n
	f.spent += spent
	f.rounds = append(f.rounds, float64(n)*gapNs/float64(spent)-1)
}

// at returns a quantile of the errors, q from 0 to 1, in us. They must be sorted.
func (f *figures) at(q float64) float64 {
	if len(f.errs) == 0 {
		return math.NaN()
	}
	return f.errs[min(len(f.errs)-1, int(q*float64(len(f.errs))))] / 1e3
}

// rate returns the error of the mean rate over all rounds, in percent.
func (f *figures) rate() float64 { return 100 * (float64(f.gaps)*gapNs/float64(f.spent) - 1) }

// worst returns the error of the mean rate of the round that was the farthest
// off, in percent.
func (f *figures) worst() float64 {
	worst := 0.0
	for _, r := range f.rounds {
		if math.Abs(r) > math.Abs(worst) {
			worst = r
		}
	}
	return 100 * worst
}

// write writes the table.
func write(w io.Writer, results []figures, rounds int, length time.Duration) error {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	mean, _, _ := strings.Cut(string(load), " ")
	fmt.Fprintf(w, "A frame of %d bytes each %.1f us, for %v in each of %d rounds, load average %s\n", frameBytes, gapNs/1e3, length, rounds, mean)
	fmt.Fprintln(w, "Error of the gaps in us, of the mean rate in percent; by the kernel's receive time stamps")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tp50\tp90\tp99\tp99.9\tmax\trate\tworst round\tframes\tlost\t")
	for i := range results {
		f := &results[i]
		slices.Sort(f.errs)
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.1f\t%.0f\t%.0f\t%+.3f\t%+.3f\t%d\t%d\t\n", f.name,
			f.at(0.5), f.at(0.9), f.at(0.99), f.at(0.999), f.at(1), f.rate(), f.worst(), f.came, f.sent-f.came)
	}
	return t.Flush()
}
