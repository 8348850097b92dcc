package emu

import (
	"context"
	"encoding/binary"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// An atPace is a dilation, and how much model time a test runs at it.
type atPace struct{ dilation, duration string }

// A test of what a quiet machine does begins at a pace that one sustains, and
// continues to slower ones: a packet time becomes longer, and what else the machine
// does matters less. What is claimed is claimed in packet times, so it is the
// same at each.
var (
	quick = []atPace{{"200", "6ms"}, {"2000", "2ms"}, {"10000", "400us"}}
	slow  = []atPace{{"1000", "1ms"}, {"8000", "500us"}, {"40000", "150us"}}
)

// scenario returns Fig. 2 of the paper at this pace. All its flows start within the
// run.
func (p atPace) scenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	return runtest.Short(t, "hpl2002/fig2", p.duration, "wall.dilation="+p.dilation,
		"flows.local.start=0us + 2us", "flows.remote.start=20us + 2us", "flows.victim.start=40us", "flows.victim.stop="+p.duration)
}

// atSomePace runs a test at one pace after another until it has no complaints.
func atSomePace(t *testing.T, paces []atPace, try func(t *testing.T, p atPace) (complaints []string)) {
	t.Helper()
	for i, p := range paces {
		complaints := try(t, p)
		if len(complaints) == 0 {
			return
		}
		for _, c := range complaints {
			if i == len(paces)-1 {
				t.Errorf("at dilation %s: %s", p.dilation, c)
			} else {
				t.Logf("at dilation %s: %s", p.dilation, c)
			}
		}
	}
}

// A stamp is when the kernel received a frame, and when the frame started in model
// time.
type stamp struct {
	start unit.Time
	at    int64
}

// leaky is an end of a link that loses one data frame.
type leaky struct {
	link.Link
	left *int // data frames until the loss
}

func (l *leaky) Send(b []byte) error {
	if len(b) > 2000 {
		if *l.left--; *l.left == 0 {
			return nil
		}
	}
	return l.Link.Send(b)
}

// A datagram that the kernel loses is found out, and makes the run void.
func TestModelLostDatagramVoidsTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	left := 1000
	o := Options{test: process.Hooks{Wrap: func(l link.Link) link.Link { return &leaky{l, &left} }}}
	r, err := Run(context.Background(), runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=50"), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.LostDatagrams != 1 || r.Verdict.Level != report.Void {
		t.Errorf("%d datagrams lost, level %s (%s); want 1, void", r.Verdict.LostDatagrams, r.Verdict.Level, r.Verdict.Reason)
	}
}

// strange is an end of a link to which others send too.
type strange struct {
	link.Link
	n    *int
	said *bool // the message has come
}

func (l *strange) Send(b []byte) error {
	*l.n++
	switch *l.n {
	case 100: // of another run
		other := append([]byte(nil), b...)
		binary.BigEndian.PutUint32(other[len(other)-wire.TrailerSize+52:], 12345)
		if err := l.Link.Send(other); err != nil {
			return err
		}
	case 200: // broken
		if err := l.Link.Send([]byte("hello")); err != nil {
			return err
		}
	case 300: // twice
		if err := l.Link.Send(b); err != nil {
			return err
		}
	case 400: // longer than any of ours
		if err := l.Link.Send(make([]byte, 40_000)); err != nil {
			return err
		}
	case 500: // by a sender that knows all but the secret
		other := append([]byte(nil), b...)
		other[len(other)-wire.TrailerSize+15] ^= 1
		if err := l.Link.Send(other); err != nil {
			return err
		}
	case 600: // an ICMP message has come: nothing is sent
		return link.ErrPeerClosed
	}
	return l.Link.Send(b)
}

func (l *strange) Recv(b []byte) (int, error) {
	if *l.n >= 700 && !*l.said {
		*l.said = true
		return 0, link.ErrUnreachable
	}
	return l.Link.Recv(b)
}

// Datagrams of another run, broken ones, repeated ones, far too long ones, those of a
// sender that does not know the secret of the run, and ICMP messages are passed over and counted;
// they change nothing.
func TestModelStrangersAreRefusedAndCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	n, said := 0, false
	o := Options{test: process.Hooks{Wrap: func(l link.Link) link.Link { return &strange{l, &n, &said} }}}
	r, err := Run(context.Background(), runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=50"), o)
	if err != nil {
		t.Fatal(err)
	}
	v := &r.Verdict
	if v.Verify != "equal" || v.LostDatagrams != 0 || v.Level == report.Void {
		t.Errorf("the log compared with the virtual clock's: %q, %d datagrams lost, %s; want equal, 0", v.Verify, v.LostDatagrams, v.Level)
	}
	want := []report.Count{{Reason: "not of this run", Count: 3}, {Reason: "too long", Count: 1}, {Reason: wire.ErrTruncated.Error(), Count: 1}}
	if diff := cmp.Diff(want, v.RefusedFor); diff != "" || v.Refused != 5 || v.Unreachable != 2 {
		t.Errorf("%d datagrams were refused, %d ICMP errors; want 5, 2\n%s", v.Refused, v.Unreachable, diff)
	}
}
