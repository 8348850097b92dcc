package param

import (
	"fmt"
	"reflect"
)

// Check returns an error about the first parameter of a struct that is out of its range, with its key. It is for structs
// that a program makes: what Read returns is in range. An empty word is left to the owner of the struct, and so is a
// parameter that does not count with the values of the others.
func Check(v any) error {
	s := Of(v)
	for i := range s.Params {
		p := &s.Params[i]
		if !p.Sets() || !p.Kind.Single() || !s.Holds(p.With, v) || !s.Holds(p.Counts, v) {
			continue
		}
		text := p.Text(v)
		if text == "" && p.in(v).Kind() == reflect.String {
			continue
		}
		if _, err := p.Read(text); err != nil {
			return fmt.Errorf("%s: %w", p.Key, err)
		}
	}
	return nil
}
