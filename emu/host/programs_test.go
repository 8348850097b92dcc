package host_test

import (
	"testing"

	"fabemu/emu/host"
)

// A missing program has the name of its package.
func TestNoCommand(t *testing.T) {
	for name, want := range map[string]string{
		"iperf3":   "there is no command iperf3 on this machine: Debian and Ubuntu have it in the package iperf3",
		"ping":     "there is no command ping on this machine: Debian and Ubuntu have it in the package iputils-ping",
		"nonesuch": "there is no command nonesuch on this machine",
	} {
		if got := host.NoCommand(name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
