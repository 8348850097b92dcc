package retry

import "fabemu/wire/unit"

// Action is the treatment of frames while the sender cannot protect them.
type Action uint8

// The actions (SAI: sai_llr_frame_action_t).
const (
	BestEffort Action = iota // they leave without a sequence, and stay lost if they are lost
	Block                    // they wait
	Discard                  // they are dropped
)

// Words returns the words for the actions.
func (Action) Words() []string { return []string{"best-effort", "block", "discard"} }

func (a Action) String() string { return unit.Word(a, a.Words()) }

// MaxFrames is the most frames that may await their ACK: half of the sequences (SONiC: 0 to 524288), so that
// a duplicate and a later frame can be distinguished.
const MaxFrames = Modulus / 2

// Profile has the parameters of a link with retry, by SAI's attributes of a port LLR profile.
type Profile struct {
	Frames   int           `key:"frames" low:"1" high:"524288" computed:"from the round trip, or the preset" also:"outstanding-frames|max-outstanding-frames" doc:"The most frames that may await their ACK."`
	Bytes    unit.Size     `key:"bytes" low:"1B" high:"4294967295B" computed:"from the round trip, or the preset" also:"outstanding-bytes|max-outstanding-bytes" doc:"The most bytes that may await their ACK, as lengths on the line."`
	Timer    unit.Duration `key:"timer" low:"1ns" computed:"from the round trip, or the preset" also:"replay-timer|max-replay-timer" doc:"Without an ACK for so long the sender sends all frames again that await one. Above the round trip."`
	Count    int           `key:"count" def:"3" low:"1" high:"255" also:"replay-count|max-replay-count" doc:"So many replays in a row, without an ACK between them that frees a frame; with the next the buffer is flushed." source:"SONiC, doc/llr: the sample profiles; SAI's default is 1"`
	PCSLost  unit.Duration `key:"pcs-lost" def:"0s" low:"0s" high:"4.29s" also:"pcs-lost-timeout" doc:"A link that is down for no longer goes on where it was, and frames that were under way are sent again. 0s: each failure of the link flushes the buffer." source:"SAI: 0"`
	DataAge  unit.Duration `key:"data-age" def:"0s" low:"0s" high:"4.29s" also:"data-age-timeout" doc:"A frame that awaits its ACK for so long flushes the buffer. 0s: none is too old." source:"SAI: 0"`
	Spacing  unit.Size     `key:"spacing" def:"2048B" low:"400B" high:"16384B" also:"ctlos-spacing|ctlos-spacing-bytes" doc:"ACKs are so many bytes of the line apart, at the least." source:"SAI: 2048; the range is SONiC's"`
	Init     Action        `key:"init" def:"best-effort" also:"init-action" means:"best_effort=best-effort" doc:"The treatment of frames until the handshake is over. best-effort: they leave without protection; block: they wait; discard: they are dropped." source:"SAI: BEST_EFFORT"`
	Flush    Action        `key:"flush" def:"best-effort" also:"flush-action" means:"best_effort=best-effort" doc:"With reinit: false, the treatment of frames after a flush, until the end of the run." source:"SAI: BEST_EFFORT"`
	Reinit   bool          `key:"reinit" def:"true" also:"re-init-on-flush" doc:"After a flush the sender begins anew with a handshake. Otherwise it stays as it is." source:"SONiC, doc/llr: always true"`
	Eligible uint8         // the priorities that are protected, a bit each; frames of flow control always are
}

// Sample is a row of the sample profiles.
type Sample struct {
	Name    string
	Rate    unit.Rate
	Cable   unit.Duration // propagation: 5 ns for a metre
	Profile Profile
}

// Samples returns the sample profiles of SONiC (doc/llr/llr_profile_lookup.ini.sample), which are for frames of
// about 512 bytes.
func Samples() []Sample {
	row := func(name string, rate unit.Rate, metres int64, frames int, bytes unit.Size, timer, age unit.Duration, flush Action) Sample {
		return Sample{name, rate, unit.Duration(metres) * 5 * unit.Nanosecond, Profile{Frames: frames, Bytes: bytes, Timer: timer,
			Count: 3, PCSLost: 10 * timer, DataAge: age, Spacing: 2048, Flush: flush, Reinit: true, Eligible: allPriorities}}
	}
	const us, gbps = unit.Microsecond, unit.Rate(1e9)
	return []Sample{
		row("200g-5m", 200*gbps, 5, 61, 31184, 5*us, 20*us, Block),
		row("200g-40m", 200*gbps, 40, 71, 35952, 5500*unit.Nanosecond, 24*us, Block),
		row("400g-5m", 400*gbps, 5, 115, 58768, 5*us, 20*us, BestEffort),
		row("400g-40m", 400*gbps, 40, 133, 67760, 5500*unit.Nanosecond, 24*us, Discard),
	}
}

// allPriorities has a bit for each priority.
const allPriorities = 1<<8 - 1
