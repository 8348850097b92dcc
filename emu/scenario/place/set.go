package place

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a change of one field of a scenario: --set PATH=VALUE.
type Set struct {
	Path  string // as in the file: "defaults.link.buffer"; in lists by name: "links.trunk.rate"
	Value string // as in the file: "8 packets"; empty: the section is taken out, as if the file did not have it
	As    string // as the user has written it, for messages: "--dilation 50"; empty: as --set
}

// String prints s as ParseSet reads it.
func (s Set) String() string { return s.Path + "=" + s.Value }

// Source returns s as the user has written it.
func (s Set) Source() string {
	if s.As != "" {
		return s.As
	}
	return "--set " + s.String()
}

// ParseSet reads PATH=VALUE. Apply checks whether the path exists and the value is right.
func ParseSet(text string) (Set, error) {
	path, value, found := strings.Cut(text, "=")
	s := Set{Path: strings.TrimSpace(path), Value: strings.TrimSpace(value)}
	empty := func(part string) bool { return strings.TrimSpace(part) == "" }
	wrong := ""
	switch {
	case !found:
		wrong = "write PATH=VALUE, such as defaults.link.buffer=8packets"
	case s.Path == "":
		wrong = "a path is missing before \"=\", such as defaults.link.buffer=8packets"
	case s.Value == "":
		wrong = "a value is missing after \"=\", such as defaults.link.buffer=8packets"
	case slices.ContainsFunc(strings.Split(s.Path, "."), empty):
		wrong = "the path has an empty part"
	default:
		return s, nil
	}
	return Set{}, fmt.Errorf("--set %s: %s", text, wrong)
}
