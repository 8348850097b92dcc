package metrics

import (
	"strings"

	"fabemu/wire"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
)

// setCounters are the counters of LLR's ordered sets that leave and that come, by kind from
// wire.LLRAck on.
var setCounters = [...][2]retry.Counter{
	{retry.TxAck, retry.RxAck}, {retry.TxNack, retry.RxNack}, {retry.TxInit, retry.RxInit}, {retry.TxInitEcho, retry.RxInitEcho},
}

// isSet reports whether frames of a kind are ordered sets of LLR.
func isSet(k wire.Kind) bool { return k >= wire.LLRAck && int(k-wire.LLRAck) < len(setCounters) }

// RetryCounter returns the counter of the retry of a link that an event adds to, and whether there
// is one.
func RetryCounter(e *trace.Event) (k retry.Counter, ok bool) {
	kind, _, _ := trace.FrameOf(e.A)
	switch {
	case e.Kind == trace.Retry:
		return retry.Counter(e.A), true
	case e.Kind == trace.Start && isSet(kind):
		return setCounters[kind-wire.LLRAck][0], true
	case e.Kind == trace.Arrive && isSet(kind):
		return setCounters[kind-wire.LLRAck][1], true
	}
	return 0, false
}

// retried are the counters of one end of a link with retry.
type retried struct {
	counts   [retry.Counters]int64
	open     bool  // its handshake is over: eligible frames are protected
	eligible uint8 // their priorities, a bit each
}

// retries has the counters of the retry of links by the port that counts. Few fabrics have any: it
// is nil there.
type retries []*retried

// of returns the counters of a port; nil: it has counted nothing.
func (r retries) of(n uint32) *retried {
	if r == nil {
		return nil
	}
	return r[n]
}

// countRetry counts what a port does or sees of the retry of its link.
func (c *Collector) countRetry(n uint32, k retry.Counter) {
	if k >= retry.Counters || c.retries == nil {
		return
	}
	if c.retries[n] == nil {
		c.retries[n] = &retried{eligible: c.fabric.Wires[c.wires[n]].Link.Retry.Eligible}
	}
	end := c.retries[n]
	end.counts[k]++
	switch k {
	case retry.Replayed:
		end.counts[retry.TxOK]++
	case retry.Ready:
		end.open = true
	case retry.Flushed, retry.TxInit:
		end.open = false
	}
}

// countProtected counts a frame that starts with a sequence: no event reports that.
func (c *Collector) countProtected(n uint32, kind wire.Kind, lane uint8) {
	end := c.retries[n]
	if end == nil || !end.open || kind.OrderedSet() {
		return
	}
	if kind.Control() || end.eligible>>(lane&7)&1 == 1 {
		end.counts[retry.TxOK]++
	}
}

// Retries returns the counters of the retry of links.
func (v *View) Retries() []PortCount {
	return v.c.countsByPort(func(n uint32) []int64 {
		if end := v.c.retries.of(n); end != nil {
			return end.counts[:]
		}
		return nil
	}, func(k int) string {
		if retry.Counter(k) == retry.TxOK {
			return ""
		}
		return retry.Counter(k).String()
	})
}

// retryEnds returns the ends of the names of the quantities of retry, and the counter of each.
func retryEnds() (ends []string, counters map[string]retry.Counter) {
	counters = map[string]retry.Counter{}
	for k := range retry.Counters {
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
	case retry.TxInit, retry.RxInitEcho, retry.RxAck, retry.RxNack, retry.RxAckNackSeqError, retry.TxDiscard, retry.TxOK, retry.TxReplay,
		retry.Replayed, retry.Timeout, retry.Flushed, retry.Ready:
		return true
	}
	return false
}

// lostOf are the counters of protected frames that are not counted as k: k is TX_OK without them.
var lostOf = map[retry.Counter][]retry.Counter{
	retry.RxOK:              {retry.LostOnLink, retry.RxBad},
	retry.RxExpectedSeqGood: {retry.LostOnLink, retry.RxMissingSeq, retry.RxDuplicateSeq, retry.RxExpectedSeqBad},
}

// ofRetry is a counter of the frames of one direction of a link, since the start of the run.
func ofRetry(t taken) float64 {
	k := retryCounters[t.end]
	n := t.retried(k)
	if less := lostOf[k]; less != nil {
		n = t.retried(retry.TxOK)
		for _, k := range less {
			n -= t.retried(k)
		}
	}
	return n
}

// retried returns a counter as the end of the direction that counts it has it.
func (t taken) retried(k retry.Counter) float64 {
	at := t.c.in(t.object.hop)
	if ofSender(k) {
		at = t.c.out(t.object.hop)
	}
	if end := t.c.retries.of(uint32(at / portColumns)); end != nil {
		return float64(end.counts[k])
	}
	return 0
}
