package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSummary(t *testing.T) {
	for _, tc := range []struct {
		name   string
		input  string
		noskip bool
		ok     bool
		want   []string // lines of the report
	}{
		{
			name: "subtests count, their parent does not",
			input: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":1.25}`,
			ok:   true,
			want: []string{"ok    p  (2 passed, 1.2 s)", "2 passed, 0 failed, 0 skipped"},
		},
		{
			name: "a failure is shown in full, and counted once",
			input: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"    a_test.go:1: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`,
			want: []string{"FAIL  p  (0.0 s)", "          a_test.go:1: got 1, want 2", "1 passed, 1 failed, 0 skipped"},
		},
		{
			name: "a skipped test says why",
			input: `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: needs root\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}`,
			ok:   true,
			want: []string{"SKIP  p TestA: a_test.go:1: needs root", "1 passed, 0 failed, 1 skipped"},
		},
		{
			name:   "a skipped test where none may be",
			input:  `{"Action":"skip","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}`,
			noskip: true,
			want:   []string{"every test was to run: a skipped one is a failure", "0 passed, 0 failed, 1 skipped"},
		},
		{
			name: "a package that does not compile",
			input: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/a.go:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			want: []string{"      p/a.go:1: undefined: x", "0 passed, 1 failed, 0 skipped"},
		},
		{
			name: "a package that panics in the middle of a test",
			input: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: boo\n"}
{"Action":"fail","Package":"p"}`,
			want: []string{"      panic: boo", "0 passed, 1 failed, 0 skipped"},
		},
		{
			name:  "a package that never ends",
			input: `{"Action":"pass","Package":"p","Test":"TestA"}`,
			want:  []string{"      p never came to an end", "1 passed, 1 failed, 0 skipped"},
		},
		{
			name: "a package without test files is not a skipped test",
			input: `{"Action":"skip","Package":"q"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			noskip: true,
			ok:     true,
			want:   []string{"without tests: q", "1 passed, 0 failed, 0 skipped"},
		},
		{
			name: "two runs of a package add up",
			input: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestWallB"}
{"Action":"pass","Package":"p"}
{"Action":"pass","Package":"p"}`,
			ok:   true,
			want: []string{"2 passed, 0 failed, 0 skipped"},
		},
		{
			name:  "other text is passed through",
			input: "go: downloading x\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}`,
			ok:    true,
			want:  []string{"go: downloading x"},
		},
		{
			name: "nothing at all",
			want: []string{"nothing was tested", "0 passed, 0 failed, 0 skipped"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			s := newSummary(&out)
			if err := s.read(strings.NewReader(tc.input), time.Hour); err != nil {
				t.Fatal(err)
			}
			if ok := s.finish(tc.noskip); ok != tc.ok {
				t.Errorf("ok = %v, want %v", ok, tc.ok)
			}
			for _, line := range tc.want {
				if !strings.Contains("\n"+out.String(), "\n"+line+"\n") {
					t.Errorf("the line %q is missing", line)
				}
			}
			if t.Failed() {
				t.Logf("the report:\n%s", out.String())
			}
		})
	}
}

// While nothing ends, it says what runs.
func TestSummaryTellsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		var b strings.Builder
		s := newSummary(&b)
		go func() {
			time.Sleep(25 * time.Second)
			io.WriteString(out, `{"Action":"run","Package":"p","Test":"TestLong"}`+"\n")
			time.Sleep(20 * time.Second)
			io.WriteString(out, `{"Action":"pass","Package":"p"}`+"\n")
			out.Close()
		}()
		if err := s.read(in, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		want := "...     what is to be tested is built\n...     p (TestLong)\n"
		if got := b.String(); !strings.HasPrefix(got, want) {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}
