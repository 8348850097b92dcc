package capture

import (
	"sync/atomic"
	"time"
)

// queueSize is how many items the queue holds: at the pace of a wall run, more
// than a second of them.
const queueSize = 1 << 15

// queue hands items from one goroutine to another. Neither waits for a lock, and
// the one that puts does not wake the other, which would cost it more than all the
// rest: the other looks from time to time.
type queue struct {
	put    atomic.Uint64
	taken  atomic.Uint64
	closed atomic.Bool
	waits  bool // a full queue makes the one that puts wait
	missed atomic.Int64
	items  [queueSize]item
}

// look is how long each side waits before it looks again.
const look = time.Millisecond / 2

// next returns the place of the next item, to be filled and then pushed; nil if
// there is none.
func (q *queue) next() *item {
	n := q.put.Load()
	for n-q.taken.Load() == queueSize {
		if !q.waits {
			return nil
		}
		time.Sleep(look)
	}
	return &q.items[n%queueSize]
}

func (q *queue) push() { q.put.Add(1) }

// pull hands all items to do, until the queue is closed and empty. When there is
// nothing to do it calls idle.
func (q *queue) pull(do func(*item), idle func()) {
	for {
		closed := q.closed.Load() // before the last look at what was put
		n, end := q.taken.Load(), q.put.Load()
		if n == end {
			if closed {
				return
			}
			idle()
			time.Sleep(look)
			continue
		}
		for ; n < end; n++ {
			do(&q.items[n%queueSize])
			q.taken.Store(n + 1)
		}
	}
}
