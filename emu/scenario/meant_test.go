package scenario_test

import (
	"strings"
	"testing"

	"fabemu/emu/scenario"
)

// A rate without the end of its unit, or with the name that InfiniBand has for it, is guessed.
func TestGuessesForUnits(t *testing.T) {
	for value, want := range map[string]string{
		"10G": `did you mean "10Gb/s"?`, "hdr": `did you mean "200Gb/s"?`, "100m": `did you mean "100Mb/s"?`, "10Gbps": `did you mean "Gb/s"?`,
	} {
		_, err := scenario.Load("fuzz.yaml", []byte("name: n\nmodel: {duration: 1ms}\ndefaults: {link: {rate: "+value+"}}\nendpoints: [A, B]\nlinks: [A - B]\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}
