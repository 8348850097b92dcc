//go:build soak

package scripts

func init() { profiled = true }
