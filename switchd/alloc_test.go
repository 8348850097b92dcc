//go:build timing

package switchd_test

import "testing"

func TestAllocsOfAFrame(t *testing.T) {
	for _, c := range pumped {
		t.Run(c.name, func(t *testing.T) {
			p := newPump(t, c.inputs, c.change)
			for p.frames < 1000 { // the tables have grown by then
				p.step()
			}
			if n := testing.AllocsPerRun(10, func() {
				for end := p.frames + 1000; p.frames < end; {
					p.step()
				}
			}); n != 0 {
				t.Errorf("1000 frames allocate %v times", n)
			}
		})
	}
}

func TestAllocsOfAFrameInAnOutputQueue(t *testing.T) {
	for _, c := range etherPumped {
		t.Run(c.name, func(t *testing.T) {
			p := newEtherPump(t, c.inputs, c.change)
			for p.frames < 1000 { // the tables have grown by then
				p.step()
			}
			if n := testing.AllocsPerRun(10, func() {
				for end := p.frames + 1000; p.frames < end; {
					p.step()
				}
			}); n != 0 {
				t.Errorf("1000 frames allocate %v times", n)
			}
		})
	}
}
