package feedback

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// key is a number of an input.
type key struct {
	name string
	of   func(*rp.Input) int64
	set  func(*rp.Input, int64)
}

// number returns the key of a number that is not negative.
func number[N ~int64 | ~uint64](name string, of func(*rp.Input) *N) key {
	return key{name, func(in *rp.Input) int64 { return int64(*of(in)) }, func(in *rp.Input, v int64) { *of(in) = N(v) }}
}

// truth returns the key of what is true or not.
func truth(name string, of func(*rp.Input) *bool) key {
	return key{name, func(in *rp.Input) int64 {
		if *of(in) {
			return 1
		}
		return 0
	}, func(in *rp.Input, v int64) { *of(in) = v == 1 }}
}

var ofBytes = number("bytes", func(in *rp.Input) *unit.Size { return &in.Bytes })

// inputs are the inputs that are not a frame, with their words and keys.
var inputs = []struct {
	kind rp.InputKind
	word string
	keys []key
}{
	{rp.AckInput, "delay", []key{
		number("rtt", func(in *rp.Input) *unit.Duration { return &in.Ack.RTT }),
		number("held", func(in *rp.Input) *unit.Duration { return &in.Ack.Held }),
		number("bytes", func(in *rp.Input) *unit.Size { return &in.Ack.Bytes }),
		number("flight", func(in *rp.Input) *unit.Size { return &in.Ack.Flight }),
		number("oldest", func(in *rp.Input) *uint64 { return &in.Ack.Oldest }),
		number("next", func(in *rp.Input) *uint64 { return &in.Ack.Next }),
		truth("marked", func(in *rp.Input) *bool { return &in.Frame.BECN }),
		{"hops", func(in *rp.Input) int64 { return int64(len(in.Ack.Hops)) },
			func(in *rp.Input, v int64) { in.Ack.Hops = make([]wire.Hop, max(min(v, wire.MaxHops), 0)) }},
	}},
	{rp.LossInput, "lost", nil},
	{rp.TrimInput, "trimmed", []key{
		number("rtt", func(in *rp.Input) *unit.Duration { return &in.Trim.RTT }),
		number("bytes", func(in *rp.Input) *unit.Size { return &in.Trim.Bytes }),
		number("flight", func(in *rp.Input) *unit.Size { return &in.Trim.Flight }),
		truth("last-hop", func(in *rp.Input) *bool { return &in.Trim.LastHop }),
	}},
	{rp.ExpiryInput, "expired", []key{ofBytes}},
}

// hopKeys are the keys of a hop, with its number behind each.
func hopKeys(h *wire.Hop, number int) []key {
	at := func(name string, of func() *int64) key {
		return key{name + strconv.Itoa(number), func(*rp.Input) int64 { return *of() }, func(_ *rp.Input, v int64) { *of() = v }}
	}
	return []key{
		at("time", func() *int64 { return (*int64)(&h.Time) }), at("sent", func() *int64 { return (*int64)(&h.Sent) }),
		at("queue", func() *int64 { return (*int64)(&h.Queue) }), at("rate", func() *int64 { return (*int64)(&h.Rate) }),
	}
}

// AppendInput appends feedback to b: a frame (AppendFrame), or the word for an input that is not a
// frame, and each of its numbers that is not zero as KEY=NUMBER, after a space. Starts and demand
// are no feedback.
func AppendInput(b []byte, in *rp.Input) []byte {
	if in.Kind == rp.FrameInput {
		return AppendFrame(b, &in.Frame)
	}
	for i := range inputs {
		if inputs[i].kind != in.Kind {
			continue
		}
		b = append(b, inputs[i].word...)
		for k := range inputs[i].keys {
			b = appendKey(b, inputs[i].keys[k].name, 0, inputs[i].keys[k].of(in))
		}
	}
	for i := range in.Ack.Hops {
		h := &in.Ack.Hops[i]
		b = appendKey(b, "time", i+1, int64(h.Time))
		b = appendKey(b, "sent", i+1, int64(h.Sent))
		b = appendKey(b, "queue", i+1, int64(h.Queue))
		b = appendKey(b, "rate", i+1, int64(h.Rate))
	}
	return b
}

// appendKey appends a key, with a number behind it if that is positive, and its value, unless that
// is zero.
func appendKey(b []byte, name string, number int, value int64) []byte {
	if value == 0 {
		return b
	}
	if b = append(append(b, ' '), name...); number > 0 {
		b = strconv.AppendInt(b, int64(number), 10)
	}
	return strconv.AppendInt(append(b, '='), value, 10)
}

// ParseInput reads the output of AppendInput.
func ParseInput(words []string) (in rp.Input, err error) {
	for i := range inputs {
		if len(words) > 0 && inputs[i].word == words[0] {
			in.Kind = inputs[i].kind
			if in.Kind == rp.AckInput {
				in.Frame.Kind = wire.Ack
			}
			return in, parseKeys(&in, words, slices.Clone(inputs[i].keys))
		}
	}
	in.Kind = rp.FrameInput
	in.Frame, err = ParseFrame(words)
	return in, err
}

// parseKeys reads numbers of an input, behind its word. Those of hops follow how many there are.
func parseKeys(in *rp.Input, words []string, keys []key) error {
	var seen []string
	for _, word := range words[1:] {
		name, text, found := strings.Cut(word, "=")
		v, err := strconv.ParseInt(text, 10, 64)
		at := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		switch {
		case !found || err != nil:
			return fmt.Errorf("%q is not KEY=NUMBER", word)
		case at < 0:
			return fmt.Errorf("%s has no %q: it has %s", words[0], name, namesOf(keys))
		case slices.Contains(seen, name):
			return fmt.Errorf("%s occurs twice", name)
		}
		seen = append(seen, name)
		if keys[at].set(in, v); v < 0 || keys[at].of(in) != v || v > math.MaxInt64/2 {
			return fmt.Errorf("%s cannot be %d", name, v)
		}
		if name == "hops" {
			for i := range in.Ack.Hops {
				keys = append(keys, hopKeys(&in.Ack.Hops[i], i+1)...)
			}
		}
	}
	return nil
}

func namesOf(keys []key) string {
	if len(keys) == 0 {
		return "none"
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}
