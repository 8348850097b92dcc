package main

import (
	"testing"

	"fabemu/emu/limitertest"
	"fabemu/node/rp"
)

func TestAIMD(t *testing.T) {
	limitertest.RunController(t, func(site rp.Site) rp.Controller { return newAIMD(site.Line) }, nil)
}
