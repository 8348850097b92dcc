package scenario_test

import (
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/wire/param"
)

// TestDefaultsRead: every default in the language can be read, and every word
// and unit that it suggests is taken.
func TestDefaultsRead(t *testing.T) {
	scenario.Language().Walk("", func(path string, p *param.Param) {
		if p.Default != "" {
			if _, err := p.Read(p.Default); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if p.Default != "" && p.Computed != "" || p.Required && p.Default != "" {
			t.Errorf("%s has two defaults, or one and is required", path)
		}
		for _, w := range p.Beside() {
			if _, err := p.Read(w); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		for _, u := range p.Units() {
			if _, err := p.Read("1000000" + u); err != nil && strings.Contains(err.Error(), "unknown unit") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}
