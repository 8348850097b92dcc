package lint

import "fabemu/emu/scenario"

// textOf returns a parameter of a choice from a table as a scenario writes it; empty if the choice
// does not have the key.
func textOf(from *scenario.Table, choice string, params any, key string) string {
	if params == nil {
		return ""
	}
	if p := from.Find(choice).Find(key); p != nil {
		return p.Text(params)
	}
	return ""
}
