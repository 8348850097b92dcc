package proc

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/drive"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

func TestMessages(t *testing.T) {
	var b bytes.Buffer
	if err := write(&b, events, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(&b, hello, greeting{Part: "A", PID: 7}); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	in := bufio.NewReader(bytes.NewReader(whole))
	if k, got, err := read(in); k != events || string(got) != "abc" || err != nil {
		t.Errorf("%c %q %v", k, got, err)
	}
	if k, got, err := read(in); k != hello || !strings.Contains(string(got), `"Part":"A"`) || err != nil {
		t.Errorf("%c %q %v", k, got, err)
	}
	for n := range len(whole) {
		in := bufio.NewReader(bytes.NewReader(whole[:n]))
		_, _, err := read(in)
		if err == nil {
			_, _, err = read(in)
		}
		if err == nil {
			t.Errorf("%d bytes are two messages", n)
		}
	}
	if _, _, err := read(bufio.NewReader(strings.NewReader("e\xff\xff\xff\xff"))); err == nil {
		t.Error("a message of 4 GiB was believed")
	}
}

func TestParseEvents(t *testing.T) {
	want := []trace.Event{{At: 5, Machine: 1, Kind: trace.Start}, {At: 6, Machine: 2, Kind: trace.Arrive, A: -3}}
	b := appendStamp(nil, 99, 4)
	for i := range want {
		b = want[i].Append(b)
	}
	now, late, got, err := parseEvents(b, 3)
	if err != nil || now != 99 || late != 4 {
		t.Errorf("%v %d %v", now, late, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, _, _, err := parseEvents(b, 2); err == nil {
		t.Error("an event of a machine that there is not")
	}
	if _, _, _, err := parseEvents(b[:len(b)-1], 3); err == nil {
		t.Error("half an event")
	}
}

func FuzzParseEvents(f *testing.F) {
	e := trace.Event{At: 1, Machine: 2, Kind: trace.Start}
	f.Add(e.Append(appendStamp(nil, 5, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, list, err := parseEvents(b, 10)
		for _, e := range list {
			if err == nil && (e.Machine < 0 || e.Machine > 9) {
				t.Errorf("machine %d of 10", e.Machine)
			}
		}
	})
}

// The merge hands on what no part can report anything earlier than, by time, by
// machine, by number.
func TestMerge(t *testing.T) {
	var got []unit.Time
	c := &conduct{Conductor: &Conductor{Sink: sink(func(e *trace.Event) { got = append(got, e.At) })}}
	a := &seat{now: 30, queue: []trace.Event{{At: 10}, {At: 29}, {At: 30}}}
	b := &seat{now: 20, queue: []trace.Event{{At: 5, Machine: 1}, {At: 10, Machine: 1}, {At: 15, Machine: 1}}}
	c.seats = []*seat{a, b}
	if until := c.merge(false); until != 20 {
		t.Errorf("merged until %v", until)
	}
	if diff := cmp.Diff([]unit.Time{5, 10, 10, 15}, got); diff != "" {
		t.Error(diff)
	}
	c.merge(true)
	if diff := cmp.Diff([]unit.Time{5, 10, 10, 15, 29, 30}, got); diff != "" {
		t.Error(diff)
	}
}

// What the kernel loses is missed on each link, on those of a part that was restarted too:
// each end counts from the last restart.
func TestMissing(t *testing.T) {
	report := func(traffic ...drive.Traffic) *seat {
		return &seat{Seat: &Seat{File: &File{}}, report: &Report{Traffic: traffic}}
	}
	for _, x := range []struct {
		came      int64 // by the switch that was restarted
		arrived   int64 // from it
		elsewhere int64
		want      int64
	}{{7, 5, 9, 0}, {6, 5, 9, 1}, {7, 3, 9, 2}, {7, 5, 6, 3}, {0, 0, 0, 21}} {
		restarted := report(drive.Traffic{Path: 0, Sent: 5, Came: -1}, drive.Traffic{Path: 1, Sent: -1, Came: x.came})
		restarted.restarted = true
		restarted.File.Links = []End{{Wire: 0}}
		peer := report(drive.Traffic{Path: 0, Sent: -1, Came: x.arrived}, drive.Traffic{Path: 1, Sent: 7, Came: -1}, drive.Traffic{Path: 2, Sent: 9, Came: x.elsewhere})
		c := &conduct{seats: []*seat{restarted, peer}}
		if got := c.missing(); got != x.want {
			t.Errorf("%+v: %d are missing", x, got)
		}
	}
}

type sink func(*trace.Event)

func (s sink) Record(e *trace.Event) { s(e) }

func TestFile(t *testing.T) {
	dir := t.TempDir()
	f := &File{Fabemu: "v1", Part: "A", Machines: []string{"A"}, Scenario: "s.yaml", Run: 5, Dilation: 2, Control: "c.sock", Links: []End{{Link: "x", Wire: 1, End: 1, Kind: "udp", Port: 7, Peer: 8}}}
	path := filepath.Join(dir, "A.json")
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Scenario, f.Control = filepath.Join(dir, "s.yaml"), filepath.Join(dir, "c.sock")
	if diff := cmp.Diff(f, got); diff != "" {
		t.Error(diff)
	}
}

// What stays awake ends with its input.
func TestStayAwake(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ended := make(chan struct{})
	go func() {
		StayAwake(r)
		close(ended)
	}()
	w.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	os.WriteFile(path, []byte(strings.Repeat("line\n", 100)+"last\n"), 0o666)
	if got := tail(path); !strings.HasSuffix(got, "\nlast") || strings.Count(got, "\n") != 11 {
		t.Errorf("%q", got)
	}
	if got := tail(path + "x"); got != "" {
		t.Errorf("%q", got)
	}
}
