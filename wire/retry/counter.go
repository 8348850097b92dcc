package retry

import "fabemu/wire/unit"

// Counter is a statistic of an End. The first ones are SAI's SAI_PORT_STAT_LLR_..., the last ones
// ours.
type Counter uint8

// The counters.
const (
	TxInit Counter = iota
	TxInitEcho
	TxAck
	TxNack
	TxDiscard // frames dropped in INIT or FLUSH
	TxOK      // protected frames that left, replays included
	TxReplay  // replays that were completed
	RxInit
	RxInitEcho
	RxAck
	RxNack
	RxAckNackSeqError // ACKs and NACKs of no frame that awaits one
	RxOK              // protected frames that came with a good FCS
	RxBad             // and with a bad one
	RxExpectedSeqGood // frames that were passed on
	RxExpectedSeqBad
	RxMissingSeq   // frames behind a gap
	RxDuplicateSeq // frames that had been passed on before
	RxReplay       // beginnings of a replay
	Replayed       // ours: frames that were retransmitted
	Timeout        // ours: replays that the timer began
	Flushed        // ours: times that the buffer was flushed
	Ready          // ours: handshakes that were completed
	LostOnLink     // ours: protected frames that did not arrive; a real receiver cannot count them
	Counters       // how many there are
)

// counterWords are the words for counters: SAI's names without their beginning.
var counterWords = [Counters]string{
	"TX_INIT_CTL_OS", "TX_INIT_ECHO_CTL_OS", "TX_ACK_CTL_OS", "TX_NACK_CTL_OS", "TX_DISCARD", "TX_OK", "TX_REPLAY",
	"RX_INIT_CTL_OS", "RX_INIT_ECHO_CTL_OS", "RX_ACK_CTL_OS", "RX_NACK_CTL_OS", "RX_ACK_NACK_SEQ_ERROR", "RX_OK", "RX_BAD",
	"RX_EXPECTED_SEQ_GOOD", "RX_EXPECTED_SEQ_BAD", "RX_MISSING_SEQ", "RX_DUPLICATE_SEQ", "RX_REPLAY",
	"replayed-frames", "timeout", "flush", "ready", "lost-on-link",
}

func (c Counter) String() string { return unit.Word(c, counterWords[:]) }
