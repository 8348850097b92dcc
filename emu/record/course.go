package record

import (
	"context"
	"time"

	"fabemu/emu/crash"
	"fabemu/emu/metrics"
)

// often is after how much wall time a run that goes on is told of, and again: at the most a
// twentieth of the time goes into telling.
const (
	often       = 30 * time.Second
	courseShare = 20
)

// follow tells how the figures of a run have gone so far, again and again, and returns what ends
// that: it ends the context of tell, waits until it has returned, and says what went wrong.
func follow(c *metrics.Collector, tell func(context.Context, *metrics.Course)) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ask, courses := c.Courses()
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		defer crash.Into(&err)
		for wait := often; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			ask()
			select {
			case <-ctx.Done():
				return
			case x := <-courses:
				began := time.Now()
				tell(ctx, x)
				wait = max(often, courseShare*time.Since(began))
			}
		}
	}()
	return func() error {
		cancel()
		<-ended
		return err
	}
}
