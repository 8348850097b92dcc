package place_test

import (
	"strings"
	"testing"

	"fabemu/emu/scenario/place"
)

// A value has a path, a sign and a text.
func TestParseSet(t *testing.T) {
	for text, want := range map[string]string{
		" beds.a.water = 2s ": "", "beds.water": "write PATH=VALUE", "=2": "a path is missing", "a=": "a value is missing", "a..b=2": "an empty part",
	} {
		s, err := place.ParseSet(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err == nil && s.String() != "beds.a.water=2s" {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}
