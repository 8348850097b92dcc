package feedback

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// field is a word for a field of a frame.
type field struct {
	key   string
	kinds []wire.Kind // that have it
	get   func(f *wire.Frame) int64
	// set sets it and reports whether the value is one that it can have.
	set func(f *wire.Frame, v int64) bool
}

// whole returns the getter and setter of a field that is a whole number.
func whole[N ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int16 | ~int64](key string, at func(f *wire.Frame) *N,
	kinds ...wire.Kind) field {
	return field{key, kinds,
		func(f *wire.Frame) int64 { return int64(*at(f)) },
		func(f *wire.Frame, v int64) bool { *at(f) = N(v); return int64(N(v)) == v }}
}

// flag returns the getter and setter of a field that is true (1) or false (0).
func flag(key string, at func(f *wire.Frame) *bool, kinds ...wire.Kind) field {
	return field{key, kinds,
		func(f *wire.Frame) int64 {
			if *at(f) {
				return 1
			}
			return 0
		},
		func(f *wire.Frame, v int64) bool { *at(f) = v == 1; return v == 0 || v == 1 }}
}

// fields are the words for the fields of feedback frames, in the order in
// which they are written. Numbers of 64 bits are written with a sign.
var fields = []field{
	flag("marked", func(f *wire.Frame) *bool { return &f.BECN }, wire.Ack),
	whole("fb", func(f *wire.Frame) *uint8 { return &f.Sampled().Fb }, wire.Notification),
	whole("flags", func(f *wire.Frame) *uint8 { return &f.Flags }, wire.BCN, wire.Probe),
	whole("qoffset", func(f *wire.Frame) *int16 { return &f.Sampled().QOffset }, wire.Notification, wire.BCN),
	whole("qdelta", func(f *wire.Frame) *int16 { return &f.Sampled().QDelta }, wire.Notification, wire.BCN),
	whole("bottleneck", func(f *wire.Frame) *uint16 { return &f.Sampled().Bottleneck }, wire.BCN),
	whole("cpid", func(f *wire.Frame) *uint64 { return &f.CPID }, wire.Notification, wire.BCN),
	whole("value", func(f *wire.Frame) *uint64 { return &f.Message().Value }, wire.Message),
	whole("value", func(f *wire.Frame) *uint64 { return &f.Probe().Bytes }, wire.Probe),
	whole("sent-at", func(f *wire.Frame) *unit.Time { return &f.Probe().SentAt }, wire.Probe),
	whole("came-at", func(f *wire.Frame) *unit.Time { return &f.Probe().CameAt }, wire.Probe),
	whole("psn", func(f *wire.Frame) *uint32 { return &f.PSN }, wire.Ack, wire.Notification, wire.BCN, wire.Message,
		wire.Probe),
	whole("msn", func(f *wire.Frame) *uint32 { return &f.MSN }, wire.Ack),
	flag("fecn", func(f *wire.Frame) *bool { return &f.FECN }, wire.Ack, wire.Notification, wire.BCN, wire.CNP),
	flag("last", func(f *wire.Frame) *bool { return &f.Last }, wire.Notification, wire.BCN),
	whole("payload", func(f *wire.Frame) *uint32 { return &f.Payload }, wire.Notification, wire.BCN),
	whole("octets", func(f *wire.Frame) *uint8 { return &f.Sampled().Octets }, wire.Notification),
	whole("sampled-priority", func(f *wire.Frame) *uint8 { return &f.Sampled().Lane }, wire.Notification, wire.BCN),
	whole("sampled-dst", func(f *wire.Frame) *wire.LID { return &f.Sampled().Dst }, wire.Notification, wire.BCN),
	flag("tagged", func(f *wire.Frame) *bool { return &f.Tagged }, feedback...),
	whole("priority", func(f *wire.Frame) *uint8 { return &f.Lane }, feedback...),
	whole("src", func(f *wire.Frame) *wire.LID { return &f.Src }, feedback...),
	whole("dst", func(f *wire.Frame) *wire.LID { return &f.Dst }, feedback...),
	whole("qp", func(f *wire.Frame) *uint32 { return &f.QP }, feedback...),
}

// feedback are the kinds of frames that are feedback for a source.
var feedback = []wire.Kind{wire.Ack, wire.Notification, wire.BCN, wire.Message, wire.Probe, wire.CNP}

// AppendFrame appends a feedback frame to b: the word for its kind, and each
// field that is not zero as KEY=NUMBER, after a space.
func AppendFrame(b []byte, f *wire.Frame) []byte {
	b = append(b, f.Kind.String()...)
	for i := range fields {
		if v := fields[i].get(f); v != 0 && slices.Contains(fields[i].kinds, f.Kind) {
			b = append(append(append(b, ' '), fields[i].key...), '=')
			b = strconv.AppendInt(b, v, 10)
		}
	}
	return b
}

// ParseFrame reads the output of AppendFrame.
func ParseFrame(words []string) (f wire.Frame, err error) {
	if len(words) == 0 {
		return f, fmt.Errorf("a kind of feedback is missing: %s", kinds())
	}
	k := slices.IndexFunc(feedback, func(k wire.Kind) bool { return k.String() == words[0] })
	if k < 0 {
		return f, fmt.Errorf("there is no feedback %q: there are %s", words[0], kinds())
	}
	f.Kind = feedback[k]
	for i, word := range words[1:] {
		key, text, found := strings.Cut(word, "=")
		v, err := strconv.ParseInt(text, 10, 64)
		at := slices.IndexFunc(fields, func(x field) bool { return x.key == key && slices.Contains(x.kinds, f.Kind) })
		switch {
		case !found || err != nil:
			return f, fmt.Errorf("%q is not KEY=NUMBER", word)
		case at < 0:
			return f, fmt.Errorf("%s has no %q: it has %s", f.Kind, key, keys(f.Kind))
		case slices.ContainsFunc(words[1:1+i], func(w string) bool { return strings.HasPrefix(w, key+"=") }):
			return f, fmt.Errorf("%s stands there twice", key)
		case !fields[at].set(&f, v):
			return f, fmt.Errorf("%s cannot be %d", key, v)
		}
	}
	return f, nil
}

// kinds lists the words for the kinds.
func kinds() string {
	var words []string
	for _, k := range feedback {
		words = append(words, k.String())
	}
	return strings.Join(words, ", ")
}

// keys lists the words for the fields of a kind.
func keys(k wire.Kind) string {
	var words []string
	for i := range fields {
		if slices.Contains(fields[i].kinds, k) {
			words = append(words, fields[i].key)
		}
	}
	return strings.Join(words, ", ")
}
