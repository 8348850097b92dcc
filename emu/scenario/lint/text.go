package lint

import "fabemu/wire/param"

// textOf returns a parameter as a scenario writes it; empty if the scheme does not have the key.
func textOf(params any, key string) string {
	if params == nil {
		return ""
	}
	if p := param.Of(params).Find(key); p != nil {
		return p.Text(params)
	}
	return ""
}
