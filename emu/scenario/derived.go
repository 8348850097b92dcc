package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/wire/unit"
)

// Threshold is a watermark that no scenario gives: it follows from memories, rates, lengths and
// frames, and so it changes where any of these does.
type Threshold struct {
	Key   string   `json:"key"` // switch.high, switch.low, endpoint.high or endpoint.low
	Bytes int64    `json:"bytes"`
	Of    []string `json:"of"` // the switches or endpoints that have this value
}

// Derived returns the watermarks that Load has found, by their keys and values.
func (s *Scenario) Derived() []Threshold {
	if s.loaded == nil {
		return nil
	}
	return s.loaded.derived
}

// derive notes a watermark that was found.
func (r *resolver) derive(a *account, key string, value unit.Size) {
	section := "endpoint."
	if a.owner.isSwitch {
		section = "switch."
	}
	key = section + key
	i := slices.IndexFunc(r.derived, func(d Threshold) bool { return d.Key == key && d.Bytes == int64(value) })
	if i < 0 {
		i = len(r.derived)
		r.derived = append(r.derived, Threshold{Key: key, Bytes: int64(value)})
	}
	r.derived[i].Of = append(r.derived[i].Of, a.machine)
}

// byThreshold orders derived values.
func byThreshold(a, b Threshold) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Bytes, b.Bytes))
}

// DerivedApart says which values two scenarios have derived differently of the same machines, a
// sentence for each key and pair of values. First and second are what to call the two.
func DerivedApart(a, b []Threshold, first, second string) (all []string) {
	for _, x := range a {
		for _, y := range b {
			if x.Key != y.Key || x.Bytes == y.Bytes {
				continue
			}
			there := make(map[string]bool, len(y.Of))
			for _, name := range y.Of {
				there[name] = true
			}
			var both []string
			for _, name := range x.Of {
				if there[name] {
					both = append(both, name)
				}
			}
			if len(both) > 0 {
				all = append(all, fmt.Sprintf("%s of %s is derived, and is %v in %s and %v in %s: to hold it fixed give it a value, by --set defaults.%s",
					x.Key, Threshold{Of: both}.Where(), unit.Size(x.Bytes), first, unit.Size(y.Bytes), second, x.Key))
			}
		}
	}
	return all
}

// Where names the first of those that have the value.
func (d Threshold) Where() string {
	const most = 4
	if more := len(d.Of) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(d.Of[:most], ", "), more)
	}
	return strings.Join(d.Of, ", ")
}
