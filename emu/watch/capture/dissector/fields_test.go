package dissector_test

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/wire"
)

// headers are the protocols of frames that the add-on has. One comes twice: frames of two kinds are
// one protocol.
var headers = []struct {
	name, title string
	kind        wire.Kind
}{
	{"fabemu_fcp", "InfiniBand flow control packet", wire.FlowControl},
	{"fabemu_data", "Data frame of fabemu", wire.Data},
	{"fabemu_data", "Message of a scheme", wire.Message},
	{"cntag", "Congestion notification tag", wire.Data},
	{"cnm", "Congestion notification message", wire.Notification},
	{"rlt", "Rate-limited tag", wire.Data},
	{"bcn", "Backward Congestion Notification", wire.BCN},
	{"e2cm", "Extended Ethernet Congestion Management", wire.Probe},
	{"ctlos", "Control ordered set of Ultra Ethernet", wire.LLRInit},
	{"ccupdate", "CC_Update of Ultra Ethernet", wire.CCUpdate},
}

// shown returns the fields of a protocol of a kind, in their order on the wire.
func shown(name string, kind wire.Kind) (fields []wire.Field) {
	for _, x := range kind.Fields() {
		if x.Title != "" && (x.Header == name || x.Header == "" && name != "cntag" && name != "rlt") {
			x.Filter = cmp.Or(x.Filter, x.Word)
			fields = append(fields, x)
		}
	}
	slices.SortStableFunc(fields, func(x, y wire.Field) int { return cmp.Compare(place(x), place(y)) })
	return fields
}

// place is where a field is; one without a place comes last.
func place(x wire.Field) int {
	if x.Size == 0 {
		return 1 << 20
	}
	return x.At
}

// typed returns the type of a field's value, as Wireshark names types.
func typed(x wire.Field) string {
	switch {
	case x.Type != "":
		return x.Type
	case x.Form == wire.Flag:
		return "bool"
	case x.Form == wire.Signed:
		return fmt.Sprintf("int%d", 8*x.Size)
	case x.Form == wire.Address:
		return "ether"
	case x.Form == wire.Octets:
		return "bytes"
	}
	return fmt.Sprintf("uint%d", 8*x.Size)
}

// lua writes fields as in the add-on.
func lua(fields []wire.Field) string {
	var b strings.Builder
	for _, x := range fields {
		base, kind := "base.DEC", typed(x)
		switch {
		case kind == "bool":
			base = fmt.Sprint(8 * x.Size)
		case kind == "bytes":
			base = "base.NONE"
		case x.Form == wire.Hex || x.Form == wire.HexWord:
			base = "base.HEX"
		}
		fmt.Fprintf(&b, "    { %q, %q, %q", x.Filter, x.Title, kind)
		if kind != "ether" {
			fmt.Fprintf(&b, ", %s", base)
		}
		switch {
		case x.ByHand:
		case x.Type != "":
			mask := cmp.Or(x.Mask, 1<<uint(8*x.Size)-1)
			fmt.Fprintf(&b, ", bits = { %d, %d }", 8*x.Size-bits.Len64(mask), bits.OnesCount64(mask))
		case x.Mask != 0:
			fmt.Fprintf(&b, ", mask = %#x", x.Mask)
		}
		if !x.ByHand {
			fmt.Fprintf(&b, ", at = %d, size = %d", x.At, x.Size)
		}
		if x.Form == wire.HexWord && !x.ByHand {
			b.WriteString(", le = true")
		}
		if x.Names != nil {
			fmt.Fprintf(&b, ", names = { [0] = %q", x.Names[0])
			for _, name := range x.Names[1:] {
				fmt.Fprintf(&b, ", %q", name)
			}
			b.WriteString(" }")
		}
		if x.Doc != "" {
			fmt.Fprintf(&b, ", text = %q", x.Doc)
		}
		b.WriteString(" },\n")
	}
	return b.String()
}

// The add-on has the fields of package wire.
func TestFieldsOfAddOn(t *testing.T) {
	text := "local headers = {\n"
	for _, h := range headers {
		text += fmt.Sprintf("  { %q, %q,\n%s  },\n", h.name, h.title, lua(shown(h.name, h.kind)))
	}
	golden.Part(t, "fabemu.lua", "-- The fields below are written by: go test ./emu/watch/capture/dissector -update\n", "-- end of the fields\n", text+"}\n")
}

// value returns a field as its place in a header has it.
func value(x wire.Field, header []byte) int64 {
	var v uint64
	for i, octet := range header[x.At : x.At+x.Size] {
		if x.Form == wire.HexWord {
			v |= uint64(octet) << (8 * i)
		} else {
			v = v<<8 | uint64(octet)
		}
	}
	if x.Mask != 0 {
		v = v & x.Mask >> bits.TrailingZeros64(x.Mask)
	}
	switch x.Form {
	case wire.Signed:
		return int64(int16(v))
	case wire.Address:
		lid, _ := wire.MAC(v).LID()
		return int64(lid)
	case wire.Flag:
		return min(int64(v), 1)
	}
	return int64(v)
}

// Each field is where its table says, and has the value that it has in the frame.
func TestPlacesOfFields(t *testing.T) {
	left := map[string]bool{} // fields of which no frame had a value other than 0
	for _, h := range headers {
		for _, x := range shown(h.name, h.kind) {
			if x.Of != nil && x.Size > 0 {
				left[fmt.Sprint(h.name, h.kind, x.Title)] = true
			}
		}
	}
	check := func(name string, f *wire.Frame, header []byte) {
		for _, x := range shown(name, f.Kind) {
			if x.Of == nil || x.Size == 0 || x.Has != nil && !x.Has(f) {
				continue
			}
			got, want := value(x, header), x.Of(f)
			if got != want {
				t.Errorf("%s: %s is %d at its place, and %d in %+v", name, x.Title, got, want, f)
			}
			if want != 0 {
				delete(left, fmt.Sprint(name, f.Kind, x.Title))
			}
		}
	}
	set := wire.ExtensionOf(wire.OrderedSetExtension{First: 0xABCDE, Second: 0xBEEF})
	tagged := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Tagged: true, CPID: 9, Src: 3, Dst: 5, QP: 0x12, Payload: 100}
	tagged.SetImmediate(77)
	severe := wire.Frame{Kind: wire.BCN, Src: 0xAA, Dst: 1, Flags: wire.BCNMild | wire.BCNMax, CPID: 0x00190200000000AA}
	names := map[wire.Kind]string{wire.Data: "fabemu_data", wire.Message: "fabemu_data", wire.Notification: "cnm", wire.BCN: "bcn", wire.Probe: "e2cm"}
	for _, f := range slices.Concat(infiniband[:2], ethernet, []wire.Frame{{Kind: wire.LLRInit, Src: 1, Extension: set}, tagged, severe}) {
		b := f.Append(nil)
		switch at := wire.EthernetHeaderSize; {
		case f.Kind == wire.FlowControl:
			check("fabemu_fcp", &f, b)
		case f.Kind == wire.LLRInit:
			check("ctlos", &f, b[14:])
		case !f.Kind.Control():
			if f.Tagged {
				check("cntag", &f, b[at:])
				at += wire.CNTagSize
			}
			if f.Kind == wire.Data && f.CPID != 0 {
				check("rlt", &f, b[at:])
				at += wire.RLTagSize
			}
			check(names[f.Kind], &f, b[at:])
		}
	}
	for field := range left {
		t.Errorf("%s: no frame has it", field)
	}
}
