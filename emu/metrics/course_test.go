package metrics

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The course of an active run is what a run would have had that ended there, and stays
// that, whatever comes later or late. Another goroutine reads it at the same time.
func TestCourse(t *testing.T) {
	f, s := paperFabric(2)
	f.Scenario = s
	whole, err := New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	ask, courses := whole.Courses()
	type told struct {
		course *Course
		first  []Series
	}
	asked, taken := make(chan bool), make(chan []told)
	go func() {
		var all []told
		for range 8 {
			ask()
			asked <- true
			x := <-courses
			all = append(all, told{x, x.Series()})
		}
		taken <- all
	}()
	draw := rand.New(rand.NewPCG(1, 1))
	events := frames(f)
	var past []trace.Event
	for at := unit.Time(0); at < 10*ms; at += 5 * us {
		if at%ms == 0 && at < 8*ms {
			<-asked
		}
		e := events[draw.IntN(len(events))]
		e.At = at + 3*us // no frame that comes has been in flight at an edge
		past = append(past, e)
		whole.Record(&e)
		if draw.IntN(50) == 0 { // late by a thousand bins and less
			e.At = unit.Time(draw.Int64N(int64(at + 1)))
			e.Kind, e.Bytes = trace.Deliver, 100
			whole.Record(&e)
		}
	}
	for _, x := range <-taken {
		if first, now := fmt.Sprint(x.first), fmt.Sprint(x.course.Series()); first != now {
			t.Fatalf("that to %v changed afterwards from\n%s\nto\n%s", x.course.c.End(), first, now)
		}
	}

	// Without late events it is that of a run that ends there.
	going, _ := New(f, s)
	ask, courses = going.Courses()
	for i := range past {
		if going.Record(&past[i]); i%500 == 499 {
			ask()
		}
		select {
		case x := <-courses:
			end := x.c.End()
			if end < past[i].At-300*us {
				t.Errorf("at %v it goes up to %v", past[i].At, end)
			}
			ended, _ := New(f, s)
			for k := 0; past[k].At < end; k++ {
				ended.Record(&past[k])
			}
			ended.Close(end)
			if got, want := fmt.Sprint(x.Outline()), fmt.Sprint(ended.Outline()); got != want {
				t.Fatalf("that to %v is\n%s\nwant\n%s", end, got, want)
			}
		default:
		}
	}
}
