package metrics

import (
	"slices"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
)

// setCounters are the counters of LLR's ordered sets that leave and that come, by kind from wire.LLRAck on.
var setCounters = [...][2]retry.Counter{
	{retry.TxAck, retry.RxAck}, {retry.TxNack, retry.RxNack}, {retry.TxInit, retry.RxInit}, {retry.TxInitEcho, retry.RxInitEcho},
}

// isSet reports whether frames of a kind are ordered sets of LLR.
func isSet(k wire.Kind) bool { return k >= wire.LLRAck && int(k-wire.LLRAck) < len(setCounters) }

// retries has the counters of the retry of links by the port that counts. Few fabrics have any: it is nil there.
type retries []*[retry.Counters]int64

// of returns the counters of a port; nil: it has counted nothing.
func (r retries) of(n uint32) *[retry.Counters]int64 {
	if r == nil {
		return nil
	}
	return r[n]
}

// countRetry counts an event of the retry of a link.
func (c *Collector) countRetry(e *trace.Event, k retry.Counter) {
	if k >= retry.Counters {
		return
	}
	n := c.first.number(e)
	if c.retries == nil {
		c.retries = make(retries, len(c.ports))
	}
	if c.retries[n] == nil {
		c.retries[n] = new([retry.Counters]int64)
	}
	c.retries[n][k]++
}

// RetryCount is a counter of the retry of a link that is not zero.
type RetryCount struct {
	Machine int
	Port    port.ID
	Counter retry.Counter
	Count   int64
}

// Retries returns the counters of the retry of links, by machine, port and counter.
func (c *Collector) Retries() (all []RetryCount) {
	for m := range c.fabric.Machines {
		for p := range c.fabric.Machines[m].Ports {
			if counts := c.retries.of(c.first[m] + uint32(p)); counts != nil {
				for k, n := range counts {
					if n > 0 {
						all = append(all, RetryCount{m, port.ID(p), retry.Counter(k), n})
					}
				}
			}
		}
	}
	return all
}

// perFrame are the counters of every frame, which no event reports.
var perFrame = []retry.Counter{retry.TxOK, retry.RxOK, retry.RxExpectedSeqGood}

// retryEnds returns the ends of the names of the quantities of retry, and the counter of each.
func retryEnds() (ends []string, counters map[string]retry.Counter) {
	counters = map[string]retry.Counter{}
	for k := range retry.Counters {
		if slices.Contains(perFrame, k) {
			continue
		}
		end := strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(k.String(), "_CTL_OS")), "_", "-")
		ends = append(ends, end)
		counters[end] = k
	}
	return ends, counters
}

var retryNames, retryCounters = retryEnds()

// ofSender reports whether a counter of frames of one direction is at the end that sends them.
func ofSender(k retry.Counter) bool {
	switch k {
	case retry.TxInit, retry.RxInitEcho, retry.RxAck, retry.RxNack, retry.RxAckNackSeqError, retry.TxDiscard, retry.TxReplay,
		retry.Replayed, retry.Timeout, retry.Flushed, retry.Ready:
		return true
	}
	return false
}

// ofRetry is a counter of the frames of one direction of a link, since the begin of the run.
func ofRetry(t taken) float64 {
	k, at := retryCounters[t.end], t.c.in(t.object.hop)
	if ofSender(k) {
		at = t.c.out(t.object.hop)
	}
	if counts := t.c.retries.of(uint32(at / portColumns)); counts != nil {
		return float64(counts[k])
	}
	return 0
}
