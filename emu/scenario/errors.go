package scenario

import "fabemu/emu/scenario/place"

// Error is a mistake in a scenario.
type Error = place.Error

// Errors has all mistakes that Load found in a scenario.
type Errors = place.Errors

// Set is a change of one field of a scenario: --set PATH=VALUE.
type Set = place.Set

// ParseSet reads PATH=VALUE. Load checks whether the path exists and the value is right.
func ParseSet(text string) (Set, error) { return place.ParseSet(text) }
