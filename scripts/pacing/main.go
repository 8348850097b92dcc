package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// What is paced.
const (
	frameBytes = 2068
	gapNs      = 206_800
	rateBits   = frameBytes * 8 * 1_000_000_000 / gapNs // 80 Mbit/s
)

// A method paces frames for some time and returns when the kernel received each.
type method struct {
	name string
	run  func(ctx context.Context, length time.Duration) (arrivals, error)
}

// arrivals are what came of a round.
type arrivals struct {
	stamps []int64 // ns, in the order of arrival
	sent   int64
}

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "pacing:", err)
	var usage usageError
	if errors.As(err, &usage) {
		os.Exit(2)
	}
	os.Exit(1)
}

// usageError is a mistake in the call.
type usageError string

func (e usageError) Error() string { return string(e) }

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "send":
			return send(args[1:])
		case "receive":
			return receive(args[1:])
		}
	}
	rounds, length, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Geteuid() != 0 {
		return errors.New("this wants root: htb and tbf are measured in network namespaces of their own")
	}
	k, err := newKernel(ctx)
	if err != nil {
		return err
	}
	results, err := measure(ctx, []method{
		{"fabemu", fabemu},
		{"htb", k.htb(bestBurst)},
		{"tbf", k.tbf(bestBurst)},
		{"tbf, least burst", k.tbf(1)},
		{"time.Sleep", sleep},
	}, rounds, length)
	if err = errors.Join(err, k.close()); err != nil {
		return err
	}
	return write(os.Stdout, results, rounds, length)
}

// parse reads the arguments: ROUNDS and SECONDS.
func parse(args []string) (rounds int, length time.Duration, err error) {
	const usage = usageError("usage: pacing [ROUNDS [SECONDS]], ROUNDS from 1, SECONDS from 0.1 to 60")
	rounds, seconds := 5, 1.0
	if len(args) > 0 {
		if rounds, err = strconv.Atoi(args[0]); err != nil || rounds < 1 {
			return 0, 0, usage
		}
	}
	if len(args) > 1 {
		if seconds, err = strconv.ParseFloat(args[1], 64); err != nil || !(seconds >= 0.1 && seconds <= 60) {
			return 0, 0, usage
		}
	}
	if len(args) > 2 {
		return 0, 0, usage
	}
	return rounds, time.Duration(seconds * 1e9), nil
}

// measure lets the methods take turns.
func measure(ctx context.Context, methods []method, rounds int, length time.Duration) ([]figures, error) {
	results := make([]figures, len(methods))
	for i, m := range methods {
		results[i].name = m.name
	}
	for round := range rounds {
		for i, m := range methods {
			fmt.Fprintf(os.Stderr, "pacing: round %d of %d: %s\n", round+1, rounds, m.name)
			a, err := m.run(ctx, length)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			results[i].add(a)
		}
	}
	return results, nil
}
