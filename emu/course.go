package emu

import (
	"context"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/metrics"
)

// often is the wall time between two reports of the course of a run. At most a twentieth of
// the time goes into reports.
const (
	often       = 30 * time.Second
	courseShare = 20
)

// follow reports the course of the figures of a run, again and again. It returns a function that ends
// this: it ends the context of report, waits until it has returned, and returns its error.
func follow(c *metrics.Collector, report func(context.Context, *metrics.Course)) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ask, courses := c.Courses()
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		defer errs.Into(&err)
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
				report(ctx, x)
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
