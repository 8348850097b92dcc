package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// notified is the notification that a frame of flow 0x561234 has caused.
var notified = wire.Frame{
	Kind: wire.Notification, Lane: 6, Tagged: true, Src: 0xAA, Dst: 1, QP: 0x561234, PSN: 7, Payload: 1500,
	Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 33, Octets: 20, Lane: 3, Dst: 2, QOffset: -10, QDelta: 5}), CPID: 0x0200000000AA0001,
}

// backward is the BCN message that a frame of flow 0x561234 has caused: the queue is 240
// units of 64 octets above Qeq and has grown by 32, and the link has 10 Gb/s.
var backward = wire.Frame{
	Kind: wire.BCN, Lane: 6, Src: 0xAA, Dst: 1, QP: 0x561234, PSN: 7, FECN: true, Payload: 1500,
	Flags: wire.BCNMild, Extension: wire.ExtensionOf(wire.SampleExtension{Lane: 3, Dst: 2, QOffset: -240, QDelta: 32, Bottleneck: 1000}), CPID: 0x00190200000000AA,
}

// limited is a frame with the rate-limited tag of that congestion point.
var limited = wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 7, Payload: 64, CPID: 0x00190200000000AA}

// both is limited with a CN-TAG too.
var both = func() wire.Frame { f := limited; f.Tagged = true; return f }()

// probed is a probe behind 75060 bytes of that flow, sent at 1234567890 ps; answered is the
// answer to it, whose destination it reached at 4822530820 ps. counted has the bounds of all
// fields.
var (
	probed   = wire.Frame{Kind: wire.Probe, Lane: 3, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 7, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 75060, SentAt: 1234567890})}
	answered = wire.Frame{Kind: wire.Probe, Lane: 7, Src: 5, Dst: 3, QP: 0xAB0012, PSN: 7, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 75060, SentAt: 1234567890, CameAt: 4822530820}), Flags: wire.ProbeAnswer}
	counted  = wire.Frame{Kind: wire.Probe, Lane: 7, Tagged: true, Src: 5, Dst: 3, QP: 0xAB0012, PSN: 0xFFFFFF, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: math.MaxUint64, CameAt: unit.Never}), Flags: wire.ProbeAnswer | wire.ProbeCounted}
)

// Frames of Ethernet and their bytes but for the zeros that fill them up, as a
// program in another language computed them: fcs is what is behind those zeros, of RoCEv2 the
// ICRC too. That program finds the ICRC of the packet of TestRoCE, which an adapter sent.
var ethernetGolden = []struct {
	name  string
	frame wire.Frame
	hex   string
	size  int
	fcs   string
}{
	{
		"PAUSE, 65535 quanta", wire.Frame{Kind: wire.Pause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 65535})},
		"0180c2000001 020000000001 8808 0001 ffff", 64, "DD7CB2FF",
	}, {
		"PFC, priority 3, 65535 quanta", wire.Frame{Kind: wire.PriorityPause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 8, Stopped: 8, Quanta: 65535})},
		"0180c2000001 020000000001 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000", 64, "B0B229C3",
	}, {
		"PFC, priority 3 stops and 4 goes on", wire.Frame{Kind: wire.PriorityPause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 0x18, Stopped: 8, Quanta: 65535})},
		"0180c2000001 020000000001 8808 0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000", 64, "86C83069",
	}, {
		"PFC, no priority is enabled", wire.Frame{Kind: wire.PriorityPause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Stopped: 255, Quanta: 65535})},
		"0180c2000001 020000000001 8808 0101 0000 ffff ffff ffff ffff ffff ffff ffff ffff", 64, "1D6D97C4",
	}, {
		"CNM, 20 octets of the sampled frame", notified,
		"020000000001 0200000000aa 8100 c000 22e9 1234 22e7 0021 0200000000aa0001 fff6 0005 6000 020000000002 0014 88b5 01561234 00000007 05dc0000", 70, "16D0D90F",
	}, {
		"CNM, nothing of the sampled frame", wire.Frame{
			Kind: wire.Notification, Lane: 6, Src: 0xAA, Dst: 1, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 33, Lane: 3, Dst: 2, QOffset: -10, QDelta: 5}), CPID: 0x0200000000AA0001,
		},
		"020000000001 0200000000aa 8100 c000 22e7 0021 0200000000aa0001 fff6 0005 6000 020000000002 0000", 64, "EA9CEF2D",
	}, {
		"message", wire.Frame{Kind: wire.Message, Lane: 6, Src: 0xAA, Dst: 1, QP: 0x12, PSN: 7, Extension: wire.ExtensionOf(wire.MessageExtension{Value: 0x0102030405060708})},
		"020000000001 0200000000aa 8100 c000 88b5 03000012 00000007 0102030405060708", 64, "05B83563",
	}, {
		"message with a CN-TAG", wire.Frame{Kind: wire.Message, Lane: 6, Tagged: true, Src: 0xAA, Dst: 1, QP: 0x561234, Extension: wire.ExtensionOf(wire.MessageExtension{Value: 1<<64 - 1})},
		"020000000001 0200000000aa 8100 c000 22e9 1234 88b5 03561234 00000000 ffffffffffffffff", 64, "2F423D2E",
	}, {
		"probe", probed,
		"020000000005 020000000003 8100 6000 88b5 04ab0012 00000007 0000000000012534 00000000499602d2 0000000000000000", 64, "921F52E8",
	}, {
		"answer to a probe", answered,
		"020000000003 020000000005 8100 e000 88b5 04ab0012 80000007 0000000000012534 00000000499602d2 000000011f71fb04", 64, "78081B26",
	}, {
		"answer with a CN-TAG, counted by the destination", counted,
		"020000000003 020000000005 8100 e000 22e9 0012 88b5 04ab0012 c0ffffff ffffffffffffffff 0000000000000000 7fffffffffffffff", 64, "F8D00EAA",
	}, {
		"data, the shortest, marked", wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, FECN: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 12},
		"020000000005 020000000003 8100 6000 88b5 01000012 80000007 000c0000", 64, "F628503B",
	}, {
		"data with a CN-TAG", wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: 7, Tagged: true, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 7, Payload: 64},
		"020000000005 020000000003 8100 e000 22e9 0012 88b5 01ab0012 00000007 00400000", 90, "8B263853",
	}, {
		"data with a rate-limited tag", limited,
		"020000000005 020000000003 8100 6000 8904 0000 00190200000000aa 0012 88b5 01ab0012 00000007 00400000", 100, "30DBDCB8",
	}, {
		"data with both tags", both,
		"020000000005 020000000003 8100 6000 22e9 0012 8904 0000 00190200000000aa 0012 88b5 01ab0012 00000007 00400000", 104, "187D215C",
	}, {
		"BCN", backward,
		"020000000001 0200000000aa 8100 c000 88b5 02 40 00190200000000aa ff10 0020 00000000 03e8 020000000002 020000000001 8100 6000 88b5 01561234 80000007 05dc0000", 106, "FE1125E6",
	}, {
		"TCP, SYN with all options", segment(3, 5, 0, 0x12, wire.Segment{Seq: 0xFFFFFFFE, Flags: wire.SYN, Window: 65535, MSS: 1460, SACKPermitted: true, Scales: true, Scale: 7}),
		"020000000005 020000000003 810000000800 4500003400004000400626bd0a0000030a000005c0128400fffffffe000000008002ffff16f80000020405b40101040201030307", 74, "86AA4E0C",
	}, {
		"TCP, SYN and ACK of an ECN setup, without SACK", segment(5, 3, 0, 0x12, wire.Segment{Back: true, Seq: 1000, Ack: 0xFFFFFFFF, Flags: wire.SYN | wire.ACK | wire.ECE, Window: 8192, MSS: 1460}),
		"020000000003 020000000005 810000000800 4500002c00004000400626c50a0000050a0000038400c012000003e8ffffffff605220001bd40000020405b4", 66, "1F42AAB5",
	}, {
		"TCP, 1460 bytes, CE and PSH", segment(3, 5, 3, 0xAB0012, wire.Segment{Seq: 7, Ack: 1001, Flags: wire.ACK | wire.PSH, Window: 501, Length: 1460, CE: true}),
		"020000000005 020000000003 810060000800 450305dc00004000400621120a0000030a000005c01286ac00000007000003e9501801f5496d0000", 1522, "DEA1903C",
	}, {
		"TCP, 1 byte with both tags, ECT", tagged,
		"020000000005 020000000003 8100600022e900128904000000190200000000aa00120800 4502002900004000400626c60a0000030a000005c01286ac0102030405060708501001f543040000", 81, "CC9211D0",
	}, {
		"TCP, ACK with two blocks and an echo", selective,
		"020000000003 020000000005 8100c0000800 4500003c00004000400626b50a0000050a0000038400c012000003e9000005bba05001f5a5c500000101051200000b6f00001123000016d700001c8b", 82, "4D82A128",
	}, {
		"TCP, FIN and ACK", segment(3, 5, 0, 0x12, wire.Segment{Seq: 100, Ack: 1001, Flags: wire.FIN | wire.ACK, Window: 501}),
		"020000000005 020000000003 810000000800 4500002800004000400626c90a0000030a000005c012840000000064000003e9501101f551770000", 64, "C3349705",
	}, {
		"CNM of a TCP segment", notice(notified, sampled),
		"020000000001 0200000000aa 8100c00022e9123422e7 00210200000000aa0001fff600056000020000000002002a0800450305dc00004000400621170a0000010a000002d234855800000007000003e9501801f538a40000", 92, "6972742C",
	}, {
		"BCN of a TCP segment", notice(backward, sampled),
		"020000000001 0200000000aa 8100c00088b5 024000190200000000aaff1000200000000003e8020000000002020000000001810060000800450305dc00004000400621170a0000010a000002d234855800000007000003e9501801f538a40000000000000000", 106, "5B978361",
	}, {
		"CNM of a RoCEv2 packet", notice(notified, roceSampled),
		"020000000001 0200000000aa 8100c00022e9123422e7 00210200000000aa0001fff600056000020000000002002a0800 456b042c00004000401122540a0000010a000002 d95e12b704180000 0440ffff0056123480000007", 92, "AB06D8F2",
	}, {
		"CNM of a RoCEv2 packet over IPv6", notice(notified, roceSampled6),
		"020000000001 0200000000aa 8100c00022e9123422e7 00210200000000aa0001fff600056000020000000002003e86dd 66b4594f04181140fe80000000000000000000fffe000001fe80000000000000000000fffe000002 d95e12b704189cab 0440ffff0056123480000007", 112, "B62BA199",
	}, {
		"BCN of a RoCEv2 packet", notice(backward, roceSampled),
		"020000000001 0200000000aa 8100c00088b5 024000190200000000aaff1000200000000003e8020000000002020000000001810060000800 456b042c00004000401122540a0000010a000002 d95e12b704180000 0440ffff0056123480000007", 106, "6CD05BB1",
	}, {
		"BCN of a RoCEv2 packet over IPv6", notice(backward, roceSampled6),
		"020000000001 0200000000aa 8100c00088b5 024000190200000000aaff1000200000000003e80200000000020200000000018100600086dd 66b4594f04181140fe80000000000000000000fffe000001fe80000000000000000000fffe000002 d95e12b704189cab 0440ffff0056123480000007", 120, "0CF885F0",
	}, {
		"RoCEv2, 1024 bytes over IPv4, ECT, an ACK is asked for", roceData,
		"020000000005 020000000003 810060000800 456a042c00004000401122500a0000030a000005 c14412b704180000 0440ffff0000001280000007", 1090, "05E58F3E 3968CC65",
	}, {
		"RoCEv2, nothing over IPv6, CE, the last", roceLast,
		"020000000005 020000000003 8100600086dd 66bf90b600181140fe80000000000000000000fffe000003fe80000000000000000000fffe000005 d08812b700184a4f 04c0ffff00ab001200ffffff", 86, "5B8E751B 7BF28E10",
	}, {
		"RoCEv2, 64 bytes with both tags", roceTagged,
		"020000000005 020000000003 8100800022e900128904000000190200000000aa00120800 4500006c000040004011267a0a0000030a000005 d08812b700580000 0440ffff00ab001200000007", 148, "B14941A2 B816C85A",
	}, {
		"RoCEv2, ACK with BECN", roce(wire.Frame{Kind: wire.Ack, Lane: 6, BECN: true, Src: 5, Dst: 3, QP: 0x12, PSN: 7, MSN: 8}, wire.RoCE{DSCP: 48, ECT: true}),
		"020000000003 020000000005 8100c0000800 45c2003000004000401125f40a0000050a000003 c14412b7001c0000 1140ffff4000001200000007 1f000008", 70, "C000827E 11054652",
	}, {
		"RoCEv2, NAK over IPv6", roceNAK,
		"020000000003 020000000005 8100c00086dd 6c000144001c1140fe80000000000000000000fffe000005fe80000000000000000000fffe000003 c14412b7001c6ab7 1140ffff0000001200000009 60000008", 90, "5EFAF59B AB2C3E21",
	}, {
		"RoCEv2, CNP", roceCNP,
		"020000000003 020000000005 8100c0000800 45c2003c00004000401125e80a0000050a000003 f24412b700280000 8100ffff4000011800000000", 82, "A911AB78 0C466BF6",
	}, {
		"RoCEv2, CNP over IPv6, CE", roce(wire.Frame{Kind: wire.CNP, Lane: 6, FECN: true, Src: 5, Dst: 3, QP: 0x118}, wire.RoCE{IPv6: true, DSCP: 48, ECT: true}),
		"020000000003 020000000005 8100c00086dd 6c31324000281140fe80000000000000000000fffe000005fe80000000000000000000fffe000003 f24412b700284e6a 8100ffff4000011800000000", 102, "0141EDD4 1B7C9FAB",
	}, {
		"RoCEv2, 16 bytes with a stamp", roceStamped,
		"020000000005020000000003 810060000800 456a004800004000401126340a0000030a000005 c14412b700340000 c440ffff0000001280000007 030000000000123456789abc", 94, "80A365F2 61E08E21",
	}, {
		"RoCEv2, ACK with a stamp", roceStampedAck,
		"020000000003020000000005 8100c0000800 45c0004400004000401125e20a0000050a000003 c14412b700300000 d140ffff0000001200000007 050000000000123456789abc000000000007a120 1f000008", 90, "99CB0B21 99B596EC",
	}, {
		"RoCEv2, 1 KiB from another source port", roceSprayed,
		"020000000005 020000000003 810060000800 456a042c00004000401122500a0000030a000005 cba912b704180000 0440ffff0000001280000007", 1090, "19D91F5C 3968CC65",
	}, {
		"RoCEv2, ACK that names a packet", roceSelected,
		"020000000003020000000005 8100c0000800 45c0003400004000401125f20a0000050a000003 c14412b700200000 f140ffff0000001200000007 00123456 1f000008", 74, "C1B1FE06 57DD1CCF",
	}, {
		"RoCEv2, the same with a stamp", roceSelectedStamp,
		"020000000003020000000005 8100c0000800 45c0004800004000401125de0a0000050a000003 c14412b700340000 f140ffff0000001200000007 01123456 050000000000123456789abc000000000007a120 1f000008", 94, "28FA1602 E9C0D494",
	}, {
		"RoCEv2, 1 KiB cut to 128 bytes", roceTrimmed,
		"020000000005 020000000003 810060000800452e008000004000401126380a0000030a000005c14412b7041800000440ffff0000001280000007", 150, "A22C742D",
	}, {
		"RoCEv2 over IPv6, 4 KiB with a mark cut to 128 bytes", roceTrimmed6,
		"020000000005 020000000003 8100600086dd657f90b600581140fe80000000000000000000fffe000003fe80000000000000000000fffe000005d08812b7101829ef04c0ffff00ab001200ffffff", 150, "C3F4CEAE",
	}, {
		"RoCEv2, all headers there are, cut to 76 bytes", roceTrimmedAll,
		"020000000005 020000000003 8100600022e9001286dd6540014400241140fe80000000000000000000fffe000003fe80000000000000000000fffe000005cba912b70038c20ac540ffff0000001280000007030000000000123456789abccafebabe", 102, "76A0115A",
	}, {
		"UET, RUD request of 1 KiB", uetData,
		"020000000005 020000000003 810060000800 456a044800004000401122340a0000030a000005 c14412b904340000 1108fffd0000000780128000050304", 1118, "FC66E23D",
	}, {
		"UET, ROD request again, with a credit target and a tag", uetOrdered,
		"020000000005 020000000003 810060000800 456b0051000040004011262a0a0000030a000005 cba912b9003d0000 71100000ffffffff8012815600abcdef0527000500000000000000000000000001020304", 103, "C5C430E2",
	}, {
		"UET, ACK_CC", uetAck,
		"020000000003 020000000005 8100c0000800 45c0003c00004000401125ea0a0000050a000003 cba912b900280000 4030000900000007815680120000ffc080000000000000050000000000001234", 82, "C45D48D9",
	}, {
		"UET, ACK of a probe", uetProbed,
		"020000000003 020000000005 8100c0000800 45c0002800004000401125fe0a0000050a000003 d08812b900140000 380800110000000781568012", 64, "97CF6D4B",
	}, {
		"UET, NACK, trimmed at the last hop", uetNack,
		"020000000003 020000000005 8100c0000800 45c0002c00004000401125fa0a0000050a000003 d08812b900180000 502002000000000981568012", 66, "72079E14",
	}, {
		"UET, probe", uetProbe,
		"020000000005 020000000003 8100c0000800 45c0002c00004000401125fa0a0000030a000005 d08812b900180000 5b080011000000098012815600000005", 66, "BD9F0C93",
	}, {
		"UET, credit", uetCredit,
		"020000000003 020000000005 8100c0000800 45c0002c00004000401125fa0a0000050a000003 d08812b900180000 5b800000000000008156801200ffffff", 66, "0EB674C5",
	}, {
		"UET, credit request", uetAsks,
		"020000000005 020000000003 8100c0000800 45c0002c00004000401125fa0a0000030a000005 d08812b900180000 5c000000000000008012815600000010", 66, "A0869309",
	}, {
		"CF_Update of channels 3 and 31", wire.Frame{Kind: wire.CFUpdate, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: wire.ChannelWord(3, 0x1234), Second: wire.ChannelWord(31, 0xFFFFF)})},
		"0180c2000001 020000000001 88b5 5c10192346fffff0", 64, "5DA0E38F",
	}, {
		"LLR_ACK", wire.Frame{Kind: wire.LLRAck, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: 0xABCDE})},
		"0180c2000001 020000000001 88b5 5c01abcde6000000", 64, "5B311BB4",
	}, {
		"LLR_NACK", wire.Frame{Kind: wire.LLRNack, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: 1<<20 - 1})},
		"0180c2000001 020000000001 88b5 5c02fffff6000000", 64, "28118BDE",
	}, {
		"LLR_INIT", wire.Frame{Kind: wire.LLRInit, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: 0x12345, Second: 0xBEEF})},
		"0180c2000001 020000000001 88b5 5c03123456efbe00", 64, "3FBF8786",
	}, {
		"LLR_INIT_ECHO", wire.Frame{Kind: wire.LLRInitEcho, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: 0x12345, Second: 0xBEEF})},
		"0180c2000001 020000000001 88b5 5c04123456efbe00", 64, "596A875A",
	}, {
		"CC_Update of channels 0, 3 and 15", credits(false, 0, 0xFFFFF, 3, 0x12345, 15, 1),
		"0180c2000001 020000000001 8808 fffe fa7acb 01 fffff000000000012345000000000000000000000000000000000000000000000000000000000001", 64, "396E9BA1",
	}, {
		"CC_Update of channels 16 to 23", credits(true, 16, 1, 17, 0x20000, 18, 3, 19, 0x40001, 20, 5, 21, 0xFFFFF, 22, 7, 23, 0x80008),
		"0180c2000001 020000000001 8808 fffe fa7acb 02 0000120000000034000100005fffff00007800080000000000000000000000000000000000000000", 64, "8ED1FE7A",
	},
}

// credits returns a CC_Update of node 1 with counters: a channel and its counter, in turns.
func credits(upper bool, counters ...uint32) wire.Frame {
	p := wire.CCOf(upper)
	for i := 0; i < len(counters); i += 2 {
		if !p.Set(uint8(counters[i]), counters[i+1]) {
			panic("a counter that the part cannot hold")
		}
	}
	return wire.Frame{Kind: wire.CCUpdate, Src: 1, Extension: wire.ExtensionOf(p)}
}

// segment returns a frame with a TCP segment.
func segment(src, dst wire.LID, lane uint8, qp uint32, s wire.Segment) wire.Frame {
	f := wire.Frame{Src: src, Dst: dst, Lane: lane, QP: qp}
	f.SetSegment(&s)
	return f
}

// tagged is a segment of one byte with both tags, selective an ACK with two SACK blocks;
// notifications are about the segment sampled, and the packets roceSampled and roceSampled6.
var (
	tagged = func() wire.Frame {
		f := segment(3, 5, 3, 0xAB0012, wire.Segment{Seq: 0x01020304, Ack: 0x05060708, Flags: wire.ACK, Window: 501, Length: 1, ECT: true})
		f.Tagged, f.CPID = true, 0x00190200000000AA
		return f
	}()
	selective = segment(5, 3, 6, 0x12, wire.Segment{
		Back: true, Seq: 1001, Ack: 1467, Flags: wire.ACK | wire.ECE, Window: 501, SACK: [wire.MaxSACK]wire.SACKBlock{{2927, 4387}, {5847, 7307}},
	})
	sampled = segment(1, 2, 3, 0x561234, wire.Segment{Seq: 7, Ack: 1001, Flags: wire.ACK | wire.PSH, Window: 501, Length: 1460, CE: true})
)

// roceSampled and roceSampled6 are packets of RoCEv2 over IPv4 and IPv6.
var roceSampled, roceSampled6 = func() (v4, v6 wire.Frame) {
	f := wire.Frame{Kind: wire.Data, Lane: 3, Src: 1, Dst: 2, QP: 0x561234, PSN: 7, Payload: 1024, FECN: true}
	r := wire.RoCE{DSCP: 26, ECT: true, AckReq: true}
	v4, r.IPv6 = roce(f, r), true
	return v4, roce(f, r)
}()

// notice makes f, a notification, one about a frame, with all that it says of it.
func notice(f, of wire.Frame) wire.Frame {
	if f.Sample(&of); f.Sampled().Octets > 0 {
		f.Sampled().Octets = uint8(of.SampledOctets())
	}
	return f
}

func TestEthernetGolden(t *testing.T) {
	for _, c := range ethernetGolden {
		t.Run(c.name, func(t *testing.T) {
			want := make([]byte, c.size)
			copy(want, unhex(t, c.hex))
			fcs := unhex(t, c.fcs)
			copy(want[c.size-len(fcs):], fcs)
			got := c.frame.Append(dirty(len(want)))
			if !bytes.Equal(got, want) {
				t.Errorf("Append:\n%x, want\n%x", got, want)
			}
			f, err := wire.Parse(wire.StartOfFrame, want)
			if err != nil {
				t.Fatal(err)
			}
			if f != c.frame {
				t.Errorf("Parse:\n%s", cmp.Diff(c.frame, f))
			}
			front := []byte("in front")
			if got := c.frame.Append(front); !bytes.Equal(got, append([]byte("in front"), want...)) {
				t.Errorf("Append behind other bytes: %x", got)
			}
		})
	}
}

// A CNM that another congestion point wrote, about a frame that this package does not
// write, is refused.
func TestForeignCNM(t *testing.T) {
	b := append(unhex(t, "020000000001 0200000000aa 8100 c000 22e9 1234 22e7 0021 0200000000aa0001 fff6 0005 6000 020000000002 0014 0800"), make([]byte, 18)...)
	b = append(b, unhex(t, "0BC679ED")...)
	if got, want := wire.FCS(b[:66]), binary.LittleEndian.Uint32(b[66:]); got != want {
		t.Errorf("FCS %08x, want %08x", got, want)
	}
	if _, err := wire.Parse(wire.StartOfFrame, b); !refusedFor(err, wire.ParseError{Field: "CNM.MSDU", Offset: 46, Reason: wire.ErrUnsupported}) {
		t.Errorf("Parse says %v", err)
	}
}

var ethernetKinds = []wire.Kind{
	wire.Data, wire.Pause, wire.PriorityPause, wire.Notification, wire.BCN, wire.Message, wire.Probe, wire.TCP, wire.Ack, wire.CNP,
	wire.CCUpdate, wire.CFUpdate, wire.LLRAck, wire.LLRNack, wire.LLRInit, wire.LLRInitEcho,
	wire.Trimmed,
}

// randomEthernet returns an Ethernet frame of any kind with any values in its ranges.
func randomEthernet(r *unit.Random) wire.Frame {
	n := func(below uint64) uint64 { return r.Below(below) }
	f := wire.Frame{Kind: ethernetKinds[n(uint64(len(ethernetKinds)))], Src: wire.LID(n(1 << 16))}
	switch f.Kind {
	case wire.Pause:
		f.Pause().Quanta = uint16(n(1 << 16))
		return f
	case wire.PriorityPause:
		f.Pause().Classes = uint8(n(256))
		if f.Pause().Stopped = uint8(n(256)); f.Pause().Stopped != 0 {
			f.Pause().Quanta = 1 + uint16(n(1<<16-1))
		}
		return f
	case wire.CCUpdate:
		*f.CC() = wire.CCOf(n(2) == 1)
		for i := range uint8(wire.Channels) {
			f.CC().Set(i, uint32(n(wire.CreditModulus)*n(2)))
		}
		return f
	case wire.CFUpdate:
		f.OrderedSet().First, f.OrderedSet().Second = uint32(n(1<<20)), uint32(n(1<<20))
		return f
	case wire.LLRAck, wire.LLRNack, wire.LLRInit, wire.LLRInitEcho:
		if f.OrderedSet().First = uint32(n(1 << 20)); f.Kind >= wire.LLRInit {
			f.OrderedSet().Second = uint32(n(1 << 16))
		}
		return f
	}
	f.Lane, f.Tagged, f.Dst = uint8(n(8)), n(2) == 1, wire.LID(n(1<<16))
	if f.Kind == wire.Ack || f.Kind == wire.CNP || f.Kind == wire.Data && n(2) == 1 {
		return randomRoCE(r, f)
	}
	if f.Kind == wire.Trimmed {
		f.Kind = wire.Data
		f = randomRoCE(r, f)
		f.Trim(wire.TrimLeast+unit.Size(n(uint64(wire.TrimMost-wire.TrimLeast)+1)), uint8(n(64)))
		return f
	}
	if f.Kind == wire.Message {
		f.QP, f.PSN, f.Message().Value = uint32(n(1<<24)), uint32(n(1<<24)), r.Uint64()
		return f
	}
	if f.Kind == wire.Probe {
		f.QP, f.PSN, f.Probe().Bytes, f.Probe().SentAt = uint32(n(1<<24)), uint32(n(1<<24)), r.Uint64(), unit.Time(n(1<<63))
		if n(2) == 1 {
			f.Flags, f.Probe().CameAt = wire.ProbeAnswer|uint8(n(2))<<6, unit.Time(n(1<<63))
		}
		return f
	}
	if f.Kind == wire.TCP {
		f.QP = uint32(n(1 << 24))
		s := randomSegment(r)
		f.SetSegment(&s)
		if s.Length > 0 {
			f.CPID = n(2) * r.Uint64()
		}
		return f
	}
	f.QP, f.PSN, f.FECN, f.Last = uint32(n(1<<24)), uint32(n(1<<24)), n(2) == 1, n(2) == 1
	if f.Kind == wire.Data {
		f.Family, f.Payload, f.CPID = wire.Ethernet, wire.MinMSDU+uint32(n(wire.MaxMSDU-wire.MinMSDU+1)), n(2)*r.Uint64()
		randomImmediate(r, &f)
		return f
	}
	f.Sampled().Lane, f.Sampled().Dst = uint8(n(8)), wire.LID(n(1<<16))
	if f.Kind == wire.BCN {
		f.Flags, f.Sampled().Bottleneck = uint8(n(8))<<5, uint16(n(1<<16))
	} else {
		f.Sampled().Fb, f.Sampled().Octets = uint8(n(64)), uint8(14+n(51))
	}
	f.Sampled().QOffset, f.Sampled().QDelta, f.CPID, f.Payload = int16(n(1<<16)), int16(n(1<<16)), r.Uint64(), uint32(n(wire.MaxMSDU+1))
	if f.Kind == wire.BCN {
		f.CPID = f.CPID>>48<<48 | uint64(f.Src.MAC())
	}
	of := randomRoCE(r, wire.Frame{Kind: wire.Data})
	switch n(3) {
	case 0:
		return f
	case 1:
		s := randomSegment(r)
		of.SetSegment(&s)
		f.Last = false
	}
	of.QP, of.Last = f.QP, f.Last
	f.Sample(&of)
	f.Sampled().Octets = max(f.Sampled().Octets, min(f.Sampled().Octets, 1)*uint8(of.SampledOctets()))
	return f
}

// randomSegment returns a segment with any values in its ranges.
func randomSegment(r *unit.Random) wire.Segment {
	n := func(below uint64) uint64 { return r.Below(below) }
	s := wire.Segment{
		Back: n(2) == 1, Seq: uint32(n(1 << 32)), Ack: uint32(n(1 << 32)), Flags: uint8(n(256)), Window: uint16(n(1 << 16)),
		Length: uint32(n(2) * n(wire.MaxMSDU-wire.TCPOverhead-12)), ECT: n(2) == 1,
	}
	s.CE = s.ECT && n(2) == 1
	switch {
	case s.Flags&wire.SYN != 0:
		s.MSS, s.Scales, s.SACKPermitted = uint16(n(1<<16)), n(2) == 1, n(2) == 1
		if s.Scales {
			s.Scale = uint8(n(15))
		}
	case s.Length == 0:
		for i := range n(wire.MaxSACK + 1) {
			s.SACK[i] = wire.SACKBlock{Left: uint32(n(1 << 32)), Right: 1 + uint32(n(1<<32-1))}
		}
	}
	return s
}

// A segment is what it was after SetSegment.
func TestSegmentsComeBack(t *testing.T) {
	r := unit.NewRandom(5, 1)
	for range 20000 {
		s := randomSegment(r)
		f := segment(1, 2, 3, 4, s)
		if diff := cmp.Diff(s, f.Segment()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if f.ECT() != s.ECT || f.Back() != s.Back {
			t.Fatalf("%+v: ECT %v, back %v", s, f.ECT(), f.Back())
		}
	}
}

func TestEthernetFramesComeBack(t *testing.T) {
	r := unit.NewRandom(2, 1)
	buf := dirty(wire.MaxFrameSize)
	for range 20000 {
		f := randomEthernet(r)
		b := f.Append(buf)
		if got, want := unit.Size(len(b)), f.WireSize(); got != want || got < wire.MinFrame {
			t.Fatalf("%+v has %d bytes, WireSize says %d", f, got, want)
		}
		got, err := wire.Parse(f.Delimiter(), b)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if got != f {
			t.Fatalf("came back with changes:\n%s", cmp.Diff(f, got))
		}
	}
}

func TestPayloadsThatFit(t *testing.T) {
	for _, c := range []struct {
		family  wire.Family
		n, want uint32
	}{
		{wire.InfiniBand, 0, 0}, {wire.InfiniBand, 5, 8}, {wire.InfiniBand, 4096, 4096}, {wire.InfiniBand, 4097, 4096}, {wire.InfiniBand, 1<<32 - 1, 4096},
		{wire.Ethernet, 0, 12}, {wire.Ethernet, 13, 13}, {wire.Ethernet, 9001, 9000},
	} {
		if got := c.family.Fit(c.n); got != c.want {
			t.Errorf("%v: a payload of %d fits as %d, want %d", c.family, c.n, got, c.want)
		}
	}
}

func TestFCSIsTheCRC32(t *testing.T) {
	r := unit.NewRandom(3, 1)
	for n := uint32(wire.MinMSDU); n <= wire.MaxMSDU; n += 1 + uint32(r.Below(7)) {
		f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: 1, Dst: 2, QP: 9, Payload: n, Tagged: n&1 == 1}
		b := f.Append(nil)
		fcs := len(b) - wire.FCSSize
		if got, want := binary.LittleEndian.Uint32(b[fcs:]), crc32.ChecksumIEEE(b[:fcs]); got != want || got != wire.FCS(b[:fcs]) {
			t.Fatalf("payload of %d: FCS %08x, want %08x", n, got, want)
		}
	}
}

// What a CNM does not carry of the sampled frame is not known at the other end.
func TestCNMCarriesWhatItsOctetsReach(t *testing.T) {
	for octets := range uint8(wire.MaxOctets + 1) {
		for _, tagged := range []bool{false, true} {
			f := notified
			f.Sampled().Octets, f.Tagged, f.FECN, f.Last = octets, tagged, true, true
			got, err := wire.Parse(wire.StartOfFrame, f.Append(nil))
			if err != nil {
				t.Fatalf("%d octets: %v", octets, err)
			}
			want := f
			mask := func(bytes int) uint32 { return 0xFFFFFF &^ (1<<(8*max(0, 3-max(0, bytes))) - 1) }
			want.QP &= mask(int(octets) - 3)
			if tagged {
				want.QP = want.QP&0xFF0000 | f.QP&0xFFFF
			}
			want.PSN &= mask(int(octets) - 7)
			want.FECN, want.Last = octets > 6, octets > 6
			if octets < 11 {
				want.Payload = 0
			} else if octets == 11 {
				want.Payload &= 0xFF00
			}
			if got != want {
				t.Fatalf("%d octets:\n%s", octets, cmp.Diff(want, got))
			}
		}
	}
}

func TestEthernetTruncationsAndTrailingBytesAreRefused(t *testing.T) {
	var e *wire.ParseError
	for _, c := range ethernetGolden {
		b := c.frame.Append(nil)
		for n := range b {
			got, err := wire.Parse(wire.StartOfFrame, b[:n])
			if !errors.As(err, &e) || got != (wire.Frame{}) || n < wire.MinFrame && e.Reason != wire.ErrTruncated {
				t.Fatalf("%s, cut to %d of %d bytes: %+v, %v", c.name, n, len(b), got, err)
			}
		}
		for n := 1; n < 100; n++ {
			if _, err := wire.Parse(wire.StartOfFrame, append(b[:len(b):len(b)], make([]byte, n)...)); !errors.As(err, &e) {
				t.Fatalf("%s and %d bytes: %v", c.name, n, err)
			}
		}
	}
}

// The FCS covers everything: what a cable spoils is a wrong checksum.
func TestEveryBitFlipOfEthernetIsRefused(t *testing.T) {
	for _, c := range ethernetGolden {
		b := c.frame.Append(nil)
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if got, err := wire.Parse(wire.StartOfFrame, b); !errors.Is(err, wire.ErrChecksum) {
				t.Fatalf("%s with bit %d of byte %d changed: %+v, %v", c.name, bit%8, bit/8, got, err)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// refit gives an Ethernet frame the FCS that its bytes want.
func refit(b []byte) []byte {
	end := len(b) - wire.FCSSize
	binary.LittleEndian.PutUint32(b[end:], wire.FCS(b[:end]))
	return b
}

// Each case spoils one thing in a good frame and makes the FCS right again.
func TestEthernetRefusals(t *testing.T) {
	data := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Tagged: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 100}
	plain := data
	plain.Tagged = false
	pause := wire.Frame{Kind: wire.Pause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 9})}
	pfc := wire.Frame{Kind: wire.PriorityPause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 3, Stopped: 3, Quanta: 9})}
	said := wire.Frame{Kind: wire.Message, Src: 1, Dst: 2, QP: 3, PSN: 4, Extension: wire.ExtensionOf(wire.MessageExtension{Value: 5})}
	long := notified
	long.Sampled().Octets = 64
	set, freed, begin := wire.Frame{Kind: wire.LLRAck, Src: 1}, wire.Frame{Kind: wire.CFUpdate, Src: 1}, wire.Frame{Kind: wire.LLRInit, Src: 1}
	full := credits(false, 0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1)
	for _, c := range []struct {
		name   string
		frame  wire.Frame
		at     int
		value  byte
		field  string
		offset int
		reason wire.Reason
	}{
		{"another's SA", plain, 7, 1, "SA", 6, wire.ErrUnsupported},
		{"another's DA", plain, 2, 1, "DA", 0, wire.ErrUnsupported},
		{"PAUSE to one machine", pause, 0, 0, "DA", 0, wire.ErrUnsupported},
		{"no tag", plain, 12, 8, "EtherType", 12, wire.ErrUnsupported},
		{"DEI", plain, 14, 0x70, "802.1Q.DEI", 14, wire.ErrUnsupported},
		{"VLAN", plain, 15, 1, "802.1Q.VID", 14, wire.ErrUnsupported},
		{"EtherType", plain, 17, 0, "EtherType", 16, wire.ErrUnsupported},
		{"EtherType behind a CN-TAG", data, 21, 0, "EtherType", 20, wire.ErrUnsupported},
		{"a CN-TAG of another flow", data, 19, 0x13, "CN-TAG.FlowID", 18, wire.ErrUnsupported},
		{"version", plain, 18, 5, "data.Version", 18, wire.ErrUnsupported},
		{"reserved, behind the mark", plain, 22, 1, "data.Reserved", 22, wire.ErrReserved},
		{"reserved, behind the payload", plain, 29, 1, "data.Reserved", 28, wire.ErrReserved},
		{"payload too small", plain, 27, 11, "data.Payload", 26, wire.ErrRange},
		{"payload too large", plain, 26, 0x24, "data.Payload", 26, wire.ErrRange},
		{"payload longer than the frame", plain, 27, 101, "frame", 118, wire.ErrTruncated},
		{"payload shorter than the frame", plain, 27, 99, "frame", 117, wire.ErrTrailing},
		{"payload is not padding", plain, 30, 1, "payload", 30, wire.ErrPayload},
		{"opcode", pause, 15, 2, "control.Opcode", 14, wire.ErrUnsupported},
		{"behind a PAUSE", pause, 59, 1, "control.Reserved", 18, wire.ErrReserved},
		{"behind a PFC", pfc, 59, 1, "control.Reserved", 34, wire.ErrReserved},
		{"an ordered set of another code", set, 14, 0x9C, "CtlOS.Code", 14, wire.ErrUnsupported},
		{"an ordered set of another type", set, 15, 5, "CtlOS.Type", 15, wire.ErrUnsupported},
		{"an ordered set of another O code", set, 18, 0x5F, "CtlOS.OCode", 18, wire.ErrUnsupported},
		{"data behind LLR_ACK", set, 19, 1, "CtlOS.Reserved", 19, wire.ErrReserved},
		{"behind an ordered set", set, 59, 1, "padding", 22, wire.ErrPayload},
		{"the last bits of CF_Update", freed, 21, 1, "CtlOS.Reserved", 19, wire.ErrReserved},
		{"a third byte of data in LLR_INIT", begin, 21, 1, "CtlOS.Reserved", 19, wire.ErrReserved},
		{"another company", full, 18, 0xCC, "CC_Update.CID", 16, wire.ErrUnsupported},
		{"another type of its messages", full, 19, 3, "CC_Update.Type", 19, wire.ErrUnsupported},
		{"nine counters", full, 42, 1, "CC_Update.Counter", 40, wire.ErrUnsupported},
		{"class_enable", pfc, 16, 1, "PFC.Reserved", 16, wire.ErrReserved},
		{"two times", pfc, 21, 8, "PFC.Time", 20, wire.ErrUnsupported},
		{"CNM version", notified, 22, 0x10, "CNM.Version", 22, wire.ErrUnsupported},
		{"CNM reserved", notified, 22, 1, "CNM.Reserved", 22, wire.ErrReserved},
		{"CNM DEI", notified, 36, 0x70, "CNM.DEI", 36, wire.ErrUnsupported},
		{"CNM priority", notified, 37, 1, "CNM.Reserved", 36, wire.ErrReserved},
		{"CNM destination", notified, 38, 3, "CNM.DA", 38, wire.ErrUnsupported},
		{"too many octets", notified, 45, 65, "CNM.Octets", 44, wire.ErrRange},
		{"fewer octets than there are", notified, 45, 64, "CNM.MSDU", 46, wire.ErrTruncated},
		{"fewer octets than follow", long, 45, 30, "frame", 76, wire.ErrTrailing},
		{"CNM of another flow", notified, 51, 0, "CNM.MSDU", 46, wire.ErrUnsupported},
		{"RLT version", limited, 18, 0x10, "RLT.Version", 18, wire.ErrUnsupported},
		{"RLT reserved", limited, 19, 1, "RLT.Reserved", 18, wire.ErrReserved},
		{"an RLT of another flow", limited, 29, 0x13, "RLT.Flow", 28, wire.ErrUnsupported},
		{"an RLT and a CN-TAG of different flows", both, 33, 0x13, "RLT.Flow", 32, wire.ErrUnsupported},
		{"EtherType behind an RLT", limited, 31, 0, "EtherType", 30, wire.ErrUnsupported},
		{"data version behind an RLT", limited, 32, 5, "data.Version", 32, wire.ErrUnsupported},
		{"BCN behind an RLT", limited, 32, 2, "EtherType", 30, wire.ErrUnsupported},
		{"BCN of a congestion point elsewhere", backward, 27, 0xAB, "BCN.CPID", 20, wire.ErrUnsupported},
		{"BCN flags", backward, 19, 0x50, "BCN.Reserved", 19, wire.ErrReserved},
		{"BCN time stamp", backward, 35, 1, "BCN.Timestamp", 32, wire.ErrReserved},
		{"BCN destination", backward, 38, 3, "BCN.DA", 38, wire.ErrUnsupported},
		{"BCN about a frame of another", backward, 49, 2, "BCN.Frame", 38, wire.ErrUnsupported},
		{"BCN about no data", backward, 55, 0, "BCN.Frame", 38, wire.ErrUnsupported},
		{"BCN with another content", backward, 80, 1, "BCN.Frame", 68, wire.ErrPayload},
		{"a probe behind an RLT", limited, 32, 4, "EtherType", 30, wire.ErrUnsupported},
		{"a probe of another flow than its CN-TAG's", counted, 19, 0x13, "CN-TAG.FlowID", 18, wire.ErrUnsupported},
		{"probe reserved", probed, 22, 0x20, "probe.Reserved", 22, wire.ErrReserved},
		{"a probe that says it was counted", probed, 22, 0x40, "probe.Counted", 22, wire.ErrUnsupported},
		{"a probe that says when it came", probed, 49, 1, "probe.Came", 42, wire.ErrUnsupported},
		{"a probe of before the run", probed, 34, 0x80, "probe.Sent", 34, wire.ErrRange},
		{"an answer of before the run", answered, 42, 0x80, "probe.Came", 42, wire.ErrRange},
		{"behind a probe", probed, 59, 1, "padding", 50, wire.ErrPayload},
		{"message version", said, 18, 5, "data.Version", 18, wire.ErrUnsupported},
		{"message reserved", said, 22, 1, "message.Reserved", 22, wire.ErrReserved},
		{"behind a message", said, 59, 1, "padding", 34, wire.ErrPayload},
		{"TCP of another IP", tagged, 36, 0x46, "IPv4.Version", 36, wire.ErrUnsupported},
		{"TCP, ECT(1)", selective, 19, 1, "IPv4.TOS", 19, wire.ErrUnsupported},
		{"TCP, IPv4 longer than the frame", selective, 21, 65, "IPv4.Length", 20, wire.ErrTruncated},
		{"TCP, IPv4 longer than jumbo", selective, 20, 0x24, "IPv4.Length", 20, wire.ErrTruncated},
		{"TCP, IPv4 checksum", selective, 28, 0x27, "IPv4.Checksum", 28, wire.ErrChecksum},
		{"TCP, checksum", selective, 54, 0, "TCP.Checksum", 54, wire.ErrChecksum},
		{"TCP, another sequence number", selective, 45, 0, "TCP.Checksum", 54, wire.ErrChecksum},
		{"TCP, header too short", selective, 50, 0x40, "TCP.Offset", 50, wire.ErrRange},
		{"TCP, header longer than the packet", selective, 50, 0xF0, "TCP.Offset", 50, wire.ErrRange},
		{"TCP, payload is not padding", sampled, 70, 1, "payload", 58, wire.ErrPayload},
		{"CNM of a segment of another flow", notice(notified, sampled), 70, 0, "CNM.MSDU", 46, wire.ErrUnsupported},
		{"BCN about a segment of another", notice(backward, sampled), 73, 9, "BCN.Frame", 38, wire.ErrUnsupported},
		{"CNM of a RoCEv2 packet of another flow", notice(notified, roceSampled), 83, 0, "CNM.MSDU", 46, wire.ErrUnsupported},
		{"CNM of a RoCEv2 packet, cut in its PSN", notice(notified, roceSampled), 45, 41, "CNM.Octets", 44, wire.ErrRange},
		{"CNM of a RoCEv2 packet of another length", notice(notified, roceSampled), 51, 0x30, "CNM.MSDU", 46, wire.ErrUnsupported},
		{"CNM of an ACK", notice(notified, roceSampled6), 96, 0x11, "CNM.MSDU", 46, wire.ErrUnsupported},
		{"BCN about a RoCEv2 packet to another port", notice(backward, roceSampled), 79, 0, "BCN.Frame", 38, wire.ErrUnsupported},
		{"BCN about a RoCEv2 packet over IPv6, checksum", notice(backward, roceSampled6), 103, 0, "BCN.Frame", 38, wire.ErrUnsupported},
		{"CNM of another content", long, 80, 1, "CNM.MSDU", 60, wire.ErrPayload},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.frame.Append(nil)
			b[c.at] = c.value
			want := wire.ParseError{Field: c.field, Offset: c.offset, Reason: c.reason}
			if f, err := wire.Parse(wire.StartOfFrame, refit(b)); !refusedFor(err, want) {
				t.Errorf("got %+v, %v, want %v", f, err, &want)
			}
		})
	}
	if _, err := wire.Parse(wire.StartOfFrame, make([]byte, wire.MaxFrameSize+1)); !errors.Is(err, wire.ErrTrailing) {
		t.Errorf("a frame that is too long: %v", err)
	}
}

// What is wrong with a segment whose checksums are right.
func TestTCPRefusals(t *testing.T) {
	const ip, tcp = 18, 38
	for _, c := range []struct {
		name   string
		frame  wire.Frame
		at     int
		value  byte
		field  string
		offset int
	}{
		{"ICMP", sampled, ip + 9, 1, "IPv4.Protocol", ip + 9},
		{"from another machine", sampled, ip + 15, 9, "IPv4.Source", ip + 12},
		{"to another machine", sampled, ip + 19, 9, "IPv4.Destination", ip + 16},
		{"a fragment", sampled, ip + 6, 0x20, "TCP", ip + 6},
		{"time to live", sampled, ip + 8, 1, "TCP", ip + 8},
		{"an unknown port", sampled, tcp, 0x10, "TCP.Port", tcp},
		{"the other unknown port", sampled, tcp + 2, 0x10, "TCP.Port", tcp},
		{"reserved bits", sampled, tcp + 12, 0x51, "TCP", tcp + 12},
		{"urgent data", sampled, tcp + 19, 1, "TCP", tcp + 19},
		{"another option", selective, tcp + 22, 8, "TCP.Options", tcp + 20},
		{"SACK of another length", selective, tcp + 23, 10, "TCP", tcp + 23},
		{"a flow that is not that of the tags", tagged, 36 + 21, 0x13, "TCP.Port", 36 + 20},
	} {
		b := c.frame.Append(nil)
		b[c.at] = c.value
		at := ip
		if c.at > 0 && c.frame.Tagged {
			at = 36
		}
		resum(b, at)
		want := wire.ParseError{Field: c.field, Offset: c.offset, Reason: wire.ErrUnsupported}
		if f, err := wire.Parse(wire.StartOfFrame, refit(b)); !refusedFor(err, want) {
			t.Errorf("%s: got %+v, %v, want %v", c.name, f, err, &want)
		}
	}
}

// resum makes the checksums of the packet that starts at b[at] right.
func resum(b []byte, at int) {
	sum := func(sum uint32, p []byte) uint16 {
		for i := range p {
			sum += uint32(p[i]) << (8 * (1 - i%2))
		}
		for sum > 0xFFFF {
			sum = sum>>16 + sum&0xFFFF
		}
		return ^uint16(sum)
	}
	p := b[at:]
	n := int(binary.BigEndian.Uint16(p[2:]))
	if n < 40 || n > len(p) {
		return
	}
	clear(p[10:12])
	binary.BigEndian.PutUint16(p[10:], sum(0, p[:20]))
	clear(p[36:38])
	pseudo := uint32(6 + n - 20)
	for i := 12; i < 20; i += 2 {
		pseudo += uint32(binary.BigEndian.Uint16(p[i:]))
	}
	binary.BigEndian.PutUint16(p[36:], sum(pseudo, p[20:n]))
}

// What cannot be written is left out: classes that stop for no time, more octets than there can be,
// numbers that do not fit.
func TestEthernetCutsWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct{ frame, want wire.Frame }{
		{wire.Frame{Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 3, Stopped: 3})}, wire.Frame{Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 3})}},
		{
			wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Octets: 255, Fb: 0x81, Lane: 0xF}), Lane: 0xF, QP: 0xFF000001, PSN: 0xFF000002},
			wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Octets: 64, Fb: 1, Lane: 7}), Lane: 7, QP: 1, PSN: 2},
		},
	} {
		if got, err := wire.Parse(wire.StartOfFrame, c.frame.Append(nil)); err != nil || got != c.want {
			t.Errorf("%v, %v:\n%s", c.frame.Kind, err, cmp.Diff(c.want, got))
		}
	}
}

func TestAppendPanicsOnEthernetPayloadItCannotWrite(t *testing.T) {
	for _, n := range []uint32{0, wire.MinMSDU - 1, wire.MaxMSDU + 1, 1 << 31} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: n}
			f.Append(nil)
		})
	}
}

func TestEthernetLengths(t *testing.T) {
	data := func(n uint32) wire.Frame { return wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: n} }
	for _, c := range []struct {
		name               string
		frame              wire.Frame
		paper, bytes, line unit.Size
	}{
		{"a 1500-byte frame", data(1500), 1500, 1522, 1542},
		{"the shortest", data(12), 12, 64, 84},
		{"filled up by nothing", data(42), 42, 64, 84},
		{"jumbo", data(9000), 9000, 9022, 9042},
		{"PAUSE", wire.Frame{Kind: wire.Pause}, 64, 64, 84},
		{"PFC", wire.Frame{Kind: wire.PriorityPause}, 64, 64, 84},
		{"CC_Update", wire.Frame{Kind: wire.CCUpdate}, 64, 64, 84},
		{"CF_Update", wire.Frame{Kind: wire.CFUpdate}, 8, 64, 8},
		{"LLR_ACK", wire.Frame{Kind: wire.LLRAck}, 8, 64, 8},
		{"CNM", wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Octets: 64})}, 110, 110, 130},
		{"data with a rate-limited tag", limited, 64, 100, 120},
		{"BCN", backward, 106, 106, 126},
		{"BCN of a RoCEv2 packet over IPv6", notice(backward, roceSampled6), 120, 120, 140},
		{"CNM of a RoCEv2 packet", notice(notified, roceSampled), 92, 92, 112},
		{"probe", probed, 64, 64, 84},
		{"UET, 1024 bytes", uetData, 1096, 1118, 1138},
		{"UET with a credit target", uetOrdered, 81, 103, 123},
		{"UET, ACK_CC", uetAck, 60, 82, 102},
		{"UET, NACK", uetNack, 44, 66, 86},
		{"TCP of 1460 bytes", sampled, 1500, 1522, 1542},
		{"TCP of 1 byte with both tags", tagged, 41, 81, 101},
		{"an ACK with two blocks", selective, 60, 82, 102},
		{"CNM with a CN-TAG", wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Octets: 64}), Tagged: true}, 114, 114, 134},
	} {
		if got := c.frame.WireSize(); got != c.bytes {
			t.Errorf("%s: WireSize %d, want %d", c.name, got, c.bytes)
		}
		if got := wire.PaperFraming.Length(&c.frame); got != c.paper {
			t.Errorf("%s: %d on the line of the papers, want %d", c.name, got, c.paper)
		}
		if got := wire.WireFraming.Length(&c.frame); got != c.line {
			t.Errorf("%s: %d on the line, want %d", c.name, got, c.line)
		}
	}
}

// A part holds 8 counters of its half, in the order of the channels.
func TestCountersOfACCUpdate(t *testing.T) {
	p := wire.CCOf(true)
	for _, c := range []struct {
		channel uint8
		value   uint32
		set     bool
	}{
		{15, 1, false}, {15, 0, false}, {32, 1, false}, {18, 0x54321, true}, {17, 1, false}, {18, 1, false},
		{19, 0, true}, {20, wire.CreditModulus + 9, true}, {31, wire.CreditModulus - 1, true},
	} {
		if got := p.Set(c.channel, c.value); got != c.set {
			t.Errorf("Set(%d, %d) = %v", c.channel, c.value, got)
		}
	}
	for channel, want := range map[uint8]uint32{16: 0, 18: 0x54321, 19: 0, 20: 9, 31: wire.CreditModulus - 1} {
		if got, ok := p.Consumed(channel); !ok || got != want {
			t.Errorf("channel %d: %d, %v, want %d", channel, got, ok, want)
		}
	}
	if _, ok := p.Consumed(15); ok {
		t.Error("the upper half has channel 15")
	}
}

func TestMAC(t *testing.T) {
	for _, l := range []wire.LID{0, 1, 0xAA, 0x1234, wire.MaxLID, 0xFFFF} {
		if got, ok := l.MAC().LID(); !ok || got != l {
			t.Errorf("the machine %#x has the address %v, which is that of %#x, %v", l, l.MAC(), got, ok)
		}
	}
	if got, want := wire.LID(0x12AB).MAC().String(), "02:00:00:00:12:ab"; got != want {
		t.Errorf("address %q, want %q", got, want)
	}
	for _, m := range []wire.MAC{0, wire.ControlAddress, 0x020000010000, 0x010000000001, 1 << 57} {
		if l, ok := m.LID(); ok {
			t.Errorf("%v is taken for that of the machine %#x", m, l)
		}
	}
}

// FuzzEthernet also tries each input with its FCS made right: without that, nearly
// all would end at the first check.
func FuzzEthernet(f *testing.F) {
	for _, c := range ethernetGolden {
		f.Add(c.frame.Append(nil))
	}
	for _, n := range []int{0, 1, 29, 64} {
		for _, family := range []wire.Family{wire.Ethernet, wire.RoCEv2} {
			b, _ := bodied(family, n)
			f.Add(b)
		}
	}
	r := unit.NewRandom(4, 1)
	for range 20 {
		s := randomEthernet(r)
		f.Add(s.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rewrites(t, wire.StartOfFrame, b)
		if len(b) >= wire.MinFrame {
			rewrites(t, wire.StartOfFrame, refit(bytes.Clone(b)))
			resum(b, wire.EthernetHeaderSize)
			rewrites(t, wire.StartOfFrame, refit(bytes.Clone(b)))
			rewrites(t, wire.StartOfFrame, refit(resealIP(b, wire.EthernetHeaderSize)))
		}
	})
}

// FuzzEthernetFrame: what Append writes of any values at all, Parse accepts, and it is
// written the same again.
func FuzzEthernetFrame(f *testing.F) {
	f.Add(uint8(0), uint8(1), uint8(2), true, false, uint32(3), uint32(4), uint32(5), uint64(6), uint32(7))
	f.Fuzz(func(t *testing.T, kind, a, b uint8, x, y bool, addresses, qp, psn uint32, cpid uint64, w uint32) {
		s := wire.Frame{
			Kind: ethernetKinds[int(kind)%len(ethernetKinds)], Lane: a, Tagged: x, FECN: y, Last: x != y,
			Src: wire.LID(addresses), Dst: wire.LID(addresses >> 16), QP: qp, PSN: psn, Payload: w % (wire.MaxMSDU + 1),
			CPID: cpid,
		}
		cut := s.Kind == wire.Trimmed
		if cut {
			s.Kind = wire.Data
		}
		if roce := s.Kind == wire.Ack || s.Kind == wire.CNP || cut; roce || s.Kind == wire.Data && b&2 == 0 {
			s.Family, s.Payload = wire.RoCEv2, s.Payload%(wire.MaxPayload+1)&^3
			s.SetRoCE(wire.RoCE{IPv6: y, DSCP: b, ECT: x, AckReq: x, NAK: y})
		}
		switch s.Kind {
		case wire.Pause, wire.PriorityPause:
			s.Extension = wire.ExtensionOf(wire.PauseExtension{Quanta: uint16(w), Classes: a, Stopped: b})
		case wire.CCUpdate:
			*s.CC() = wire.CCOf(x)
			for i := range uint8(wire.Channels) {
				s.CC().Set(i, bits.RotateLeft32(w, int(i))&psn)
			}
		case wire.CFUpdate, wire.LLRAck, wire.LLRNack, wire.LLRInit, wire.LLRInitEcho:
			s.Extension = wire.ExtensionOf(wire.OrderedSetExtension{First: w, Second: psn})
		case wire.Notification, wire.BCN:
			s.Flags, s.Extension = a, wire.ExtensionOf(wire.SampleExtension{Fb: a, Octets: b, Lane: b, Dst: wire.LID(w), QOffset: int16(w), QDelta: int16(w >> 16)})
		case wire.Data:
			if s.Family == wire.RoCEv2 {
				if b&4 == 0 {
					s = stamped(s, unit.Time(cpid>>1), 0)
				}
				if cut {
					s.Trim(wire.TrimLeast+unit.Size(qp)%(wire.TrimMost-wire.TrimLeast), a)
				}
				break
			}
			s.Family, s.Payload = wire.Ethernet, max(s.Payload, wire.MinMSDU)
		case wire.Ack:
			if b&4 == 0 {
				s = stamped(s, unit.Time(cpid>>1), unit.Duration(w))
			}
		case wire.Probe:
			s.Probe().Bytes, s.Probe().SentAt = cpid, unit.Time(cpid>>1)
			if x {
				s.Flags, s.Probe().CameAt = wire.ProbeAnswer|a, unit.Time(w)
			}
		case wire.TCP:
			g := wire.Segment{
				Back: y, Seq: psn, Ack: w, Flags: a, Window: uint16(w), Length: uint32(b&1) * (psn % 8900), ECT: x, CE: x != y,
				MSS: uint16(psn), Scales: x, Scale: b, SACKPermitted: y, SACK: [wire.MaxSACK]wire.SACKBlock{{Left: qp, Right: w | 1}},
			}
			s.SetSegment(&g)
		}
		bytes := s.Append(dirty(int(s.WireSize())))
		if _, err := wire.Parse(s.Delimiter(), bytes); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		rewrites(t, s.Delimiter(), bytes)
	})
}
