package report

import "fabemu/wire/trace"

// Tee returns a sink that hands every event to all of sinks, in their order. Nil
// ones are left out; none at all is nil, which is silence.
func Tee(sinks ...trace.Sink) trace.Sink {
	var t tee
	for _, s := range sinks {
		if s != nil {
			t = append(t, s)
		}
	}
	switch len(t) {
	case 0:
		return nil
	case 1:
		return t[0]
	default:
		return t
	}
}

type tee []trace.Sink

func (t tee) Record(e *trace.Event) {
	for _, s := range t {
		s.Record(e)
	}
}
