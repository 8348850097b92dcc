package drive

import (
	"runtime"
	"sync/atomic"
	"time"
)

// barrier is where the goroutines of several loops wait for each other, again and again. Every one of them
// has to come, one that has failed too: the others wait for it without end. They spin, give way
// where there are fewer processors than goroutines, or when it takes long, and sleep for a moment at
// a time when other programs have the processor of the one that they wait for: to be woken they would
// have to announce in each round that they sleep, and there are hundreds of thousands of rounds in a second.
type barrier struct {
	n       int32
	patient int
	_       [48]byte
	came    atomic.Int32
	_       [60]byte
	round   atomic.Uint32
	_       [60]byte
}

// patience is how often a goroutine that waits for others looks before it gives way.
const patience = 20_000

// newBarrier returns a barrier of n goroutines.
func newBarrier(n int) *barrier {
	b := &barrier{n: int32(n)}
	if runtime.GOMAXPROCS(0) >= n {
		b.patient = patience
	}
	return b
}

// wait returns when all goroutines of the barrier have called it, once more each.
func (b *barrier) wait() {
	round := b.round.Load()
	if b.came.Add(1) == b.n {
		b.came.Store(0)
		b.round.Store(round + 1)
		return
	}
	for looks := 0; b.round.Load() == round; looks++ {
		switch {
		case looks >= 2*patience:
			time.Sleep(20 * time.Microsecond)
		case looks >= b.patient:
			runtime.Gosched()
		}
	}
}
