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
	"time"
	"unicode"

	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/live"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

func statusCommand() *cobra.Command {
	var f commonFlags
	c := runCommandOf(&cobra.Command{
		Use:   "status RUN",
		Short: "Show the state of an active run",
		Args:  cobra.ExactArgs(1),
	}, func(c *cobra.Command, r *runSite, _ []string) error {
		var s live.Status
		text, err := r.askFor(http.MethodGet, "status", nil, &s)
		switch {
		case err != nil:
			return err
		case s.Phase == "":
			return r.noRun("a status without a state")
		case f.JSON:
			fmt.Fprintln(c.OutOrStdout(), harmlessJSON(text))
		default:
			showStatus(terminal.Filter(c.OutOrStdout()), &s)
		}
		return nil
	})
	add(c, &f, "json")
	return c
}

// showStatus prints a status for people.
func showStatus(w io.Writer, s *live.Status) {
	fmt.Fprintf(w, "%s: %s, %.1f %% (model time %v of %v), %s clock", s.Scenario, s.Phase, 100*float64(s.ModelPs)/float64(max(s.EndPs, 1)),
		unit.Time(s.ModelPs), unit.Time(s.EndPs), s.Clock)
	if s.Dilation > 0 {
		fmt.Fprintf(w, ", dilation %d", s.Dilation)
	}
	fmt.Fprintln(w)
	if s.Verdict != "" {
		fmt.Fprintf(w, "verdict so far: %s\n", strings.TrimSuffix(string(s.Verdict)+". "+s.Why, ". "))
	}
	for _, t := range s.Active {
		fmt.Fprintf(w, "active since %v: %s\n", unit.Time(t.SincePs), t.Text)
	}
	for _, d := range s.Deadlocks {
		fmt.Fprintln(w, d.Words)
	}
	for _, r := range s.Roots {
		fmt.Fprintln(w, r.Words)
	}
	for _, k := range s.Checks {
		fmt.Fprintf(w, "check %s: %s\n", k.ID, cmp.Or(string(k.State), "open"))
	}
	if !s.Changes {
		fmt.Fprintf(w, "it accepts no changes: %s\n", s.Refused)
	}
}

func eventsCommand() *cobra.Command {
	var f commonFlags
	c := runCommandOf(&cobra.Command{
		Use:   "events RUN",
		Short: "Show the events of an active run",
		Args:  cobra.ExactArgs(1),
	}, func(c *cobra.Command, r *runSite, _ []string) error {
		thing := "events"
		if f.Follow {
			thing += "?follow=1"
		}
		body, err := r.ask(http.MethodGet, thing, nil, f.Follow)
		if err != nil {
			return err
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			var h live.Event
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Kind == "" {
				return cmp.Or(lines.Err(), r.noRun("a line that is not an event"))
			}
			line := eventText(&h)
			if f.JSON {
				line = harmlessJSON(lines.Bytes())
			}
			if _, err = fmt.Fprintln(terminal.Filter(c.OutOrStdout()), line); err != nil {
				return failure{err}
			}
		}
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return r.noRun("a line that is not an event")
		}
		return lines.Err()
	})
	add(c, &f, "follow", "json")
	return c
}

// eventText is a line about an event.
func eventText(h *live.Event) string {
	text := fmt.Sprintf("%-16v %-10s %s", unit.Time(h.AtPs), h.Kind, h.Text)
	if h.By == "hand" {
		text += "  " + h.Event
	}
	return text
}

func setCommand() *cobra.Command {
	c := runCommandOf(&cobra.Command{
		Use:   "set RUN CHANGE...",
		Short: "Change an active run",
		Args:  cobra.MinimumNArgs(2),
	}, func(c *cobra.Command, r *runSite, words []string) error {
		change, err := scenario.Command(words)
		if err != nil {
			return err
		}
		var done live.Done
		if _, err := r.askFor(http.MethodPost, "events", change, &done); err != nil {
			return err
		}
		if done.Event == "" {
			return r.noRun("not an event")
		}
		fmt.Fprintf(terminal.Filter(c.OutOrStdout()), "  - %s\n", done.Event)
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

// runCommandOf makes a command act on an active run, which its first argument names.
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

// Limits of an answer: of programs that listen where a run should.
const (
	answerTime = 15 * time.Second // a run itself refuses after 10 s
	mostAnswer = 64 << 20         // bytes, unless it is read line by line until the run is over
)

// errSilent is the cause of a request that was given up after answerTime.
var errSilent = errors.New("no answer")

// runSite is the interface of an active run.
type runSite struct {
	ctx    context.Context
	name   string        // as it was given
	base   string        // of the addresses
	socket string        // in the folder of the run; empty: it is a page
	peer   int           // the process behind the socket; 0: unknown
	most   time.Duration // that an answer may take
	client http.Client
}

// siteOf returns the interface of a run that is named by its folder, or by the address of its page.
func siteOf(ctx context.Context, name string) *runSite {
	r := &runSite{ctx: ctx, name: name, most: answerTime}
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
		c, err := process.DialTo(ctx, r.socket)
		if err == nil {
			if r.peer = host.Peer(c); host.Stopped(r.peer) {
				c.Close()
				return nil, errSilent
			}
		}
		return c, err
	}}
	return r
}

// askFor asks the run for a thing, decodes the answer, and returns its text.
func (r *runSite) askFor(method, thing string, body, into any) ([]byte, error) {
	answer, err := r.ask(method, thing, body, false)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err == nil && json.Unmarshal(text, into) != nil {
		err = r.noRun("no JSON of its kind")
	}
	return text, err
}

// ask asks the run for a thing, and returns the body of the answer; with endless it may last until
// the run is over. An error of the call or of the change can be corrected by the user.
func (r *runSite) ask(method, thing string, body any, endless bool) (io.ReadCloser, error) {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // a string
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	timer := time.AfterFunc(r.most, func() { cancel(errSilent) })
	q, err := http.NewRequestWithContext(ctx, method, r.base+thing, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := r.client.Do(q)
	if err != nil {
		if errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
		return nil, r.unreachable(err)
	}
	x := &answer{http.MaxBytesReader(nil, a.Body, mostAnswer), r, ctx}
	if endless {
		timer.Stop()
		x.ReadCloser = a.Body
	}
	if a.StatusCode == http.StatusOK {
		return x, nil
	}
	defer x.Close()
	refusal := live.Refusal{Error: a.Status}
	if a.StatusCode == http.StatusNotFound || json.NewDecoder(io.LimitReader(x, 1<<20)).Decode(&refusal) != nil {
		return nil, fmt.Errorf("%s: there is no run (%s): its address is the one of its page, with its token", r.name, a.Status)
	}
	if a.StatusCode >= http.StatusInternalServerError {
		return nil, failure{fmt.Errorf("%s: %s", r.name, refusal.Error)}
	}
	return nil, fmt.Errorf("%s: %s", r.name, refusal.Error)
}

// answer is the body of an answer, with errors for people.
type answer struct {
	io.ReadCloser
	of  *runSite
	ctx context.Context // of the request
}

func (a *answer) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	switch long := (*http.MaxBytesError)(nil); {
	case err == nil || err == io.EOF:
		return n, err
	case errors.As(err, &long):
		err = a.of.noRun(fmt.Sprintf("more than %d MiB", long.Limit>>20))
	case errors.Is(context.Cause(a.ctx), errSilent):
		err = a.of.unreachable(errSilent)
	case a.ctx.Err() != nil:
		err = a.ctx.Err()
	default:
		err = failure{fmt.Errorf("%s: the answer breaks off: %w", a.of.name, err)}
	}
	return n, err
}

// noRun is the error of an answer that no run gives.
func (r *runSite) noRun(what string) error {
	return failure{fmt.Errorf("%s answers with %s: that is not a run of this version of fabemu", r.name, what)}
}

// harmlessJSON returns JSON on one line, without commands to a terminal.
func harmlessJSON(text []byte) string {
	var line bytes.Buffer
	_ = json.Compact(&line, text) // it was decoded
	var b strings.Builder
	for _, r := range line.String() {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unreachable explains why a run cannot be reached.
func (r *runSite) unreachable(err error) error {
	dir := filepath.Dir(r.socket)
	others := "no run is active below results/"
	if all := runsThatGoOn(); len(all) > 0 {
		others = "there are " + strings.Join(all, ", ")
	}
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case host.Stopped(r.peer):
		return failure{fmt.Errorf("%s: the run is stopped (process %d received SIGSTOP or Ctrl-Z): kill -CONT %d continues it", r.name, r.peer, r.peer)}
	case errors.Is(err, errSilent):
		return failure{fmt.Errorf("%s does not answer within %v: the machine is busy, or that is not a run", r.name, r.most)}
	case r.socket == "":
		return fmt.Errorf("%s does not answer: the run has ended, or that is not the address of its page: %w", r.name, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: the run was killed: its socket %s exists, but no process answers; %s", r.name, r.socket, others)
	case !errors.Is(err, fs.ErrNotExist):
		return failure{fmt.Errorf("%s: %w", r.name, err)}
	case exists(filepath.Join(dir, report.ResultFile)):
		return fmt.Errorf("%s: the run has ended: fabemu report %s shows its results; %s", r.name, dir, others)
	}
	return fmt.Errorf("%s is not the folder of an active run; %s", r.name, others)
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
