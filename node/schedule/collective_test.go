package schedule_test

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"fabemu/node/schedule"
	"fabemu/wire/unit"
)

const (
	gigabit = unit.Rate(1e9)       // 8 ns for each byte
	byteNs  = 8 * unit.Nanosecond  // of it
	delay   = 3 * unit.Microsecond // of a message
)

var allRanks = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 64}

// each calls f for every algorithm of every operation.
func each(f func(o schedule.Operation, a schedule.Algorithm)) {
	for o := range schedule.Barrier + 1 {
		for _, a := range o.Algorithms() {
			f(o, a)
		}
	}
}

func programs(c schedule.Collective) (all []schedule.Program) {
	for r := range c.Ranks {
		all = append(all, c.Program(r))
	}
	return all
}

// set is a set of ranks whose contributions a chunk has: rank r is bit r.
type set uint64

// content is what a rank holds: a set for each chunk.
type content []set

// model is the meaning of a collective operation, apart from its schedule: which chunks are in a
// message of a step, and what the receiver does with them.
type model struct {
	c      schedule.Collective
	chunks int // of the vector
}

func modelOf(c schedule.Collective) model {
	m := model{c, c.Ranks}
	if c.Algorithm == schedule.HalvingDoubling {
		m.chunks = 1 << (bits.Len(uint(c.Ranks)) - 1)
	}
	return m
}

// carried returns the chunks from lo to hi-1 that rank sends to another one in a step, from 1,
// and whether the receiver adds them to its own.
func (m model) carried(rank, to, step int) (lo, hi int, adds bool) {
	n, c := m.c.Ranks, m.c
	mod := func(i int) int { return (i + 4*n) % n }
	switch c.Algorithm {
	case schedule.Ring:
		switch {
		case c.Kind == schedule.AllGather:
			lo = mod(rank - (step - 1))
		case c.Kind == schedule.ReduceScatter || step <= n-1:
			lo, adds = mod(rank-step), true
		default:
			lo = mod(rank - (step - n))
		}
		return lo, lo + 1, adds
	case schedule.HalvingDoubling:
		p := m.chunks
		half := bits.Len(uint(p)) - 1
		if p < n {
			if step == 1 || step == 2*half+2 {
				return 0, p, step == 1
			}
			step--
		}
		if step <= half {
			size := p >> step // of the half that the partner keeps
			lo = to / size * size
			return lo, lo + size, true
		}
		size := 1 << (step - half - 1)
		lo = rank / size * size
		return lo, lo + size, false
	case schedule.Pairwise, schedule.Shift:
		return to, to + 1, true
	}
	return 0, n, true
}

// begin returns the contents of the ranks before a round.
func (m model) begin() []content {
	all := make([]content, m.c.Ranks)
	for r := range all {
		all[r] = make(content, m.chunks)
		for i := range all[r] {
			switch m.c.Kind {
			case schedule.AllReduce, schedule.ReduceScatter, schedule.Barrier:
				all[r][i] = 1 << r
			case schedule.AllGather:
				if i == r {
					all[r][i] = 1 << r
				}
			case schedule.AllToAll:
				if i == r {
					all[r][i] = 1 << r // of the chunks for itself; the others' chunks come
				}
			case schedule.Broadcast:
				if r == 0 {
					all[r][i] = 1
				}
			}
		}
	}
	return all
}

// complete returns an error unless the contents are those after a round.
func (m model) complete(all []content) error {
	everyone := set(1)<<m.c.Ranks - 1 // 64 ranks: all bits
	for r, held := range all {
		for i, s := range held {
			want := s
			switch m.c.Kind {
			case schedule.AllReduce, schedule.Barrier:
				want = everyone
			case schedule.AllGather:
				want = 1 << i
			case schedule.ReduceScatter, schedule.AllToAll:
				if i == r {
					want = everyone
				}
			case schedule.Broadcast:
				want = 1
			}
			if s != want {
				return fmt.Errorf("rank %d has contributions %b in chunk %d, want %b", r, s, i, want)
			}
		}
	}
	return nil
}

// Each message carries the contributions that its sender has when it hands the message out.
// After a round each rank has what the operation promises, whatever the messages' latencies.
func TestCollectivesDeliver(t *testing.T) {
	each(func(o schedule.Operation, a schedule.Algorithm) {
		for _, n := range allRanks {
			const rounds = 3
			c := schedule.Collective{Kind: o, Algorithm: a, Ranks: n, Size: 1000, Repeat: rounds, Compute: unit.Microsecond}
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			m := modelOf(c)
			var contents [rounds + 1][]content
			for i := range contents {
				contents[i] = m.begin()
			}
			type key struct {
				to, from int
				tag      uint32
			}
			under := map[key]content{}
			last := 0
			j := newJob(gigabit, delay, 4*n+4, programs(c), func(r int, op schedule.Op, _, _ unit.Time) {
				last = max(last, op.Step)
				if op.Kind != schedule.Receive {
					return
				}
				sent, there := under[key{r, op.Peer, op.Tag}]
				if !there {
					t.Fatalf("%v of %d: rank %d: %v has ended without a message", c.Kind, n, r, op)
				}
				held := contents[op.Round][r]
				lo, hi, adds := m.carried(op.Peer, r, op.Step)
				for i := lo; i < hi; i++ {
					if adds && o != schedule.Barrier && held[i]&sent[i] != 0 {
						t.Fatalf("%v, %v of %d: %v adds %b to %b twice", o, a, n, op, sent[i], held[i])
					}
					if !adds {
						held[i] = 0
					}
					held[i] |= sent[i]
				}
			})
			random := unit.NewRandom(7, uint64(n))
			j.latency = func() unit.Duration { return random.Span(20 * delay) }
			j.handed = func(from int, msg schedule.Message) {
				k := key{msg.To, from, msg.Tag}
				if under[k] != nil {
					t.Fatalf("%v of %d: two messages from %d to %d have tag %d", o, n, from, msg.To, msg.Tag)
				}
				held := slices.Clone(contents[msg.Round][from])
				if o == schedule.AllToAll {
					held[msg.To] = 1 << from
				}
				under[k] = held
				lo, hi, _ := m.carried(from, msg.To, msg.Step)
				if want := vector(c.Size, m.chunks, lo, hi); o != schedule.Barrier && msg.Size != want {
					t.Fatalf("%v, %v of %d: step %d of rank %d has %d bytes, want %d", o, a, n, msg.Step, from, msg.Size, want)
				}
			}
			j.run()
			j.finished(t)
			for round := 1; round <= rounds; round++ {
				if err := m.complete(contents[round]); err != nil {
					t.Errorf("%v, %v of %d, round %d: %v", o, a, n, round, err)
				}
			}
			if last != c.Steps() {
				t.Errorf("%v, %v of %d: %d steps, want %d", o, a, n, last, c.Steps())
			}
		}
	})
}

// vector returns the bytes of chunks lo to hi-1 of n, where the first ones are the larger ones.
func vector(size unit.Size, n, lo, hi int) (sum unit.Size) {
	for i := lo; i < hi; i++ {
		sum += size / unit.Size(n)
		if unit.Size(i) < size%unit.Size(n) {
			sum++
		}
	}
	return sum
}

func TestChunks(t *testing.T) {
	for _, n := range allRanks {
		for _, size := range []unit.Size{1, 2, 7, 64, 1000, 1<<50 - 1} {
			c := schedule.Collective{Ranks: n, Size: size}
			var sum unit.Size
			for i := range n {
				if got, want := c.Chunk(i), vector(size, n, i, i+1); got != want {
					t.Errorf("chunk %d of %d bytes for %d ranks is %d, want %d", i, size, n, got, want)
				}
				sum += c.Chunk(i)
			}
			if sum != size {
				t.Errorf("the chunks of %d bytes for %d ranks are %d bytes together", size, n, sum)
			}
		}
	}
}

// The time of a round on an idle fabric: the bound and the latencies of the steps, exactly.
// The bytes that all ranks send, exactly.
func TestCollectiveTimes(t *testing.T) {
	each(func(o schedule.Operation, a schedule.Algorithm) {
		for _, n := range allRanks {
			size := unit.Size(n * 64 * 12)
			c := schedule.Collective{Kind: o, Algorithm: a, Ranks: n, Size: size}
			j := newJob(gigabit, delay, 0, programs(c), nil)
			got := unit.Duration(j.run())
			j.finished(t)

			N, chunk := unit.Size(n), size/unit.Size(n)
			power := n&(n-1) == 0
			p := unit.Size(1) << (bits.Len(uint(n)) - 1)
			log := unit.Duration(bits.Len(uint(n - 1)))
			var bytes, total unit.Size // on the longest way, and of all
			steps := unit.Duration(n - 1)
			switch {
			case o == schedule.AllReduce && a == schedule.Ring:
				bytes, total, steps = 2*(N-1)*chunk, 2*(N-1)*size, 2*steps
			case o == schedule.AllReduce:
				bytes, total, steps = 2*(p-1)*size/p, 2*(p-1)*size, 2*unit.Duration(bits.Len(uint(p-1)))
				if !power {
					bytes, total, steps = bytes+2*size, total+2*(N-p)*size, steps+2
				}
			case o == schedule.AllGather || o == schedule.ReduceScatter || o == schedule.AllToAll:
				bytes, total = (N-1)*chunk, (N-1)*size
				if a == schedule.Shift {
					steps = min(steps, 1)
				}
			case o == schedule.Broadcast:
				bytes, total, steps = unit.Size(log)*size, (N-1)*size, log
			case o == schedule.Barrier:
				bytes, total, steps = unit.Size(log)*size, unit.Size(log)*N*size, log
			}
			least := unit.Duration(bytes) * byteNs
			if c.LeastTime(gigabit) != least {
				t.Errorf("%v, %v of %d: the bound is %v, want %v", o, a, n, c.LeastTime(gigabit), least)
			}
			want := least + steps*delay
			if o == schedule.Broadcast && !power {
				// The subtrees that begin last are smaller, so the longest way may lack a step.
				if got > want || got < least {
					t.Errorf("%v of %d takes %v, want %v to %v", o, n, got, least, want)
				}
			} else if got != want {
				t.Errorf("%v, %v of %d takes %v, want %v", o, a, n, got, want)
			}
			var sum unit.Size
			for _, b := range j.bytes {
				sum += b
			}
			if sum != total {
				t.Errorf("%v, %v of %d: %d bytes are sent, want %d", o, a, n, sum, total)
			}
		}
	})
}

// Where the vector does not divide, nothing is faster than the bound, and a ring takes it and
// the latencies exactly: the largest chunk passes through each step.
func TestLeastTimeOfOddSizes(t *testing.T) {
	each(func(o schedule.Operation, a schedule.Algorithm) {
		for _, n := range allRanks {
			for _, size := range []unit.Size{1, 13, 1001} {
				c := schedule.Collective{Kind: o, Algorithm: a, Ranks: n, Size: size}
				j := newJob(gigabit, delay, 0, programs(c), nil)
				got := unit.Duration(j.run())
				j.finished(t)
				least := c.LeastTime(gigabit)
				if got < least {
					t.Errorf("%v, %v of %d with %d bytes takes %v, below the bound of %v", o, a, n, size, got, least)
				}
				if want := least + unit.Duration(c.Steps())*delay; a == schedule.Ring && got != want {
					t.Errorf("%v, %v of %d with %d bytes takes %v, want %v", o, a, n, size, got, want)
				}
			}
		}
	})
}

// In Pairwise and Binomial a rank sends one message after another, also where the message of
// its partner comes before its own is sent.
func TestOneMessageAfterAnother(t *testing.T) {
	for _, a := range []schedule.Algorithm{schedule.Pairwise, schedule.Binomial} {
		c := schedule.Collective{Kind: schedule.AllToAll, Algorithm: a, Ranks: 8, Size: 8000, Repeat: 5}
		if a == schedule.Binomial {
			c.Kind = schedule.Broadcast
		}
		free := make([]unit.Time, c.Ranks)
		sends := 0
		j := newJob(gigabit, 0, 0, programs(c), func(r int, op schedule.Op, start, end unit.Time) {
			if op.Kind == schedule.Send {
				sends++
				if start < free[r] {
					t.Errorf("%v: the %v of rank %d begins at %v, and the one before ends at %v", a, op, r, start, free[r])
				}
				free[r] = end
			}
		})
		random := unit.NewRandom(3, 0)
		j.latency = func() unit.Duration { return random.Span(10 * delay) }
		j.run()
		j.finished(t)
		if want := 5 * 7; sends < want {
			t.Errorf("%v: %d sends, want %d at least", a, sends, want)
		}
	}
}

// Rounds follow one another, with the computation between them.
func TestRounds(t *testing.T) {
	c := schedule.Collective{Kind: schedule.AllReduce, Ranks: 4, Size: 4000}
	one := newJob(gigabit, delay, 0, programs(c), nil).run()
	c.Repeat, c.Compute = 5, 100*unit.Microsecond
	calcs := 0
	j := newJob(gigabit, delay, 0, programs(c), func(_ int, op schedule.Op, start, end unit.Time) {
		if op.Kind == schedule.Calc {
			calcs++
			if end.Sub(start) != c.Compute {
				t.Errorf("a calc takes %v", end.Sub(start))
			}
		}
	})
	got := j.run()
	j.finished(t)
	if want := 5*one + unit.Time(4*c.Compute); got != want {
		t.Errorf("five rounds take %v, want %v", got, want)
	}
	if calcs != 4*4 {
		t.Errorf("%d calcs, want one for each rank between two rounds: 16", calcs)
	}
	alone := schedule.Collective{Kind: schedule.AllReduce, Ranks: 1, Size: 1, Repeat: 3, Compute: unit.Second}
	if got := newJob(gigabit, delay, 0, programs(alone), nil).run(); got != unit.Time(2*unit.Second) {
		t.Errorf("one rank alone ends at %v, want after its two calcs", got)
	}
}

// "allreduce: B = S/t * (2*(n-1)/n)", "reducescatter, allgather, alltoall: (n-1)/n",
// "broadcast: 1" (nccl-tests, doc/PERFORMANCE.md). An ideal round of a ring, or of pairs, uses
// the whole line.
func TestBandwidths(t *testing.T) {
	for _, tc := range []struct {
		o      schedule.Operation
		factor float64
	}{
		{schedule.AllReduce, 2 * 7. / 8}, {schedule.AllGather, 7. / 8}, {schedule.ReduceScatter, 7. / 8},
		{schedule.AllToAll, 7. / 8}, {schedule.Broadcast, 1}, {schedule.Barrier, 0},
	} {
		c := schedule.Collective{Kind: tc.o, Ranks: 8, Size: 8 * unit.MB}
		if got := c.BusFactor(); got != tc.factor {
			t.Errorf("%v: factor %v, want %v", tc.o, got, tc.factor)
		}
		least := c.LeastTime(gigabit)
		bus := 0.
		if least > 0 {
			bus = float64(unit.RateOf(c.Size, least)) * c.BusFactor()
		}
		switch tc.o {
		case schedule.Broadcast: // three steps, one after another
			if got := unit.Rate(bus + 0.5); got != (gigabit+1)/3 {
				t.Errorf("%v: bus bandwidth %v", tc.o, got)
			}
		case schedule.Barrier:
			if bus != 0 {
				t.Errorf("a barrier has a bandwidth")
			}
		default:
			if got := unit.Rate(bus + 0.5); got < gigabit-1 || got > gigabit+1 {
				t.Errorf("%v: bus bandwidth %v of an ideal round, want the line's %v", tc.o, got, gigabit)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	good := schedule.Collective{Kind: schedule.AllReduce, Ranks: 2, Size: 1}
	for _, tc := range []struct {
		change func(*schedule.Collective)
		want   string
	}{
		{func(c *schedule.Collective) { c.Kind = 99 }, "there is no collective operation 99"},
		{func(c *schedule.Collective) { c.Algorithm = schedule.Binomial },
			"all-reduce has no algorithm binomial: it has ring, halving-doubling"},
		{func(c *schedule.Collective) { c.Algorithm = 99 }, "all-reduce has no algorithm unknown"},
		{func(c *schedule.Collective) { c.Ranks = 0 }, "all-reduce of 0 ranks: give 1 to 1048576"},
		{func(c *schedule.Collective) { c.Ranks = schedule.MaxRanks + 1 }, "all-reduce of 1048577 ranks"},
		{func(c *schedule.Collective) { c.Size = 0 }, "all-reduce of 0 bytes: give 1 to 1125899906842624"},
		{func(c *schedule.Collective) { c.Size = schedule.MaxSize + 1 }, "bytes: give 1 to"},
		{func(c *schedule.Collective) { c.Repeat = -1 }, "all-reduce repeated -1 times"},
		{func(c *schedule.Collective) { c.Compute = -1 }, "give 0 or more"},
	} {
		c := good
		tc.change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want %q", c, err, tc.want)
		}
	}
	each(func(o schedule.Operation, a schedule.Algorithm) {
		for _, c := range []schedule.Collective{{Kind: o, Algorithm: a, Ranks: 5, Size: 1}, {Kind: o, Ranks: 1, Size: 9}} {
			if err := c.Check(); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
	if err := (schedule.Collective{Kind: schedule.Barrier, Ranks: 3}).Check(); err != nil {
		t.Errorf("a barrier without a size: %v", err)
	}
}

// A collective program keeps its Reach, whatever the operation and the rank.
func TestReachOfCollectives(t *testing.T) {
	each(func(o schedule.Operation, a schedule.Algorithm) {
		for _, n := range allRanks {
			c := schedule.Collective{Kind: o, Algorithm: a, Ranks: n, Size: 100, Repeat: 3}
			for r := range n {
				p := c.Program(r)
				if got, most := reach(t, p), p.Reach(); got.Ahead > most.Ahead || got.Hold > most.Hold {
					t.Errorf("%v, %v, rank %d of %d: the program needs %+v and promises %+v", o, a, r, n, got, most)
				}
			}
		}
	})
}

// reach returns the reach that a program needs.
func reach(t *testing.T, p schedule.Program) (need schedule.Reach) {
	t.Helper()
	var at = map[uint64]int{}
	var last []int
	for {
		o, ok, err := p.Next()
		switch {
		case err != nil:
			t.Fatal(err)
		case !ok:
			need.Ahead = 1
			for i, l := range last {
				need.Ahead = max(need.Ahead, i-l)
			}
			return need
		case o.Kind < schedule.Requires:
			if o.Name != 0 {
				at[o.Name] = len(last)
			}
			last = append(last, -1)
		default:
			i, on := at[o.Name], at[o.On]
			last[i] = max(last[i], on)
			need.Hold = max(need.Hold, len(last)-1-i)
		}
	}
}
