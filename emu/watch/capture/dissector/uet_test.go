package dissector_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/watch/capture"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// uetFrames are packets of Ultra Ethernet transport of each type, and trimmed ones.
func uetFrames() (all []wire.Frame) {
	const least, shorter = 64, 100
	say := func(f wire.Frame, r wire.RoCE, x wire.UETExtension) {
		f.Family = wire.UET
		f.SetRoCE(r)
		*f.UET() = x
		if f.Last {
			f.SetImmediate(0x01020304)
		}
		all = append(all, f)
	}
	data := wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 7, Payload: 1024}
	marked := data
	marked.PSN, marked.FECN, marked.Last, marked.Payload = 0xFFFFFFFF, true, true, 5
	back := wire.Frame{Kind: wire.Ack, Lane: 6, Src: 5, Dst: 3, QP: 0xAB0012, PSN: 7}
	echo := back
	echo.BECN = true
	control := wire.Frame{Kind: wire.UETControl, Lane: 6, Src: 3, Dst: 5, QP: 0xAB0012}
	given := control
	given.Src, given.Dst = 5, 3
	sent, answered := wire.RoCE{DSCP: 26, ECT: true}, wire.RoCE{DSCP: 48}
	nak, asks := answered, sent
	nak.NAK, asks.AckReq = true, true

	say(data, asks, wire.UETExtension{Offset: -3})
	say(data, sent, wire.UETExtension{Flags: wire.UETOrdered})
	say(data, sent, wire.UETExtension{Flags: wire.UETState, Amount: 0xABCDEF})
	say(marked, sent, wire.UETExtension{Flags: wire.UETState | wire.UETOrdered | wire.UETRetransmitted, Amount: 16, Offset: 2})
	for _, size := range []unit.Size{least, shorter} {
		for _, state := range []uint8{0, wire.UETState} {
			say(data, asks, wire.UETExtension{Flags: state})
			if !all[len(all)-1].Trim(size, 21) {
				panic("a packet that cannot be cut")
			}
		}
	}
	say(back, answered, wire.UETExtension{Offset: -2})
	say(echo, answered, wire.UETExtension{Flags: wire.UETState | wire.UETRetransmitted, Offset: 9, BitmapOffset: -62, Bitmap: 1<<63 | 5, OutOfOrder: 0x1234})
	say(back, answered, wire.UETExtension{Flags: wire.UETState, Offset: 70, BitmapOffset: 7, Bitmap: 1<<63 | 0x8001, OutOfOrder: 3})
	say(back, answered, wire.UETExtension{Flags: wire.UETProbed, Offset: 17})
	for _, code := range []uint8{wire.NackTrimmed, wire.NackTrimmedLastHop, wire.NackOutOfWindow, wire.NackOutOfOrder} {
		say(back, nak, wire.UETExtension{Code: code})
	}
	say(echo, nak, wire.UETExtension{Code: 0x1F, Flags: wire.UETRetransmitted}) // a code that nothing here sends
	control.PSN = 9
	say(control, answered, wire.UETExtension{Code: wire.UETProbe, Offset: 17, Base: 5})
	control.PSN = 0
	say(control, answered, wire.UETExtension{Code: wire.UETCreditRequest, Amount: 16})
	say(given, answered, wire.UETExtension{Code: wire.UETCredit, Amount: 0xFFFFFF})
	return all
}

// uetSample writes a capture of them.
func uetSample(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	c := capture.New(&b, capture.Options{Ports: ports, Request: capture.Request{Both: true}})
	for i, f := range uetFrames() {
		at := unit.Time(i+1) * 1e9
		c.Sent(2, &port.Transmission{Port: 1, Frame: f, Start: at, Note: port.Note{Credit: -1}}, wire.Body{}, at, 0, 0)
	}
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	return save(t, b.Bytes())
}

// Each type of packet of Ultra Ethernet transport is shown as testdata/uet.txt has it, field by
// field.
func TestUET(t *testing.T) {
	u := newUser(t)
	out := u.tshark("-r", uetSample(t), "-O", "uet")
	var got strings.Builder
	shown := false
	for line := range strings.Lines(out) {
		switch {
		case strings.HasPrefix(line, "Frame "):
			if shown = false; got.Len() > 0 {
				got.WriteString("\n")
			}
		case !strings.HasPrefix(line, " "):
			shown = strings.HasPrefix(line, "Ultra Ethernet transport")
		case shown:
			got.WriteString(line)
		}
	}
	text := got.String() + "\n" + u.tshark("-r", uetSample(t), "-T", "fields", "-e", "_ws.col.Info")
	golden.File(t, "testdata/uet.txt", text)
}

// And its fields have the values of the frame.
func TestFieldsOfUET(t *testing.T) {
	u := newUser(t)
	path := uetSample(t)
	frames := uetFrames()
	count := func(is func(f *wire.Frame, x *wire.UETExtension) bool) (n int) {
		for i := range frames {
			if is(&frames[i], frames[i].UET()) {
				n++
			}
		}
		return n
	}
	of := func(k wire.Kind) func(f *wire.Frame, x *wire.UETExtension) bool {
		return func(f *wire.Frame, x *wire.UETExtension) bool { return f.Kind == k }
	}
	list := map[string]int{
		"uet && uet.qp == 0xab0012":               len(frames),
		"udp.dstport == 4793":                     len(frames),
		"_ws.malformed && !fabemu_say.trimmed":    0,
		"uet.type == 11":                          count(of(wire.UETControl)),
		"fabemu_say.trimmed == 1":                 count(of(wire.Trimmed)),
		"uet.type == 10":                          count(func(f *wire.Frame, x *wire.UETExtension) bool { return f.RoCE().NAK }),
		"fabemu_say.becn == 1":                    count(func(f *wire.Frame, _ *wire.UETExtension) bool { return f.BECN }),
		"fabemu_say.fecn == 1 && fabemu_say.mark": count(func(f *wire.Frame, _ *wire.UETExtension) bool { return f.FECN }),
		"uet.again == 1":                          count(func(_ *wire.Frame, x *wire.UETExtension) bool { return x.Flags&wire.UETRetransmitted != 0 }),
		"uet.type == 3 || uet.type == 14":         count(func(_ *wire.Frame, x *wire.UETExtension) bool { return x.Flags&wire.UETOrdered != 0 }),
		"uet.code == 1":                           1, "uet.code == 2": 1, "uet.code == 0x0b": 1, "uet.code == 0x0d": 1,
		"uet.control == 6 && uet.bitmap.first == 5 && uet.offset == 17 && uet.psn == 9":                                                              1,
		"uet.control == 7 && uet.amount == 0xffffff && uet.source == 0x8156":                                                                         1,
		"uet.control == 8 && uet.amount == 16 && uet.source == 0x8012":                                                                               1,
		"uet.type == 13 && uet.amount == 0xabcdef && uet.ses.length == 1024":                                                                         1,
		"uet.psn == 4294967295 && uet.clear == 1 && uet.ses.complete == 1 && uet.ses.data == 0x01020304":                                             1,
		"uet.probed == 1 && !uet.answers":                                                                                                            count(func(_ *wire.Frame, x *wire.UETExtension) bool { return x.Flags&wire.UETProbed != 0 }),
		"uet.type == 7 && uet.answers == 5":                                                                                                          1,
		"uet.bitmap == 0x8000000000000005 && uet.bitmap.offset == -62 && uet.bitmap.first == 4294967241 && uet.early == 0x1234 && uet.selected == 8": 1,
		"uet.selected == 14 && uet.selected == 29 && uet.selected == 77 && uet.answers == 77":                                                        1,
		"fabemu_say.trimmed == 1 && fabemu_say.whole == 1096 && ip.len == 64 && ip.dsfield.dscp == 21 && uet.psn == 7":                               1,
	}
	var filters []string
	for f := range list {
		filters = append(filters, f)
	}
	for i, n := range u.counts(path, filters) {
		if n != list[filters[i]] {
			t.Errorf("%s finds %d frames, want %d", filters[i], n, list[filters[i]])
		}
	}
}

// What a guest sends to the port of Ultra Ethernet transport is of no flow of the fabric, and no
// switch has trimmed it: the last fragment of a datagram is shorter than its header of UDP says.
func TestUETOfGuests(t *testing.T) {
	u := newUser(t)
	plain := wire.Frame{Kind: wire.Data, Family: wire.UET, Src: 3, Dst: 5, QP: 2, PSN: 7, Payload: 1024}
	plain.SetRoCE(wire.RoCE{ECT: true})
	short := plain
	if !short.Trim(128, 21) {
		t.Fatal("a packet that cannot be cut")
	}
	var b bytes.Buffer
	var bodies wire.Bodies
	c := capture.New(&b, capture.Options{Ports: ports, Request: capture.Request{Both: true}})
	for i, f := range []wire.Frame{plain, short} {
		frame, at := f.Append(nil), unit.Time(i+1)*1e9
		guest := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: 3, Dst: 5, QP: 9, PSN: uint32(i)}
		bodies.Put(&guest, wire.Body{Type: 0x0800, Bytes: frame[wire.EthernetHeaderSize : len(frame)-wire.FCSSize]})
		for _, f := range []wire.Frame{f, guest} {
			c.Sent(2, &port.Transmission{Port: 1, Frame: f, Start: at, Note: port.Note{Credit: -1}}, bodies.Of(&f), at, 0, 0)
		}
	}
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	filters := []string{"uet.psn == 7", "uet.qp == 2", "fabemu_say.trimmed == 1"}
	if got, want := fmt.Sprint(u.counts(save(t, b.Bytes()), filters)), "[4 2 1]"; got != want {
		t.Errorf("%q find %s packets, want %s", filters, got, want)
	}
}
