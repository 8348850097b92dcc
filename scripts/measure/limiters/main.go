// Command limiters measures the rate limiters of fabemu, of three other Go modules, and of the
// kernel (tbf and htb). It is a separate module, so that fabemu does not depend on the others. It
// prints a table in Markdown and the failed cases. The table also goes into the files of its arguments, between the
// lines "<!-- limiters -->" and "<!-- end of limiters -->".
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"fabemu/emu/run/mode"
	"fabemu/emu/study/limiters"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := func() error { return run(ctx, os.Args[1:]) }
	if slices.Equal(os.Args[1:], []string{"send"}) { // as veth.sh calls it
		do = send
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "limiters:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var results []*limiters.Result
	for _, s := range append(limiters.Ours(), others()...) {
		var both *limiters.Result
		for _, clock := range []mode.Clock{mode.VirtualClock, mode.WallClock} {
			fmt.Fprintf(os.Stderr, "%s, %s clock\n", s.Name, clock)
			r, err := limiters.Run(ctx, s, limiters.Options{Clock: clock})
			if err != nil {
				return err
			}
			if both == nil {
				both = r
				continue
			}
			both.Cases, both.Partial = append(both.Cases, r.Cases...), r.Partial
		}
		if both.Partial {
			return context.Canceled
		}
		results = append(results, both)
	}
	var missing []string
	for _, q := range qdiscs {
		fmt.Fprintln(os.Stderr, q.name)
		r, err := q.best()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			missing = append(missing, fmt.Sprintf("`%s` was not measured: %v.", q.name, err))
			continue
		}
		results = append(results, r)
	}
	var table, notes bytes.Buffer
	if err := limiters.WriteTable(&table, &notes, results); err != nil {
		return err
	}
	for _, m := range missing {
		fmt.Fprintf(&table, "\n%s\n", m)
	}
	for _, path := range args {
		if err := insert(path, table.String()); err != nil {
			return err
		}
	}
	_, err := fmt.Printf("%s\n%s", table.Bytes(), notes.Bytes())
	return err
}

// insert writes a table into a document.
func insert(path, table string) error {
	const begin, end = "<!-- limiters -->\n", "<!-- end of limiters -->"
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q", path, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(path, []byte(before+begin+table+end+after), 0o666)
}
