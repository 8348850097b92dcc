package trace_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/trace"
)

// log keeps copies of events.
type log []trace.Event

// Record keeps an event.
func (l *log) Record(e *trace.Event) { *l = append(*l, *e) }

// "Each machine numbers its own events", from 0, whatever the node says itself.
func TestRecorderNumbersTheEventsOfANode(t *testing.T) {
	var got log
	a, b := trace.NewRecorder(3, &got), trace.NewRecorder(4, &got)
	a.Emit(trace.Event{At: 10, Kind: trace.Start, PSN: 1})
	b.Emit(trace.Event{At: 10, Kind: trace.Arrive})
	a.Emit(trace.Event{At: 10, Kind: trace.Drop, A: 7, Node: 99, Seq: 99})
	b.Emit(trace.Event{At: 11, Kind: trace.Release})
	a.Emit(trace.Event{At: 12, Kind: trace.Mark})
	want := log{
		{At: 10, Node: 3, Seq: 0, Kind: trace.Start, PSN: 1},
		{At: 10, Node: 4, Seq: 0, Kind: trace.Arrive},
		{At: 10, Node: 3, Seq: 1, Kind: trace.Drop, A: 7}, // nothing of the event before is left in it
		{At: 11, Node: 4, Seq: 1, Kind: trace.Release},
		{At: 12, Node: 3, Seq: 2, Kind: trace.Mark},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// "A nil sink is silence", and "the zero value records nothing".
func TestRecorderWithoutSink(t *testing.T) {
	none := trace.NewRecorder(1, nil)
	none.Emit(trace.Event{Kind: trace.Start})
	var zero trace.Recorder
	zero.Emit(trace.Event{Kind: trace.Start})
}

// A FrameWord says what a frame is and which marks it bears, and nothing is lost on
// the return path.
func TestFrameWordRoundTrip(t *testing.T) {
	seen := map[int64]bool{}
	for kind := range 256 {
		for _, fecn := range []bool{false, true} {
			for _, becn := range []bool{false, true} {
				f := wire.Frame{Kind: wire.Kind(kind), FECN: fecn, BECN: becn, Lane: 15, QP: 1<<24 - 1, PSN: 1<<24 - 1}
				word := trace.FrameWord(&f)
				k, gotF, gotB := trace.FrameOf(word)
				if k != f.Kind || gotF != fecn || gotB != becn {
					t.Errorf("kind %d, FECN %v, BECN %v came back as %d, %v, %v", kind, fecn, becn, k, gotF, gotB)
				}
				if seen[word] {
					t.Errorf("the word %#x says two things", word)
				}
				seen[word] = true
			}
		}
	}
}

// constants returns how many constants of event.go belong to the block that
// declares first, the blank one not counted: so a name that is forgotten is found
// without a list to keep.
func constants(t *testing.T, first string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		var names []string
		for _, s := range g.Specs {
			for _, n := range s.(*ast.ValueSpec).Names {
				if n.Name != "_" {
					names = append(names, n.Name)
				}
			}
		}
		if len(names) > 0 && names[0] == first {
			return names
		}
	}
	t.Fatalf("event.go has no constants that begin with %s", first)
	return nil
}

// Every kind of event has its own name, and nothing else has one.
func TestKindsHaveNames(t *testing.T) {
	n := len(constants(t, "Start"))
	if trace.Trim != trace.Kind(n) {
		t.Errorf("%d kinds are declared and the last one is %d", n, trace.Trim)
	}
	testNames(t, func(i int) string { return trace.Kind(i).String() }, 1, n, 255)
}

// Every reason has its own name, and nothing else has one.
func TestReasonsHaveNames(t *testing.T) {
	n := len(constants(t, "NoReason"))
	testNames(t, func(i int) string { return trace.Reason(i).String() }, 0, n-1, 300)
	if got := trace.Reason(-1).String(); got != "unknown" {
		t.Errorf("the reason -1 is called %q", got)
	}
}

// testNames wants names that differ from first to last, and "unknown" elsewhere up
// to top.
func testNames(t *testing.T, name func(int) string, first, last, top int) {
	t.Helper()
	seen := map[string]int{}
	for i := range top + 1 {
		got := name(i)
		if i < first || i > last {
			if got != "unknown" {
				t.Errorf("%d, which is none, is called %q", i, got)
			}
			continue
		}
		if other, ok := seen[got]; ok || got == "" || got == "unknown" {
			t.Errorf("%d is called %q, as is %d", i, got, other)
		}
		seen[got] = i
	}
}

// "An Event is a flat value of fixed size, comparable": two logs are the same when
// == says so of their events.
func ExampleRecorder() {
	var l log
	rec := trace.NewRecorder(2, &l)
	data := wire.Frame{Kind: wire.Data, FECN: true, QP: 7, PSN: 12}
	rec.Emit(trace.Event{At: 4000, Kind: trace.Deliver, Flow: data.QP, PSN: data.PSN, Bytes: 2068, A: trace.FrameWord(&data)})
	rec.Emit(trace.Event{At: 5000, Kind: trace.Drop, A: int64(trace.UnknownFlow)})
	for _, e := range l {
		fmt.Println(e.At, e.Node, e.Seq, e.Kind)
	}
	kind, fecn, _ := trace.FrameOf(l[0].A)
	fmt.Println(kind, fecn, trace.Reason(l[1].A), l[0] == l[1])
	// Output:
	// 4ns 2 0 deliver
	// 5ns 2 1 drop
	// data true unknown-flow false
}
