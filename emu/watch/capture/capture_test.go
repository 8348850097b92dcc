package capture_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ports are those of one link, between A and B.
var ports = []capture.Port{
	{Node: 0, Port: 3, Name: "A:3 <- B", Description: "A-B", Rate: 8e9},
	{Node: 1, Port: 0, Name: "B:0 <- A", Description: "B-A", Rate: 8e9},
}

var data = wire.Frame{Kind: wire.Data, Src: 1, Dst: 2, QP: 7, PSN: 5, Payload: 256}

// seen is a packet of a capture in words.
func seen(t *testing.T, b []byte) (r *pcapng.Reader, lines []string) {
	t.Helper()
	r, err := pcapng.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%d %s %v %d/%d %s", p.Time, r.Interfaces[p.Interface].Name, p.Direction, len(p.Data), p.Length, bytes.Join(p.Comments, []byte("|"))))
	}
}

// script tells a capture of a frame that A marks, of its arrival at B, of a drop in
// the same instant, and of one later.
func script(c *capture.Capture) {
	c.Record(&trace.Event{At: 1000, Kind: trace.Arrive, Node: 0, Port: 3, Flow: 7, A: int64(wire.Data), B: 12})
	c.Record(&trace.Event{At: 2000, Kind: trace.Trigger, Node: 0, Port: 3, A: int64(trace.FullBuffer), B: 4})
	marked := data
	marked.FECN = true
	c.Sent(0, &port.Transmission{Port: 3, Frame: marked, Start: 3000, Note: port.Note{Reason: uint8(trace.FullBuffer), Waiting: 2, Credit: 99}}, wire.Body{}, 3000, 600, 40)
	c.Received(0, &port.Arrival{Frame: marked}, wire.Body{}, 5000, 1000)
	c.Record(&trace.Event{At: 5000, Kind: trace.Arrive, Node: 1, Flow: 7, PSN: 5, A: int64(wire.Data), B: 5})
	c.Record(&trace.Event{At: 5000, Kind: trace.Drop, Node: 1, Flow: 7, PSN: 5, A: int64(trace.NoRoute)})
	c.Record(&trace.Event{At: 9000, Kind: trace.Drop, Node: 1, Flow: 7, PSN: 6, A: int64(trace.NotForUs)})
}

func TestCommentsSayWhatBytesDoNot(t *testing.T) {
	var out bytes.Buffer
	c := capture.New(&out, capture.Options{Ports: ports, Comment: "a test", Names: map[uint32]string{7: "all.A"}, Request: capture.Request{Both: true}})
	script(c)
	if written, missed := c.End(); written != 3 || missed != 0 {
		t.Errorf("%d written, %d missed", written, missed)
	}
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	r, got := seen(t, out.Bytes())
	want := []string{
		"3 A:3 <- B out 298/298 marked: full-buffer, 2 waiting (cnt1), triggered at 2ns by full-buffer with 4 waiting, buffer of port 3 12 blocks; credit 99 blocks",
		"5 B:0 <- A in 298/298 buffer 5 blocks; dropped: no-route",
		"9 B:0 <- A in 16/30 dropped: not-for-us (flow 7, psn 6)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a test", "flow 7 all.A"}, r.Comments); diff != "" {
		t.Error(diff)
	}
	if len(r.Interfaces) != 2 || r.Interfaces[1].Speed != 8e9 || r.Interfaces[1].Description != "B-A" || r.Interfaces[0].Link != pcapng.ERF {
		t.Errorf("%+v", r.Interfaces)
	}
}

// Wall times, how late a frame left, and the verdict, in a file that can be written
// to at any place and in one that cannot.
func TestRunOnTheWallClock(t *testing.T) {
	begin := time.Unix(1000, 0)
	file, err := os.Create(filepath.Join(t.TempDir(), "capture"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var stream bytes.Buffer
	for _, to := range []io.Writer{file, &stream} {
		c := capture.New(to, capture.Options{Ports: ports, Wall: true, Comment: "a test", Request: capture.Request{Both: true, Time: capture.WallTime}})
		c.Began(begin)
		script(c)
		c.End()
		if err := c.Close("Verdict: exact: all is well"); err != nil {
			t.Fatal(err)
		}
		b := stream.Bytes()
		if to == file {
			if b, err = os.ReadFile(file.Name()); err != nil {
				t.Fatal(err)
			}
		}
		r, got := seen(t, b)
		if !strings.HasPrefix(got[0], "1000000000600 A:3 <- B out") || !strings.HasSuffix(got[0], "credit 99 blocks; late 0.0us") || !strings.HasPrefix(got[1], "1000000001000 B:0") {
			t.Errorf("%q", got)
		}
		if want := map[bool]string{true: "a test. Verdict: exact: all is well", false: "a test. The verdict is in the statistics at the end"}[to == file]; strings.TrimRight(r.Comments[0], " ") != want {
			t.Errorf("section: %q, want %q", r.Comments[0], want)
		}
		if got := r.Statistics[0].Comment; got != "Verdict: exact: all is well" {
			t.Errorf("statistics: %q", got)
		}
	}
}

// A filter of ports and of flows, and a snap length.
func TestLessIsCaptured(t *testing.T) {
	var out bytes.Buffer
	c := capture.New(&out, capture.Options{Ports: ports, Only: []bool{false, true}, Flows: map[uint32]bool{7: true}, Request: capture.Request{Filter: []string{"B all"}, Snap: 20}})
	script(c)
	other := data
	other.QP = 8
	c.Received(0, &port.Arrival{Frame: other}, wire.Body{}, 10000, 0)
	c.Received(0, &port.Arrival{Frame: wire.Frame{Kind: wire.FlowControl}}, wire.Body{}, 11000, 0)
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	r, got := seen(t, out.Bytes())
	want := []string{"5 B:0 <- A in 36/298 buffer 5 blocks; dropped: no-route", "9 B:0 <- A in 16/30 dropped: not-for-us (flow 7, psn 6)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Interfaces) != 1 || r.Interfaces[0].Filter != "B all" || r.Interfaces[0].Snap != 16+wire.MaxNotification {
		t.Errorf("%+v", r.Interfaces)
	}
}

// By default a frame is in the file once: data where it is sent, what controls a link
// where it is obeyed; at the other end where only that is captured. What becomes of it
// at the end that has no record is there by itself.
func TestOneRecordForEachHop(t *testing.T) {
	credit := wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 9})}
	tell := func(c *capture.Capture) {
		script(c)
		c.Sent(1, &port.Transmission{Frame: credit, Start: 10000, Note: port.Note{Credit: -1}}, wire.Body{}, 10000, 0, 0)
		c.Received(1, &port.Arrival{Frame: credit}, wire.Body{}, 12000, 0)
	}
	const marked = "marked: full-buffer, 2 waiting (cnt1), triggered at 2ns by full-buffer with 4 waiting, buffer of port 3 12 blocks; credit 99 blocks"
	for _, c := range []struct {
		options capture.Options
		want    []string
	}{
		{capture.Options{}, []string{
			"3 A:3 <- B out 298/298 " + marked, "5 B:0 <- A in 16/30 dropped: no-route (flow 7, psn 5)", "9 B:0 <- A in 16/30 dropped: not-for-us (flow 7, psn 6)",
			"12 A:3 <- B in 80/80 ",
		}},
		{capture.Options{Only: []bool{true, false}}, []string{"3 A:3 <- B out 298/298 " + marked, "12 A:3 <- B in 80/80 "}},
		{capture.Options{Only: []bool{false, true}}, []string{
			"5 B:0 <- A in 298/298 buffer 5 blocks; dropped: no-route", "9 B:0 <- A in 16/30 dropped: not-for-us (flow 7, psn 6)", "10 B:0 <- A out 80/80 ",
		}},
		{capture.Options{Request: capture.Request{Both: true, Snap: 128}}, []string{
			"3 A:3 <- B out 144/298 " + marked, "5 B:0 <- A in 144/298 buffer 5 blocks; dropped: no-route", "9 B:0 <- A in 16/30 dropped: not-for-us (flow 7, psn 6)",
			"10 B:0 <- A out 80/80 ", "12 A:3 <- B in 80/80 ",
		}},
	} {
		c.options.Ports = ports
		var out bytes.Buffer
		tap := capture.New(&out, c.options)
		tell(tap)
		tap.End()
		if err := tap.Close(""); err != nil {
			t.Fatal(err)
		}
		if _, got := seen(t, out.Bytes()); !cmp.Equal(c.want, got) {
			t.Errorf("%+v: %s", c.options, cmp.Diff(c.want, got))
		}
	}
}

// A capture in several files: none is larger than was said, each has all that it needs to
// be read by itself, and together they have what one file has.
func TestFilesThatFollowOneAnother(t *testing.T) {
	send := func(c *capture.Capture) {
		for i := range 200 {
			c.Sent(0, &port.Transmission{Port: 3, Frame: data, Start: unit.Time(i) * 1000, Note: port.Note{Credit: int32(i)}}, wire.Body{}, unit.Time(i)*1000, 0, 0)
		}
		c.End()
		if err := c.Close("Verdict: exact"); err != nil {
			t.Fatal(err)
		}
	}
	o := capture.Options{Ports: ports, Comment: "a test", Nodes: map[wire.LID]string{1: "A", 2: "B"}, Names: map[uint32]string{7: "all"}}
	var one bytes.Buffer
	send(capture.New(&one, o))
	_, want := seen(t, one.Bytes())

	var files []*bytes.Buffer
	o.Next = func() (io.Writer, error) {
		files = append(files, &bytes.Buffer{})
		return files[len(files)-1], nil
	}
	for _, o.Rotate = range []unit.Size{20_000, o.Smallest()} {
		files = nil
		first, _ := o.Next()
		send(capture.New(first, o))
		var got []string
		for i, f := range files {
			r, lines := seen(t, f.Bytes())
			if f.Len() > int(o.Rotate) || len(lines) == 0 || r.Statistics[0].Received != uint64(len(lines)) {
				t.Errorf("file %d of %v has %d bytes, %d records, statistics %+v", i+1, o.Rotate, f.Len(), len(lines), r.Statistics)
			}
			if diff := cmp.Diff([]string{"a test", fmt.Sprintf("part %d", i+1), "flow 7 all"}, r.Comments) + cmp.Diff([]pcapng.Name{{MAC: 0x020000000001, Text: "A"}, {MAC: 0x020000000002, Text: "B"}}, r.Names); diff != "" || len(r.Interfaces) != 2 {
				t.Error(diff)
			}
			if !strings.HasSuffix(lines[0], "|machines 1 A, 2 B") {
				t.Errorf("the first record says %s", lines[0])
			}
			if said := r.Statistics[0].Comment; (said == "Verdict: exact") != (i == len(files)-1) {
				t.Errorf("file %d: %q", i+1, said)
			}
			if i > 0 {
				lines[0] = strings.TrimSuffix(lines[0], "|machines 1 A, 2 B")
			}
			got = append(got, lines...)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(files) < 3 {
			t.Errorf("%d files: %s", len(files), diff)
		}
	}

	// A file that cannot be begun is an error at the end.
	o.Next = func() (io.Writer, error) { return nil, errFull }
	c := capture.New(io.Discard, o)
	for i := range 200 {
		c.Sent(0, &port.Transmission{Port: 3, Frame: data}, wire.Body{}, unit.Time(i), 0, 0)
	}
	if written, missed := c.End(); written+missed != 200 || missed == 0 {
		t.Errorf("%d written, %d missed", written, missed)
	}
	if err := c.Close(""); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

// A link of Ethernet is its own interface kind; its frames have their FCS.
func TestEthernet(t *testing.T) {
	of := append([]capture.Port{}, ports...)
	of[0].Ethernet, of[1].Ethernet = true, true
	var out bytes.Buffer
	c := capture.New(&out, capture.Options{Ports: of})
	frame := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: 1, Dst: 2, QP: 7, PSN: 5, Payload: 300}
	c.Sent(0, &port.Transmission{Port: 3, Frame: frame, Note: port.Note{Credit: -1}}, wire.Body{}, 0, 0, 0)
	c.Received(0, &port.Arrival{Frame: wire.Frame{Kind: wire.Pause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 9})}}, wire.Body{}, 0, 0)
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	r, got := seen(t, out.Bytes())
	want := []string{"0 A:3 <- B out 322/322 ", "0 B:0 <- A in 64/64 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Interfaces[0].Link != pcapng.Ethernet || r.Interfaces[0].FCS != 4 {
		t.Errorf("%+v", r.Interfaces[0])
	}
}

// stuck is a file that takes nothing until it is let go.
type stuck struct {
	let chan struct{}
	to  io.Writer
}

func (s stuck) Write(b []byte) (int, error) {
	<-s.let
	return s.to.Write(b)
}

// A file that does not take what is written does not make a wall run wait: what has
// no room is counted and said.
func TestFullQueueIsCounted(t *testing.T) {
	let := make(chan struct{})
	began := make(chan *capture.Capture)
	var file bytes.Buffer
	go func() { began <- capture.New(stuck{let, &file}, capture.Options{Ports: ports, Wall: true}) }()
	let <- struct{}{} // the head of the file
	c := <-began
	const n = 300_000
	for i := range n {
		c.Sent(0, &port.Transmission{Port: 3, Frame: data, Start: unit.Time(i)}, wire.Body{}, unit.Time(i), 0, 0)
	}
	close(let)
	written, missed := c.End()
	if written+missed != n || missed == 0 || written == 0 {
		t.Errorf("%d written and %d missed of %d", written, missed, n)
	}
}

// awaited closes a channel when a text is written to a file.
type awaited struct {
	io.Writer
	text string
	came chan struct{}
}

func (a *awaited) Write(b []byte) (int, error) {
	if a.text != "" && bytes.Contains(b, []byte(a.text)) {
		a.text = ""
		close(a.came)
	}
	return a.Writer.Write(b)
}

// Where frames are missing, the next one says how many.
func TestMissingFramesAreMarked(t *testing.T) {
	let := make(chan struct{})
	began := make(chan *capture.Capture)
	var file bytes.Buffer
	marked := &awaited{&file, "missing: ", make(chan struct{})}
	go func() { began <- capture.New(stuck{let, marked}, capture.Options{Ports: ports, Wall: true}) }()
	let <- struct{}{}
	c := <-began
	n := int64(0)
	send := func() {
		c.Sent(0, &port.Transmission{Port: 3, Frame: data, Start: unit.Time(n), Note: port.Note{Credit: -1}}, wire.Body{}, unit.Time(n), 0, 0)
		n++
	}
	for range 300_000 {
		send()
	}
	close(let)
	for again := true; again; send() { // until there is room again
		select {
		case <-marked.came:
			again = false
		case <-time.After(5 * time.Millisecond):
		}
	}
	written, missed := c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	_, lines := seen(t, file.Bytes())
	said := int64(0)
	for _, line := range lines {
		if _, text, ok := strings.Cut(line, "missing: "); ok {
			var k int64
			fmt.Sscan(text, &k)
			said += k
		}
	}
	if missed == 0 || said != missed || written+missed != n || int64(len(lines)) != written {
		t.Errorf("%d of %d missed, %d written, the file has %d and says that %d are missing", missed, n, written, len(lines), said)
	}
}

// On the virtual clock the run waits, and nothing is missed.
func TestVirtualRunWaits(t *testing.T) {
	c := capture.New(io.Discard, capture.Options{Ports: ports})
	const n = 300_000
	for i := range n {
		c.Sent(0, &port.Transmission{Port: 3, Frame: data, Start: unit.Time(i)}, wire.Body{}, unit.Time(i), 0, 0)
	}
	if written, missed := c.End(); written != n || missed != 0 {
		t.Errorf("%d written and %d missed of %d", written, missed, n)
	}
}

// full is a file that has no room.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A file that cannot be written is an error of the capture, at its end.
func TestFileThatFails(t *testing.T) {
	c := capture.New(full{}, capture.Options{Ports: ports})
	script(c)
	if written, missed := c.End(); written != 0 || missed != 3 {
		t.Errorf("%d written, %d missed", written, missed)
	}
	if err := c.Close(""); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}
