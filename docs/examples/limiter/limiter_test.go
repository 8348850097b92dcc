package main

import (
	"testing"

	"fabemu/emu/limitertest"
)

func TestPairs(t *testing.T)  { limitertest.Run(t, newPairs) }
func TestBucket(t *testing.T) { limitertest.Run(t, newBucket) }
