package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/live"
)

// control runs a command in a folder, and returns its output and exit status.
func control(dir string, args ...string) (said string, code int) {
	c := exec.Command(binary, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), status(err)
}

// started starts a run in a folder, and waits until it answers.
func started(t *testing.T, dir, run string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(binary, append([]string{"run", "--quiet", "--out", filepath.Join("results", run)}, args...)...)
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	runtest.Await(t, "the run answers", func() bool { _, code := control(dir, "status", run); return code == exitOK })
	return c
}

// The commands and requests of docs/guide/live.md act on the run that it shows. The lines of the
// changes are in resolved.yaml, and the run with them has the same event log on the virtual clock.
func TestControl(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "curl")
	const document = "../../docs/guide/live.md"
	dir := t.TempDir()
	var script strings.Builder
	for _, b := range blocks(t, document) {
		if b.save != "" {
			if err := os.WriteFile(filepath.Join(dir, b.save), []byte(strings.Join(b.lines, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if b.kind == "shell" {
			script.WriteString(strings.Join(b.lines, "\n") + "\n")
		}
	}
	run := started(t, dir, "lab", "lab.yaml", "--link", "pipe", "--events", "--verify", "off", "--dilation", "3000") // a busy machine needs time
	socket := filepath.Join(dir, "results/lab", live.SocketFile)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	var followed bytes.Buffer
	follower := exec.Command(binary, "events", "lab", "--follow", "--json")
	follower.Dir, follower.Stdout = dir, &followed
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-e", "-c", script.String())
	sh.Dir, sh.Env = dir, append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	said, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"lab: running, ", "link: trunk, rate: 500Mb/s}\n", `endpoint: h3, pause-storm: "on", priorities: [0], for: 1ms}`,
		`"state":"running"`, `{"at_ps":`, `"kind":"begin","text":"link trunk: loss of 0.01 from S"`, `"by":"hand"`,
	} {
		if !strings.Contains(string(said), want) {
			t.Errorf("the commands of the document do not print %q:\n%s", want, said)
		}
	}
	for _, x := range []struct{ call, want string }{
		{"status none", "none is not the folder of an active run; there are results/lab"},
		{"set lab lnk trunk down", `there is no command "lnk" (did you mean "link"?): possible are storm, link, endpoint, switch`},
		{"set lab link trunk rat 1Gb/s", `link trunk has no "rat" (did you mean "rate"?): possible are`},
		{"set lab link trunk rate", "rate has no value"},
		{"set lab link trnk down", `there is no link named "trnk" (did you mean "trunk"?): there are trunk`},
		{"set lab link trunk loss 1.5", "1.5 is out of range"},
		{"set lab storm S", `S is a switch: expected the name of an endpoint`},
		{"set lab storm h3 priority 9", "9"},
		{"status http://127.0.0.1:1/token", "does not answer"},
	} {
		if said, code := control(dir, strings.Fields(x.call)...); code != exitMistake || !strings.Contains(said, x.want) {
			t.Errorf("%s: status %d, %s", x.call, code, said)
		}
	}
	runtest.Await(t, "the watchdog finds the storm and its end", func() bool {
		said, _ := control(dir, "events", "results/lab")
		return strings.Contains(said, "storm-over watchdog of T: storm of priority 0 on T-h3 is over")
	})
	run.Process.Signal(os.Interrupt)
	if err := follower.Wait(); err != nil {
		t.Error(err)
	}
	run.Wait()
	var kinds []string
	last := int64(0)
	for line := range strings.Lines(followed.String()) {
		var h live.Event
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds, last = append(kinds, h.Kind), h.AtPs
	}
	for _, want := range []string{live.Begin, live.End, live.Storm, live.StormOver, live.Over} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no event %s was followed: %v", want, kinds)
		}
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is left")
	}
	if said, code := control(dir, "set", "lab", "link", "trunk", "up"); code != exitMistake || !strings.Contains(said, "the run has ended: fabemu report results/lab shows its results") {
		t.Errorf("after the run: status %d, %s", code, said)
	}
	resolved := text(t, filepath.Join(dir, "results/lab/resolved.yaml"))
	if n := strings.Count(resolved, "- {at: "); n != 6 {
		t.Errorf("resolved.yaml has %d events, not 6", n)
	}

	command(t, binary, "run", "--clock", "virtual", "--events", "--out", filepath.Join(dir, "again"), filepath.Join(dir, "results/lab/resolved.yaml"))
	wall, virtual := logUntil(t, filepath.Join(dir, "results/lab"), last), logUntil(t, filepath.Join(dir, "again"), last)
	if len(wall) < 1000 || !slices.Equal(wall, virtual) {
		t.Errorf("the log of the run has %d events until its interruption, and the log of the run with its lines %d: they differ", len(wall), len(virtual))
	}
}

// logUntil returns the event log in a folder up to an instant.
func logUntil(t *testing.T, dir string, until int64) (lines []string) {
	t.Helper()
	for line := range strings.Lines(text(t, filepath.Join(dir, report.EventsFile))) {
		var e struct {
			T int64 `json:"time_ps"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.T < until {
			lines = append(lines, line)
		}
	}
	return lines
}

// A run on the virtual clock answers, and gives the reason for which it takes no changes. Where it
// was killed its socket is left: the message names that, and the next run there continues.
func TestControlOfAVirtualRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const scenario = `{name: endless, model: {duration: 1000s}, measure: {window: 10s}, defaults: {link: {rate: 10Gb/s}},
  switches: {S: {}}, endpoints: [a, b], links: [a - S, {name: trunk, between: S - b}], flows: [{name: x, from: a, to: b}]}`
	if err := os.WriteFile(filepath.Join(dir, "endless.yaml"), []byte(scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	endless := []string{"endless.yaml", "--clock", "virtual"}
	run := started(t, dir, "endless", endless...)
	if said, code := control(dir, "set", "endless", "link", "trunk", "down"); code != exitMistake || !strings.Contains(said, "this run takes no changes: it is on the virtual clock") {
		t.Errorf("set: status %d, %s", code, said)
	}
	said, code := control(dir, "status", "results/endless", "--json")
	var s live.Status
	if err := json.Unmarshal([]byte(said), &s); err != nil || code != exitOK || s.Phase != live.Running || s.ModelPs <= 0 || s.Changes {
		t.Errorf("status %d, %v: %s", code, err, said)
	}
	run.Process.Kill()
	run.Wait()
	if said, code := control(dir, "status", "endless"); code != exitMistake || !strings.Contains(said, "the run was killed: its socket results/endless/fabemu.sock exists, but no process answers") {
		t.Errorf("killed: status %d, %s", code, said)
	}
	again := started(t, dir, "endless", append(endless, "--force")...)
	again.Process.Signal(os.Interrupt)
	time.AfterFunc(time.Minute, func() { again.Process.Kill() })
	again.Wait()
	if _, err := os.Stat(filepath.Join(dir, "results/endless", live.SocketFile)); err == nil {
		t.Error("the socket is left")
	}
}

// A run that is stopped by a signal is named so at once, and answers again when it continues.
func TestControlOfAStoppedRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := started(t, dir, "job", "hpl2002/fig2", "--clock", "wall", "--link", "pipe", "--dilation", "40000", "--verify", "off")
	if err := run.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "the run is stopped", func() bool { return host.Stopped(run.Process.Pid) })
	want := fmt.Sprintf("the run is stopped (process %d received SIGSTOP or Ctrl-Z): kill -CONT %[1]d continues it", run.Process.Pid)
	for _, call := range []string{"status job", "events job", "events job --follow", "set job link * loss 0.1"} {
		if said, code := control(dir, strings.Fields(call)...); code != exitFailed || !strings.Contains(said, want) {
			t.Errorf("%s: status %d, %s", call, code, said)
		}
	}
	run.Process.Signal(syscall.SIGCONT)
	runtest.Await(t, "it answers again", func() bool { _, code := control(dir, "status", "job"); return code == exitOK })
}

// A program that listens where a run should is no danger: its answers have limits, and reach the
// terminal without commands.
func TestControlOfAHostileRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	const bad = `\u001b]0;title\u0007\u001b[2J` + "\u009b2J"
	state := `{"scenario":"` + bad + `","clock":"wall","state":"running","refused":"` + bad + `"}`
	event := `{"at_ps":1,"kind":"` + bad + `","text":"` + bad + `","by":"hand","event":"` + bad + `"}`
	const escaped, inJSON = `\x1b]0;title\x07\x1b[2J\x9b2J`, `\u001b]0;title\u0007\u001b[2J\u009b2J`
	whole := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { io.WriteString(w, text) }
	}
	forEver := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for _, err := io.WriteString(w, text); err == nil; _, err = io.WriteString(w, text) {
			}
		}
	}
	long := strings.Repeat("a", 1<<20)
	for _, x := range []struct {
		call, want string
		code       int
		answer     func(http.ResponseWriter)
	}{
		{"status", escaped + ": running", exitOK, whole(state)},
		{"status --json", inJSON, exitOK, whole(state)},
		{"events", escaped, exitOK, whole(event)},
		{"events --json", inJSON, exitOK, whole(event)},
		{"set link a down", escaped, exitOK, whole(`{"at_ps":1,"event":"` + bad + `"}`)},
		{"set link a down", escaped, exitMistake, func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"error":"`+bad+`"}`)
		}},
		{"status", "answers with more than 64 MiB: that is not a run", exitFailed, forEver(long)},
		{"set link a down", "answers with more than", exitFailed, forEver(long)},
		{"events", "answers with a line that is not an event", exitFailed, forEver(long)},
		{"events --follow", "answers with a line that is not an event", exitFailed, forEver(long)},
		{"events", "answers with more than", exitFailed, forEver(`{"kind":"end","text":"` + long[:1<<15] + `"}` + "\n")},
		{"status", "a status without a state", exitFailed, whole("null")},
		{"events", "a line that is not an event", exitFailed, whole("null")},
		{"set link a down", "not an event", exitFailed, whole("null")},
		{"status", "no JSON of its kind", exitFailed, whole(strings.Repeat("[", 1<<20))},
		{"status", "no JSON of its kind", exitFailed, whole("\xff\xfe")},
		{"status", "there is no run", exitMistake, func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) }},
	} {
		t.Run(x.call+" "+x.want, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { x.answer(w) }))
			defer server.Close()
			defer server.CloseClientConnections()
			words := strings.Fields(x.call)
			got, code := control(t.TempDir(), append([]string{words[0], server.URL + "/token"}, words[1:]...)...)
			if code != x.code || !strings.Contains(got, x.want) || strings.ContainsAny(got, "\x1b\x07\u009b") {
				t.Errorf("status %d: %.300q; want %d, %q", code, got, x.code, x.want)
			}
		})
	}
}

// A program that accepts a connection and answers nothing, or only the head of an answer, is given
// up after a time.
func TestControlOfASilentRun(t *testing.T) {
	t.Parallel()
	for head, flush := range map[string]bool{"nothing": false, "the head alone": true} {
		t.Run(head, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if flush {
					http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}))
			defer server.Close()
			r := siteOf(t.Context(), server.URL)
			r.most = 50 * time.Millisecond
			if _, err := r.askFor(http.MethodGet, "status", nil, new(any)); err == nil || exitOf(err) != exitFailed || !strings.Contains(err.Error(), "does not answer within 50ms") {
				t.Error(err)
			}
		})
	}
}
