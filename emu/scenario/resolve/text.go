package resolve

import (
	"fmt"

	"fabemu/emu/scenario"
)

// Text prints s as a scenario file with every field given and every range expanded. Load reads it
// back to an equal Scenario. It returns an error for a scenario that was built in Go, or changed,
// and is not right or not complete.
func Text(s *scenario.Scenario) ([]byte, error) {
	out := s.Text()
	if s.Kept() {
		return out, nil
	}
	back, err := reload(s, "resolved scenario", string(out))
	if err != nil {
		return nil, fmt.Errorf("scenario %s is not right: %w", s.Name, err)
	}
	if part := scenario.FirstDifference(back, s); part != "" {
		return nil, fmt.Errorf("scenario %s is not right: its %s does not read back", s.Name, part)
	}
	return out, nil
}

// reload loads a text with the schemes of s.
func reload(s *scenario.Scenario, name, text string, opts ...Option) (*scenario.Scenario, error) {
	return Load(name, []byte(text), nil, append(opts, func(o *options) { o.schemes = s.Schemes })...)
}
