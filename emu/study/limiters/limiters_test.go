package limiters_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/golden"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// doubled releases it twice what it should.
func doubled(r unit.Rate) node.RateLimiter { return twice{node.NewInterPacketDelay(2 * r)} }

type twice struct{ *node.InterPacketDelay }

func (l twice) SetRate(now unit.Time, r unit.Rate) { l.InterPacketDelay.SetRate(now, 2*r) }

// A result is written as text, as JSON and as a page that needs nothing else.
func TestResult(t *testing.T) {
	right := limiters.Ours()[0]
	for _, tc := range []struct {
		subject *limiters.Subject
		good    bool
	}{
		{right, true},
		{&limiters.Subject{Name: "doubled", Note: "for this test", New: doubled}, false},
	} {
		r, err := limiters.Run(context.Background(), tc.subject, limiters.Options{Cases: []string{"step/up", "steady/700Mbps"}, Packets: 300})
		if err != nil {
			t.Fatal(err)
		}
		if r.Good() != tc.good || len(r.Cases) != 2 {
			t.Errorf("%s: %v, and %d cases", tc.subject.Name, r.Good(), len(r.Cases))
		}
		var text, js, page bytes.Buffer
		for _, err := range []error{r.WriteText(&text, terminal.Look{}), r.WriteJSON(&js), r.WriteHTML(&page)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		golden.File(t, filepath.Join("testdata", tc.subject.Name+".txt"), text.Bytes())
		var read limiters.Result
		if err := json.Unmarshal(js.Bytes(), &read); err != nil || len(read.Cases) != 2 || read.Cases[0].Packets < 200 || len(read.Cases[0].Gaps.Bins) == 0 {
			t.Errorf("%v: %+v", err, read)
		}
		outcome := `<tr><td class="w" data-h="outcome"><span class="o o-pass">pass</span></td><td class="w" data-h="case">steady/700Mbps</td>`
		if !tc.good {
			outcome = `<tr><td class="w" data-h="outcome"><span class="o o-fail">burst, rate error</span></td><td class="w" data-h="case">steady/700Mbps</td>`
		}
		if heads := `<tr><th scope="col">outcome</th><th scope="col">case</th>`; !strings.Contains(page.String(), heads) || !strings.Contains(page.String(), outcome) {
			t.Errorf("the outcome of %s is not the first column, in color", tc.subject.Name)
		}
		html := strings.ReplaceAll(page.String(), "http://www.w3.org/", "")
		for _, never := range []string{"http:", "https:", "<script", "src=", "@import", "url("} {
			if strings.Contains(html, never) {
				t.Errorf("the page has %q", never)
			}
		}
		for _, title := range []string{"Gaps between departures", "Burst", "Delay of reaction", "Rate"} {
			if !strings.Contains(html, ">"+title+"<") {
				t.Errorf("the page does not draw %q", title)
			}
		}
	}
}

// A program that is asked again and puts its packet off fails the case, and the measurement
// continues. The result has a probable cause; one without a fault has none.
func TestCauses(t *testing.T) {
	const rounds = `read x; echo limiter - mine; due=0; while read w t n; do case $w in
next) if [ $t -lt $((due - 500)) ]; then echo $((due - 500)); elif [ $t -lt $due ]; then echo $due; else echo $t; fi;;
sent) due=$((t + 17142858)); echo ok;;
*) echo ok;; esac; done`
	puts := limiters.InProgram(&program.Program{Command: []string{"sh", "-c", rounds}, Patience: time.Minute})
	for _, tc := range []struct {
		subject *limiters.Subject
		cases   string
		outcome bench.Criterion // one of them
		cause   string          // empty: none
	}{
		{limiters.Ours()[0], "step/up", "", ""},
		{&limiters.Subject{Name: "whole", New: func(r unit.Rate) node.RateLimiter { return &whole{InterPacketDelay: *node.NewInterPacketDelay(r)} }}, "steady/700Mbps", bench.Burst, "gaps are rounded down to whole microseconds"},
		{puts, "steady/700Mbps", bench.Program, "a rounding or a coarse clock"},
	} {
		r, err := limiters.Run(context.Background(), tc.subject, limiters.Options{Cases: []string{tc.cases}, Packets: 500})
		if err != nil {
			t.Fatal(err)
		}
		var text, page bytes.Buffer
		if err := errors.Join(r.WriteText(&text, terminal.Look{Wide: 1000}), r.WriteHTML(&page)); err != nil {
			t.Fatal(err)
		}
		o := r.Cases[0]
		if tc.outcome != "" && !slices.ContainsFunc(o.Faults, func(f limiters.Fault) bool { return f.Criterion == tc.outcome }) || o.Packets < 300 {
			t.Errorf("%s: %d packets, %v; want %s", tc.subject.Name, o.Packets, o.Faults, tc.outcome)
		}
		if tc.cause == "" {
			if r.Causes != nil {
				t.Errorf("%s: %v", tc.subject.Name, r.Causes)
			}
			continue
		}
		for _, out := range []string{text.String(), page.String()} {
			if tc.outcome == bench.Program && !strings.Contains(out, "program (later when asked again)") {
				t.Errorf("%s: the outcome does not name the rule that is broken:\n%s", tc.subject.Name, text.String())
			}
			if !strings.Contains(out, "Probable cause: "+tc.cause) || !strings.Contains(out, "Evidence: ") {
				t.Errorf("%s: no cause %q:\n%s", tc.subject.Name, tc.cause, text.String())
			}
		}
	}
}

// whole rounds its delays down to whole microseconds.
type whole struct{ node.InterPacketDelay }

func (l *whole) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.InterPacketDelay.Next(now, n)
	if t < unit.Never {
		t -= t % unit.Time(unit.Microsecond)
	}
	return max(now, t)
}

// In a case in which another program does something wrong it fails, with its line.
func TestFaultsOfPrograms(t *testing.T) {
	const begin = `read x; echo limiter - mine; `
	for _, tc := range []struct{ name, script, want string }{
		{"says nothing", "sleep 1000", `the program sends nothing for PATIENCE; the last line to it was "hello 1 `},
		{"NaN", begin + "read x; echo ok; read x; echo NaN", `the program gives an instant that is neither a whole number of picoseconds nor never; its line is "NaN"; the last line to it was "next 0 1500"`},
		{"floods", begin + "while :; do echo 5; done", `its line is "5"`},
		{"dies", begin + "read x; exit 9", `exit status 9`},
		{"never ends", begin + "while read w t n; do case $w in next) echo never;; *) echo ok;; esac; done; sleep 1000", "does not end within PATIENCE after its input has"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			patience, most := 300*time.Millisecond, time.Minute
			if !strings.Contains(tc.want, "PATIENCE") {
				patience = most
			}
			var r *limiters.Result
			var want string
			for ; ; patience *= 2 { // a busy machine lets no program answer in so little time
				s := limiters.InProgram(&program.Program{Command: []string{"sh", "-c", tc.script}, Patience: patience})
				var err error
				if r, err = limiters.Run(context.Background(), s, limiters.Options{Cases: []string{"steady/700Mbps"}}); err != nil || r.Good() {
					t.Fatalf("%v, %+v", err, r)
				}
				got := r.Cases[0].Faults[0].Text
				if want = strings.Replace(tc.want, "PATIENCE", patience.String(), 1); strings.Contains(got, want) {
					break
				}
				if patience >= most || !strings.Contains(got, "sends nothing for") {
					t.Fatalf("%s; want %q", got, want)
				}
			}
			var text, page bytes.Buffer
			if err := errors.Join(r.WriteText(&text, terminal.Look{Wide: 1000}), r.WriteHTML(&page)); err != nil || !strings.Contains(text.String(), want) {
				t.Errorf("%v\n%s", err, text.String())
			}
		})
	}
}

// A case in which a program does not answer fails, and the rest continues; where the rest does not,
// it is named.
func TestTheRestGoesOn(t *testing.T) {
	// Whatever it is asked, it may send; at no rate it says nothing any more.
	const hangs = `read x; echo limiter - mine; while read w t n; do case "$w $n" in "rate 0") sleep 1000;; next*) echo $t;; *) echo ok;; esac; done`
	three := []string{"sizes/unknown", "rate/zero", "many/32"}
	for _, tc := range []struct {
		name, script string
		cases        []string
		failed       []string // of the program's own fault
		notRun, says string
	}{
		{"hangs in one", hangs, three, []string{"rate/zero"}, "", ""},
		{"hangs in all", "sleep 1000", []string{"steady", "sizes", "many"}, []string{"steady/700Mbps", "steady/37Gbps", "sizes/1500+20+20+700+64+9000"}, "sizes/unknown, many/32",
			"Ended early: the program did not reach the end of any of 3 cases. 3 of 3 cases failed. Not run: sizes/unknown, many/32."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var r *limiters.Result
			var told, failed []string
			for patience := time.Second; patience < time.Minute; patience *= 3 { // of a busy machine more
				told, failed = nil, nil
				s := limiters.InProgram(&program.Program{Command: []string{"sh", "-c", tc.script}, Patience: patience})
				var err error
				if r, err = limiters.Run(context.Background(), s, limiters.Options{Cases: tc.cases, Packets: 60, Done: func(o *limiters.Outcome) { told = append(told, o.Case) }}); err != nil {
					t.Fatal(err)
				}
				for _, o := range r.Cases {
					if slices.ContainsFunc(o.Faults, func(f limiters.Fault) bool { return f.Criterion == bench.Program }) {
						failed = append(failed, o.Case)
					}
				}
				if slices.Equal(failed, tc.failed) {
					break
				}
			}
			var text, page, js bytes.Buffer
			if err := errors.Join(r.WriteText(&text, terminal.Look{Wide: 1000}), r.WriteHTML(&page), r.WriteJSON(&js)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(failed, tc.failed) || strings.Join(r.NotRun, ", ") != tc.notRun || len(told) != len(r.Cases) || !strings.Contains(text.String(), tc.says) {
				t.Errorf("failed %q, not run %q, told %d of %d; want %q, %q\n%s", failed, r.NotRun, len(told), len(r.Cases), tc.failed, tc.notRun, text.String())
			}
		})
	}
}

// If the reader is gone, what was measured is kept, and the cases not run are named; so it
// is where the bench is ended.
func TestEndedEarly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		l.Close() // no other client
		for in := bufio.NewScanner(c); in.Scan(); {
			switch words := strings.Fields(in.Text()); words[0] {
			case "hello":
				io.WriteString(c, "limiter - mine\n")
			case "next":
				io.WriteString(c, words[1]+"\n")
			default:
				io.WriteString(c, "ok\n")
			}
		}
		c.Close()
	}()
	o := limiters.Options{Cases: []string{"sizes/unknown", "step/up", "rate/zero"}, Packets: 60}
	r, err := limiters.Run(context.Background(), limiters.InProgram(&program.Program{Socket: path}), o)
	if err != nil || len(r.Cases) != 1 || !strings.Contains(r.Verdict, "in case step/up: no program listens at the socket") || !slices.Equal(r.NotRun, o.Cases[1:]) {
		t.Errorf("%v, %+v", err, r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.Done = func(*limiters.Outcome) { cancel() }
	r, err = limiters.Run(ctx, limiters.Ours()[0], o)
	if err != nil || len(r.Cases) != 1 || !r.Partial || !slices.Equal(r.NotRun, o.Cases[1:]) {
		t.Errorf("%v, %+v", err, r)
	}
}

// What can be corrected by the user is said.
func TestMistakes(t *testing.T) {
	ctx := context.Background()
	_, unknown := limiters.Named([]string{"token-buckett"}, false)
	_, noCase := limiters.Run(ctx, limiters.Ours()[0], limiters.Options{Cases: []string{"steady", "unsteady"}})
	_, pattern := limiters.Run(ctx, limiters.Ours()[0], limiters.Options{Cases: []string{"["}})
	_, noProgram := limiters.Run(ctx, limiters.InProgram(&program.Program{Command: []string{"/not/there"}}), limiters.Options{Cases: []string{"rate/zero"}})
	algorithm := &program.Program{Command: []string{"sh", "-c", "read x; echo algorithm 1000 never mine; read x"}}
	_, isAlgorithm := limiters.Run(ctx, limiters.InProgram(algorithm), limiters.Options{Cases: []string{"rate/zero"}})
	for _, tc := range []struct {
		err  error
		want string
	}{
		{unknown, `there is no limiter "token-buckett" (did you mean "token-bucket"?): there are inter-packet-delay, token-bucket, lipd, `},
		{noCase, `there is no case "unsteady": there are steady/700Mbps, `},
		{pattern, `"[" is not a pattern`},
		{noProgram, "start /not/there: "},
		{isAlgorithm, "the program is a reaction point, which takes feedback: it is tried with --replay FILE"},
	} {
		var m *errs.Mistake
		if !errors.As(tc.err, &m) || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%v, want %q", tc.err, tc.want)
		}
	}
}

// The examples pass: that in C all cases, that in Python, which is slower, some.
func TestModelExamplesPass(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the example in Python is not tried")
	}
	binary := built(t)
	for _, tc := range []struct {
		command []string
		options limiters.Options
	}{
		{[]string{binary}, limiters.Options{Packets: 300, Clock: mode.VirtualClock}},
		{[]string{python, "../../../docs/examples/limiter.py"}, limiters.Options{Packets: 300, Cases: []string{"step", "idle", "sizes", "hours"}}},
	} {
		p := &program.Program{Command: tc.command, Patience: time.Minute}
		r, err := limiters.Run(context.Background(), limiters.InProgram(p), tc.options)
		if err != nil || !r.Good() || r.Cases[0].Packets < 100 {
			var text bytes.Buffer
			if r != nil {
				r.WriteText(&text, terminal.Look{})
			}
			t.Errorf("%v: %v\n%s", tc.command, err, text.String())
		}
	}
}

// built returns the example in C as a program.
func built(t *testing.T) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no cc: the example in C is not tried")
	}
	binary := filepath.Join(t.TempDir(), "limiter")
	if out, err := exec.Command(compiler, "-O2", "-o", binary, "../../../docs/examples/limiter.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// The table in docs has fabemu's own limiters on the virtual clock.
func TestModelDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, s := range limiters.Ours() {
		r, err := limiters.Run(context.Background(), s, limiters.Options{Clock: mode.VirtualClock})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Good() {
			t.Errorf("%s has not passed", s.Name)
		}
		var table bytes.Buffer
		if err := limiters.WriteTable(&table, io.Discard, []*limiters.Result{r}); err != nil {
			t.Fatal(err)
		}
		_, cells, _ := strings.Cut(table.String(), "| `"+s.Name+"`")
		want := strings.Split(cells, "|")
		const path = "../../../docs/notes/validation.md"
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, row, found := strings.Cut(string(text), "| `"+s.Name+"`")
		got := strings.Split(row, "|")
		if !found || len(got) < 6 {
			t.Fatalf("%s has no row of %s", path, s.Name)
		}
		for _, k := range []int{1, 3, 4, 5} { // the columns of the virtual clock
			if got[k] != want[k] {
				t.Errorf("%s, %s, column %d: %q, and it is %q: go run -C scripts/measure/limiters . $PWD/docs/notes/validation.md", path, s.Name, k, got[k], want[k])
			}
		}
	}
}
