package dump_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
)

// arrivals counts the frames that end at the receiver of a link, as the events of a run report
// them.
type arrivals struct{ lost, corrupted, discarded int }

func (a *arrivals) Record(e *trace.Event) {
	switch {
	case e.Kind == trace.Drop && e.Reason() == trace.LostOnLink, e.Kind == trace.Retry && retry.Counter(e.A) == retry.LostOnLink:
		a.lost++
	case e.Kind == trace.Drop && e.Reason() == trace.BadFCS, e.Kind == trace.Retry && retry.Counter(e.A) == retry.RxBad:
		a.corrupted++
	case e.Kind == trace.Retry && (retry.Counter(e.A) == retry.RxMissingSeq || retry.Counter(e.A) == retry.RxDuplicateSeq):
		a.discarded++
	}
}

const faultyFabric = `
endpoints: [a, b]
switches: {S: {}}
links: [a - S, {name: out, between: S - b}]
flows: [{name: f, from: a, to: b}]
faults:
  - {name: loss, at: 100us, link: out, loss: 0.1, for: 2ms}
  - {name: noise, at: 100us, link: out, corruption: 0.1, for: 2ms}
`

// A frame that its link has lost or corrupted is marked at the receiver, in its comment and its
// flags, and the check sequence of a corrupted frame is wrong. All others are right. The frames are
// those of the events, with and without retry, on each family. A capture whose bytes and comments
// disagree is found.
func TestLostAndCorruptedFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, c := range []struct{ name, text string }{
		{"infiniband", "name: faults\nmodel: {duration: 2ms}\ndefaults: {link: {rate: 1GB/s}, flow: {timeout: 30us, window: 4}}" + faultyFabric},
		{"ethernet", "name: faults\nmodel: {duration: 2ms}\ndefaults: {link: {rate: 1GB/s, flow-control: pause}, switch: {kind: output-queued}, flow: {packet: 1500B}}" + faultyFabric},
		{"retry", runtest.Text(t, "cbfc/retry")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want arrivals
			var b bytes.Buffer
			s := runtest.Load(t, c.text)
			o := emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: &want, Capture: &emu.Capture{To: &b, Both: true}}
			if _, err := emu.Run(context.Background(), s, o); err != nil {
				t.Fatal(err)
			}
			if want.lost < 10 || want.corrupted < 10 || (c.name == "retry") != (want.discarded > 10) {
				t.Fatalf("the events have %+v", want)
			}
			if got := received(t, b.Bytes()); got != want {
				t.Errorf("the capture has %+v, the events %+v", got, want)
			}
			tsharkCounts(t, b.Bytes(), c.name != "infiniband", want)

			check := func(capture string) *dump.Summary {
				sum, err := dump.Dump(io.Discard, dump.Options{Check: true, Quiet: true}, strings.NewReader(capture))
				if err != nil {
					t.Fatal(err)
				}
				return sum
			}
			whole := b.String()
			if sum := check(whole); sum.Problems() > 0 || sum.Checked[dump.Checksum] < want.corrupted {
				t.Errorf("%v %v", sum.Found, sum.Checked)
			}
			silent := strings.NewReplacer("retry: RX_BAD", "retry: ......", "dropped: fcs-error", "dropped: .........").Replace(whole)
			if sum := check(silent); sum.Found[dump.Checksum] != want.corrupted {
				t.Errorf("without comments %v", sum.Found)
			}
			accused := strings.NewReplacer("retry: lost-on-link", "retry: RX_BAD......", "dropped: lost-on-link", "dropped: fcs-error...").Replace(whole)
			if sum := check(accused); sum.Found[dump.Checksum] != want.lost {
				t.Errorf("with wrong comments %v", sum.Found)
			}
		})
	}
}

// received counts the frames of a capture that end at the receiver of a link. Their flags, comments
// and checksums must agree.
func received(t *testing.T, b []byte) (got arrivals) {
	t.Helper()
	in, err := pcapng.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var d dump.Decoder
	for {
		raw, err := in.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		p := d.Decode(in, raw)
		lost, corrupted := strings.Contains(p.Comment, "lost-on-link"), strings.Contains(p.Comment, "RX_BAD") || strings.Contains(p.Comment, "fcs-error")
		errors := pcapng.LinkErrors(0)
		switch {
		case lost:
			got.lost++
			errors = pcapng.DelimiterError
		case corrupted:
			got.corrupted++
			errors = pcapng.CRCError
		}
		if strings.Contains(p.Comment, "RX_MISSING_SEQ") || strings.Contains(p.Comment, "RX_DUPLICATE_SEQ") {
			got.discarded++
		}
		if raw.Errors != errors || (p.BadSum != "") != corrupted || errors != 0 && raw.Direction != pcapng.Inbound {
			t.Errorf("packet %d, %v: errors %#x, wrong %q, comment %q", p.Number, raw.Direction, raw.Errors, p.BadSum, p.Comment)
		}
	}
}

// tsharkCounts compares the flags, and on Ethernet the check sequences, with those that Wireshark
// shows.
func tsharkCounts(t *testing.T, b []byte, ethernet bool, want arrivals) {
	t.Helper()
	filters := map[string]int{
		"frame.packet_flags_start_frame_delimiter_error == 1": want.lost,
		"frame.packet_flags_crc_error == 1":                   want.corrupted,
	}
	if ethernet {
		filters["eth.fcs.status == 0"] = want.corrupted
	} else {
		filters["erf.flags.rxe == 1"] = want.lost + want.corrupted
	}
	tsharkFinds(t, b, filters)
}

// tsharkFinds has Wireshark, if it is there, count the packets that display filters find.
func tsharkFinds(t *testing.T, b []byte, filters map[string]int) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		return
	}
	path := filepath.Join(t.TempDir(), "of.pcapng")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for filter, n := range filters {
		c := exec.Command(tshark, "-r", path, "-o", "eth.check_fcs:TRUE", "-Y", filter, "-T", "fields", "-e", "frame.number")
		c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
		out, err := c.Output()
		if err != nil {
			t.Fatal(fmt.Errorf("tshark -Y %q: %w", filter, err))
		}
		if got := bytes.Count(out, []byte("\n")); got != n {
			t.Errorf("Wireshark shows %d packets with %s, want %d", got, filter, n)
		}
	}
}
