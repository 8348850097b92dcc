package switchd

import (
	"math"
	"testing"

	"fabemu/wire/unit"
)

// A frame that reaches the watermark is in the shared memory up to there, to the byte; the rest,
// and what comes after it, is headroom. If others have taken what was free, all of a frame is: a
// byte more than above a fixed watermark.
func TestPoolCharges(t *testing.T) {
	p := &pool{Dynamic: Dynamic{Alpha: 4, Shared: 10000, Offset: 100}, over: make([]unit.Size, 2), least: math.MaxInt64}
	all := make([]occupancy, 2)
	state := func(what string, k int, taken, over, used unit.Size, stopped bool) {
		t.Helper()
		if all[k].taken != taken || p.over[k] != over || p.used != used || all[k].stopped != stopped {
			t.Errorf("%s: %d taken, %d of them headroom, stopped: %v; %d used: want %d, %d, %v, %d",
				what, all[k].taken, p.over[k], all[k].stopped, p.used, taken, over, stopped, used)
		}
	}
	p.store(0, &all[0], 7500, true)
	state("below", 0, 7500, 0, 7500, false)
	if stop, _ := p.store(0, &all[0], 1000, true); !stop {
		t.Error("8000 is 4 times the 2000 that are free")
	}
	state("at the watermark", 0, 8500, 500, 8000, true)
	p.store(0, &all[0], 1000, true)
	state("behind it", 0, 9500, 1500, 8000, true)

	p.store(1, &all[1], 1000, true)
	state("the other", 1, 1000, 0, 9000, false)
	p.store(1, &all[1], 500, true)
	state("below 4 times 500", 1, 1500, 0, 9500, false)
	if stop, _ := p.store(1, &all[1], 1000, true); !stop || p.over[1] != 900 {
		t.Errorf("1600 is 4 times the 400 that are free: %d bytes are headroom", p.over[1])
	}
	p.free(1, all, 2500)
	state("free again", 1, 0, 0, 8000, false)

	// The first is released, and below its watermark when the other one takes what is free.
	p.free(0, all, 1500+100)
	state("its headroom is free", 0, 7900, 0, 7900, false)
	if got := p.resumed; len(got) != 2 || got[1] != 0 {
		t.Errorf("%v may resume, want 1 and then 0", got)
	}
	p.store(1, &all[1], 1000, true)
	if stop, _ := p.store(0, &all[0], 1000, true); !stop || p.over[0] != 1000 {
		t.Errorf("stopped: %v; %d bytes are headroom, want 1000", stop, p.over[0])
	}
}
