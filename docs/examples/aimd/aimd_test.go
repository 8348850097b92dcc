package main

import (
	"testing"

	"fabemu/emu/limitertest"
	"fabemu/node/rp"
)

func TestAIMD(t *testing.T) {
	limitertest.RunReaction(t, func(site rp.Site) rp.Reaction { return newAIMD(site.Line) }, nil)
}
