package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Counts are those of tests with their subtests. A package that fails without a failed test counts
// as one; a test that the race detector's pass skipped runs later; what an ordinary user may not do
// is no skip.
func TestCounts(t *testing.T) {
	r := newResults(new(show))
	for pass, events := range map[string]string{
		"short": `
{"Action":"output","Package":"m/a","Test":"TestRoot","Output":"    a_test.go:3: there is no tshark\n"}
{"Action":"skip","Package":"m/a","Test":"TestRoot"}
{"Action":"output","Package":"m/a","Test":"TestRight","Output":"    a_test.go:9: CAP_NET_ADMIN is missing\n"}
{"Action":"skip","Package":"m/a","Test":"TestRight"}
{"Action":"output","Package":"m/a","Test":"TestScripts/run","Output":"    testscript.go:584: WORK=$WORK\n"}
{"Action":"output","Package":"m/a","Test":"TestScripts/run","Output":"        > [short] skip 'long: not with -short'\n"}
{"Action":"skip","Package":"m/a","Test":"TestScripts/run"}
{"Action":"pass","Package":"m/a","Test":"TestB/one"}
{"Action":"pass","Package":"m/a","Test":"TestB"}
{"Action":"attr","Package":"m/a","Test":"TestB/one","Key":"depends-on","Value":"privileges"}
{"Action":"pass","Package":"m/a"}
{"Action":"skip","Package":"m/none"}`,
		"others": `
{"Action":"fail","Package":"m/b","Test":"TestC/one"}
{"Action":"fail","Package":"m/b","Test":"TestC"}
{"Action":"fail","Package":"m/b"}`,
		"raced":    `{"Action":"skip","Package":"m/c","Test":"TestLong/one"}`,
		"ordinary": `{"Action":"skip","Package":"m/c","Test":"TestVeth"}`,
	} {
		if err := r.read(pass, strings.NewReader(events)); err != nil {
			t.Fatal(err)
		}
	}
	if r.passed != 2 || r.failed != 2 || r.skipped != 3 {
		t.Errorf("%d passed, %d failed, %d skipped", r.passed, r.failed, r.skipped)
	}
	const why = "      1 tests  long: not with -short\n      1 tests  need root\n      1 tests  need tshark (Debian: tshark)"
	if got := r.skips(); got != why {
		t.Errorf("got the reasons\n%s\nwant\n%s", got, why)
	}
	if !slices.Equal(r.long["m/c"], []string{"TestLong"}) || !slices.Equal(r.privileged["m/a"], []string{"TestB"}) {
		t.Errorf("long %v, privileged %v", r.long, r.privileged)
	}
	if got := r.retries(); len(got) != 1 || got[0] != (failure{"others", "m/b", "TestC"}) {
		t.Errorf("%v run once more", got)
	}

	r.read("short", strings.NewReader(`{"Action":"fail","Package":"m/d","FailedBuild":"m/d"}`))
	if r.failed != 3 || r.retries() != nil {
		t.Errorf("a package that does not compile: %d failed, %v run once more", r.failed, r.retries())
	}
}

// A command that fails because a test does is no failure of its own, which a test that passes when
// it runs once more would hide; one that fails for another reason is.
func TestEvents(t *testing.T) {
	r := &runner{ctx: t.Context(), results: newResults(new(show))}
	for _, x := range []struct {
		script string
		fails  bool
	}{
		{`echo '{"Action":"fail","Package":"m/a","Test":"TestA"}'; exit 1`, false},
		{`exit 1`, true},
		{`echo '{"Action":"pass","Package":"m/a","Test":"TestB"}'; exit 1`, true},
		{`echo '{"Action":"pass","Package":"m/a","Test":"TestB"}'`, false},
	} {
		if err := r.events("timing", r.command(nil, "sh", "-c", x.script)); (err != nil) != x.fails {
			t.Errorf("%s: %v", x.script, err)
		}
	}
	if r.results.failed != 1 || r.results.passed != 2 {
		t.Errorf("%d failed, %d passed", r.results.failed, r.results.passed)
	}
}

// The race detector tests the packages that start goroutines or share something.
func TestConcurrent(t *testing.T) {
	for src, want := range map[string]bool{
		"func f() { go f() }":                             true,
		"func f() { w.Go(f) }":                            true,
		"var mu sync.Mutex":                               true,
		"type t struct{ n atomic.Int64 }":                 true,
		"var words = sync.OnceValue(read)":                false,
		"func f() { g.Gone(f); atomic := 1; _ = atomic }": false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+src, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := concurrent(f); got != want {
			t.Errorf("%s: %t", src, got)
		}
	}
}

func TestTestsOfAFile(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "", `package p
func TestMain(m *testing.M) {}
func TestA(t *testing.T) {}
func ExampleB() {}
func (x) TestC() {}
func helper() {}`, 0)
	if got := testsOf(f); err != nil || pattern(got) != "^(ExampleB|TestA)$" {
		t.Errorf("%v: %v", got, err)
	}
}

// Tests of more than half a minute are named, the longest first.
func TestSlowest(t *testing.T) {
	r := newResults(new(show))
	if err := r.read("others", strings.NewReader(`
{"Action":"pass","Package":"m/a","Test":"TestShort","Elapsed":29}
{"Action":"pass","Package":"m/a","Test":"TestLong/one","Elapsed":31}
{"Action":"pass","Package":"m/a","Test":"TestLong","Elapsed":31}
{"Action":"fail","Package":"m/b","Test":"TestLonger","Elapsed":62}`)); err != nil {
		t.Fatal(err)
	}
	want := []string{"30 s: m/b (others) TestLonger 62 s", "30 s: m/a (others) TestLong 31 s"}
	if got := r.slowest(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
