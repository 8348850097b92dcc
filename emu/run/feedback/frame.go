package feedback

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire"
)

// feedback are the kinds of frames that are feedback for a source.
var feedback = []wire.Kind{wire.Ack, wire.Notification, wire.BCN, wire.Message, wire.Probe, wire.CNP, wire.UETControl}

// AppendFrame appends a feedback frame to b: the word for its kind, and each
// field that is not zero as KEY=NUMBER, after a space. Numbers of 64 bits are written with a sign.
func AppendFrame(b []byte, f *wire.Frame) []byte {
	b = append(b, f.Kind.String()...)
	fields := f.Kind.Fields()
	for i := range fields {
		if fields[i].Key == "" {
			continue
		}
		if v := fields[i].Of(f); v != 0 {
			b = append(append(append(b, ' '), fields[i].Key...), '=')
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
	if f.Kind = feedback[k]; f.Kind == wire.UETControl {
		f.Family = wire.UET
	}
	fields := f.Kind.Fields()
	for i, word := range words[1:] {
		key, text, found := strings.Cut(word, "=")
		v, err := strconv.ParseInt(text, 10, 64)
		at := slices.IndexFunc(fields, func(x wire.Field) bool { return x.Key == key && key != "" })
		switch {
		case !found || err != nil:
			return f, fmt.Errorf("%q is not KEY=NUMBER", word)
		case at < 0:
			return f, fmt.Errorf("%s has no %q: it has %s", f.Kind, key, keys(f.Kind))
		case slices.ContainsFunc(words[1:1+i], func(w string) bool { return strings.HasPrefix(w, key+"=") }):
			return f, fmt.Errorf("%s occurs twice", key)
		case !fields[at].Set(&f, v):
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
	for i := range inputs {
		words = append(words, inputs[i].word)
	}
	return strings.Join(words, ", ")
}

// keys lists the words for the fields of a kind.
func keys(k wire.Kind) string {
	var words []string
	for _, x := range k.Fields() {
		if x.Key != "" {
			words = append(words, x.Key)
		}
	}
	return strings.Join(words, ", ")
}
