package capture

import (
	"sync/atomic"
	"time"
)

// The queue holds at most maxBlocks blocks: at the pace of a wall run, seconds.
const (
	blockSize = 256
	maxBlocks = 512
)

// queue hands items from one goroutine to another. Neither waits for a lock, and
// the one that puts does not wake the other, which would cost it more than all the
// rest: the other looks from time to time.
//
// Items are in blocks, which go round: as long as the one that takes keeps up, a
// few are in use, and these stay in the cache of the processor.
type queue struct {
	waits  bool // a full queue makes the one that puts wait
	closed atomic.Bool
	missed atomic.Int64

	full, free chan *block

	filling  *block // of the one that puts
	made     int
	draining *block // of the one that takes
	drained  int32
}

// block is a part of the queue.
type block struct {
	n     atomic.Int32 // how many items there are
	items [blockSize]item
}

func newQueue(waits bool) *queue {
	return &queue{waits: waits, full: make(chan *block, maxBlocks), free: make(chan *block, maxBlocks)}
}

// taken returns the next block of a channel; nil if there is none.
func taken(c chan *block) *block {
	select {
	case b := <-c:
		return b
	default:
		return nil
	}
}

// look is how long each side waits before it looks again.
const look = time.Millisecond / 2

// next returns the place of the next item, to be filled and then pushed; nil if
// there is none.
func (q *queue) next() *item {
	if q.filling == nil || q.filling.n.Load() == blockSize {
		if !q.turn() {
			return nil
		}
	}
	return &q.filling.items[q.filling.n.Load()]
}

// push hands over the item whose place next has returned.
func (q *queue) push() { q.filling.n.Add(1) }

// turn begins a block; false if there is none.
func (q *queue) turn() bool {
	for {
		b := taken(q.free)
		if b == nil && q.made < maxBlocks {
			q.made++
			b = new(block)
		}
		if b != nil {
			b.n.Store(0)
			q.filling = b
			q.full <- b // it has room for all
			return true
		}
		if !q.waits {
			return false
		}
		time.Sleep(look)
	}
}

// pull hands all items to do, until the queue is closed and empty. When there is
// nothing to do it calls idle.
func (q *queue) pull(do func(*item), idle func()) {
	for {
		closed := q.closed.Load() // before the last look at the items
		if q.draining == nil {
			q.draining, q.drained = taken(q.full), 0
		}
		n := int32(0)
		if q.draining != nil {
			n = q.draining.n.Load()
		}
		if q.drained == n && n < blockSize {
			if closed {
				return
			}
			idle()
			time.Sleep(look)
			continue
		}
		for ; q.drained < n; q.drained++ {
			do(&q.draining.items[q.drained])
		}
		if n == blockSize {
			q.free <- q.draining
			q.draining = nil
		}
	}
}
