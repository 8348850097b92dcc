package limiters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu/foreign"
	"fabemu/emu/goldentest"
	"fabemu/emu/mistake"
	"fabemu/emu/report"
	"fabemu/emu/study/limiters"
	"fabemu/emu/terminal"
	"fabemu/node"
	"fabemu/wire/unit"
)

// doubled lets go twice what it should.
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
		r, err := limiters.Run(context.Background(), tc.subject, limiters.Options{Cases: []string{"step/down", "steady/1Gbps"}, Packets: 300})
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
		goldentest.File(t, filepath.Join("testdata", tc.subject.Name+".txt"), text.Bytes())
		var read limiters.Result
		if err := json.Unmarshal(js.Bytes(), &read); err != nil || len(read.Cases) != 2 || read.Cases[0].Packets < 200 || len(read.Cases[0].Gaps.Bins) == 0 {
			t.Errorf("%v: %+v", err, read)
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

// What another program does wrong is the verdict, with its line; what was measured until
// then stands.
func TestVerdicts(t *testing.T) {
	const begin = `read x; echo limiter - mine; `
	for _, tc := range []struct{ name, script, want string }{
		{"says nothing", "sleep 1000", `the program says nothing for PATIENCE; the last line to it was "hello 1 `},
		{"NaN", begin + "read x; echo ok; read x; echo NaN", `in case steady/1Mbps the program gives an instant that is neither a whole number of picoseconds nor never; its line is "NaN"; the last line to it was "next 0 1500"`},
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
			for ; ; patience *= 2 { // a busy computer lets no program answer in so little time
				s := limiters.InProgram(context.Background(), &foreign.Program{Command: []string{"sh", "-c", tc.script}, Patience: patience})
				var err error
				if r, err = limiters.Run(context.Background(), s, limiters.Options{Cases: []string{"steady/1Mbps"}}); err != nil || r.Good() {
					t.Fatalf("%v, %+v", err, r)
				}
				if want = strings.Replace(tc.want, "PATIENCE", patience.String(), 1); strings.Contains(r.Verdict, want) {
					break
				}
				if patience >= most || !strings.Contains(r.Verdict, "says nothing for") {
					t.Fatalf("%s; want %q", r.Verdict, want)
				}
			}
			var text, page bytes.Buffer
			if err := errors.Join(r.WriteText(&text, terminal.Look{Wide: 1000}), r.WriteHTML(&page)); err != nil || !strings.Contains(text.String(), want) {
				t.Errorf("%v\n%s", err, text.String())
			}
		})
	}
}

// What is the user's to mend is said.
func TestMistakes(t *testing.T) {
	ctx := context.Background()
	_, unknown := limiters.Named([]string{"token-buckett"}, false)
	_, noCase := limiters.Run(ctx, limiters.Ours()[0], limiters.Options{Cases: []string{"steady", "unsteady"}})
	_, pattern := limiters.Run(ctx, limiters.Ours()[0], limiters.Options{Cases: []string{"["}})
	_, noProgram := limiters.Run(ctx, limiters.InProgram(ctx, &foreign.Program{Command: []string{"/not/there"}}), limiters.Options{Cases: []string{"rate/zero"}})
	law := &foreign.Program{Command: []string{"sh", "-c", "read x; echo law 1000 never mine; read x"}}
	_, isLaw := limiters.Run(ctx, limiters.InProgram(ctx, law), limiters.Options{Cases: []string{"rate/zero"}})
	for _, tc := range []struct {
		err  error
		want string
	}{
		{unknown, `there is no limiter "token-buckett" (did you mean "token-bucket"?): there are inter-packet-delay, token-bucket, lipd, `},
		{noCase, `there is no case "unsteady": there are steady/1Mbps, `},
		{pattern, `"[" is no pattern`},
		{noProgram, "start /not/there: "},
		{isLaw, "the program is a reaction point, which takes feedback: it is tried with --replay FILE"},
	} {
		var m *mistake.Error
		if !errors.As(tc.err, &m) || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%v, want %q", tc.err, tc.want)
		}
	}
}

// The examples pass: that in C all cases, that in Python, which is slower, some.
func TestExamplesPass(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the example in Python is not tried")
	}
	binary := built(t)
	for _, tc := range []struct {
		command []string
		options limiters.Options
	}{
		{[]string{binary}, limiters.Options{Packets: 300, Clock: report.VirtualClock}},
		{[]string{python, "../../../docs/examples/limiter.py"}, limiters.Options{Packets: 300, Cases: []string{"step", "idle", "sizes/20+1500", "hours"}}},
	} {
		p := &foreign.Program{Command: tc.command, Patience: time.Minute}
		r, err := limiters.Run(context.Background(), limiters.InProgram(context.Background(), p), tc.options)
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
		t.Skip("no C compiler: the example in C is not tried")
	}
	binary := filepath.Join(t.TempDir(), "limiter")
	if out, err := exec.Command(compiler, "-O2", "-o", binary, "../../../docs/examples/limiter.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// The documents have the limiters of this program as they come out on the virtual clock.
func TestModelDocuments(t *testing.T) {
	for _, s := range limiters.Ours() {
		r, err := limiters.Run(context.Background(), s, limiters.Options{Clock: report.VirtualClock})
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
		_, row, _ := strings.Cut(table.String(), "| `"+s.Name+"`")
		want := strings.Split(row, "|")
		for _, path := range []string{"../../../docs/limiters.md", "../../../README.md"} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, row, found := strings.Cut(string(text), "| `"+s.Name+"`")
			got := strings.Split(row, "|")
			if !found || len(got) < 7 {
				t.Fatalf("%s has no row of %s", path, s.Name)
			}
			for _, k := range []int{1, 3, 4, 5, 6} { // those of the virtual clock
				if got[k] != want[k] {
					t.Errorf("%s, %s, column %d: %q, and it is %q: go run -C scripts/measure/limiters . $PWD/docs/limiters.md $PWD/README.md", path, s.Name, k, got[k], want[k])
				}
			}
		}
	}
}
