package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"

	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/live"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// ofRun is the help on the argument RUN.
const ofRun = `RUN is the folder of the results of a run that goes on, its name below results/, or the address
of its page (run --live).`

func statusCommand() *cobra.Command {
	var asJSON bool
	c := runCommandOf(&cobra.Command{
		Use:   "status RUN",
		Short: "Show the state of a run that goes on",
		Long: `Show the state of a run that goes on: the time, the verdict so far, and the faults that are active.

` + ofRun,
		Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, r *runSite, _ []string) error {
		body, err := r.ask(http.MethodGet, "status", nil)
		if err != nil {
			return err
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		var s live.Status
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			return failure{err}
		}
		if asJSON {
			c.OutOrStdout().Write(text)
			return nil
		}
		showStatus(c.OutOrStdout(), &s)
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// showStatus prints a status for people.
func showStatus(w io.Writer, s *live.Status) {
	fmt.Fprintf(w, "%s: %s, %.1f %% (model time %v of %v), %s clock", s.Scenario, s.State, 100*float64(s.ModelPs)/float64(s.EndPs),
		unit.Time(s.ModelPs), unit.Time(s.EndPs), s.Clock)
	if s.Dilation > 0 {
		fmt.Fprintf(w, ", dilation %d", s.Dilation)
	}
	fmt.Fprintln(w)
	if s.Verdict != "" {
		fmt.Fprintf(w, "verdict so far: %s\n", strings.TrimSuffix(string(s.Verdict)+": "+s.Why, ": "))
	}
	for _, t := range s.Active {
		fmt.Fprintf(w, "active since %v: %s\n", unit.Time(t.SincePs), t.Text)
	}
	for _, words := range append(s.Deadlocks, s.Roots...) {
		fmt.Fprintln(w, words)
	}
	for _, k := range s.Checks {
		fmt.Fprintf(w, "check %s: %s\n", k.ID, cmp.Or(string(k.State), "open"))
	}
	if !s.Changes {
		fmt.Fprintf(w, "it takes no changes: %s\n", s.Refused)
	}
}

func eventsCommand() *cobra.Command {
	var asJSON, follow bool
	c := runCommandOf(&cobra.Command{
		Use:   "events RUN",
		Short: "Show the events of a run that goes on",
		Long: `Show the events of a run that goes on, so far: the events of its scenario, the changes by fabemu set and
by the page, the ends of faults, storms that a PFC watchdog has found, deadlocks. With --follow it goes on
until the run is over.

` + ofRun,
		Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, r *runSite, _ []string) error {
		thing := "events"
		if follow {
			thing += "?follow=1"
		}
		body, err := r.ask(http.MethodGet, thing, nil)
		if err != nil {
			return err
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			var h live.Happening
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
				return failure{err}
			}
			if asJSON {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", lines.Bytes())
			} else {
				_, err = fmt.Fprintln(c.OutOrStdout(), happeningText(&h))
			}
			if err != nil {
				return failure{err}
			}
		}
		return failed(lines.Err())
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, an object a line")
	c.Flags().BoolVar(&follow, "follow", false, "go on until the run is over")
	return c
}

// happeningText is a line about an event.
func happeningText(h *live.Happening) string {
	text := fmt.Sprintf("%-16v %-10s %s", unit.Time(h.AtPs), h.Kind, h.Text)
	if h.By == "hand" {
		text += "  " + h.Event
	}
	return text
}

func setCommand() *cobra.Command {
	c := runCommandOf(&cobra.Command{
		Use:   "set RUN CHANGE...",
		Short: "Change a run that goes on",
		Long: `Change a run that goes on, on the wall clock in one process:

  ` + strings.ReplaceAll(scenario.Commands, "\n", "\n  ") + `

or any line of a scenario's events without its time, in one word: '{link: trunk, loss: 0.01, for: 2ms}'.
The change happens at once. Its line with its time is printed: a scenario with the lines of all
changes under events is the same run. They stand in resolved.yaml of the results, too.

` + ofRun,
		Args: cobra.MinimumNArgs(2),
	}, func(c *cobra.Command, r *runSite, words []string) error {
		change, err := scenario.Command(words)
		if err != nil {
			return err
		}
		body, err := r.ask(http.MethodPost, "events", change)
		if err != nil {
			return err
		}
		defer body.Close()
		var done live.Done
		if err := json.NewDecoder(body).Decode(&done); err != nil {
			return failure{err}
		}
		fmt.Fprintf(c.OutOrStdout(), "  - %s\n", done.Event)
		return nil
	})
	of := c.ValidArgsFunction
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return scenario.CommandWords(args[1:]), cobra.ShellCompDirectiveNoFileComp
		}
		return of(c, args, word)
	}
	return c
}

// runCommandOf makes a command act on a run that goes on, which its first argument names.
func runCommandOf(c *cobra.Command, act func(*cobra.Command, *runSite, []string) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, stop := untilEnded(c)
		defer stop()
		return act(c, siteOf(ctx, args[0]), args[1:])
	}
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return runsThatGoOn(), cobra.ShellCompDirectiveFilterDirs
	}
	return c
}

// runSite is the interface of a run that goes on.
type runSite struct {
	ctx    context.Context
	name   string // as it was given
	base   string // of the addresses
	socket string // in the folder of the run; empty: it is a page
	client http.Client
}

// siteOf returns the interface of a run that is named by its folder, or by the address of its page.
func siteOf(ctx context.Context, name string) *runSite {
	r := &runSite{ctx: ctx, name: name}
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		r.base = strings.TrimSuffix(name, "/") + "/"
		return r
	}
	dir := name
	if below := filepath.Join("results", name); !exists(dir) && exists(below) {
		dir = below
	}
	r.base, r.socket = "http://run/", filepath.Join(dir, live.SocketFile)
	r.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return process.DialTo(ctx, r.socket)
	}}
	return r
}

// ask asks the run for a thing, and returns the body of the answer. An error of the call or of the change is the
// user's to mend.
func (r *runSite) ask(method, thing string, body any) (io.ReadCloser, error) {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // a string
	}
	q, err := http.NewRequestWithContext(r.ctx, method, r.base+thing, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := r.client.Do(q)
	if err != nil {
		return nil, r.unreachable(err)
	}
	if a.StatusCode == http.StatusOK {
		return a.Body, nil
	}
	defer a.Body.Close()
	refusal := live.Refusal{Error: a.Status}
	if a.StatusCode == http.StatusNotFound || json.NewDecoder(io.LimitReader(a.Body, 1<<20)).Decode(&refusal) != nil {
		return nil, fmt.Errorf("%s: there is no run (%s): its address is the one of its page, with its token", r.name, a.Status)
	}
	if a.StatusCode >= http.StatusInternalServerError {
		return nil, failure{fmt.Errorf("%s: %s", r.name, refusal.Error)}
	}
	return nil, fmt.Errorf("%s: %s", r.name, refusal.Error)
}

// unreachable explains why a run cannot be reached.
func (r *runSite) unreachable(err error) error {
	dir := filepath.Dir(r.socket)
	others := "no run goes on below results/"
	if all := runsThatGoOn(); len(all) > 0 {
		others = "there are " + strings.Join(all, ", ")
	}
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case r.socket == "":
		return fmt.Errorf("%s does not answer: the run has ended, or that is not the address of its page: %w", r.name, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: the run was killed: its socket %s is there and nobody answers; %s", r.name, r.socket, others)
	case !errors.Is(err, fs.ErrNotExist):
		return failure{fmt.Errorf("%s: %w", r.name, err)}
	case exists(filepath.Join(dir, report.ResultFile)):
		return fmt.Errorf("%s: the run has ended: fabemu report %s shows its results; %s", r.name, dir, others)
	}
	return fmt.Errorf("%s is not the folder of a run that goes on; %s", r.name, others)
}

// runsThatGoOn returns the folders below results/ whose runs answer.
func runsThatGoOn() (dirs []string) {
	sockets, _ := filepath.Glob(filepath.Join("results", "*", live.SocketFile))
	more, _ := filepath.Glob(filepath.Join("results", "*", "*", live.SocketFile))
	for _, path := range append(sockets, more...) {
		if c, err := process.DialTo(context.Background(), path); err == nil {
			c.Close()
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	return dirs
}
