package wire

import "fmt"

// RoCENotification is the opcode of a congestion notification packet of RoCEv2;
// the one of InfiniBand's congestion control is CongestionNotification.
const (
	CongestionNotification Opcode = 0x80
	RoCENotification       Opcode = 0x81
)

// services are the words for the upper three bits of an opcode.
var services = [...]string{"RC", "UC", "RD", "UD", "CNP", "XRC", "", ""}

// operations are the words for the lower five bits of an opcode.
var operations = [...]string{
	"SEND first", "SEND middle", "SEND last", "SEND last immediate", "SEND only", "SEND only immediate",
	"WRITE first", "WRITE middle", "WRITE last", "WRITE last immediate", "WRITE only", "WRITE only immediate",
	"READ request", "READ response first", "READ response middle", "READ response last", "READ response only",
	"ACK", "atomic ACK", "compare and swap", "fetch and add", "", "SEND last invalidate", "SEND only invalidate",
}

// String returns the service and the operation, such as "RC SEND only".
func (o Opcode) String() string {
	switch o {
	case CongestionNotification, RoCENotification:
		return "CNP"
	case StampedSendOnly, StampedAck:
		return "stamped " + (o &^ stampedOpcodes).String()
	}
	service, operation := services[o>>5], ""
	if n := int(o & 0x1F); n < len(operations) {
		operation = operations[n]
	}
	if service == "" || service == "CNP" || operation == "" {
		return fmt.Sprintf("opcode %#02x", uint8(o))
	}
	return service + " " + operation
}

// extension returns the size of the header behind the BTH of a packet.
func (o Opcode) extension() int {
	const deth, reth, atomic, immediate = 8, 16, 28, 4
	n := 0
	switch o >> 5 {
	case 2: // RD: a RDETH, and a DETH but in responses
		n = 4
		if op := o & 0x1F; op < 13 || op > 18 {
			n += deth
		}
	case 3:
		n = deth
	case 5: // XRC: its own, but in responses
		if op := o & 0x1F; op < 13 || op > 18 {
			n = 4
		}
	}
	switch {
	case o>>5 == 4:
		return 0
	case o == StampedSendOnly:
		n = StampSize
	case o == StampedAck:
		n = AckStampSize
	}
	switch o & 0x1F {
	case 3, 5, 9, 22, 23:
		n += immediate
	case 6, 10, 12:
		n += reth
	case 11:
		n += reth + immediate
	case 13, 15, 16, 17:
		n += AETHSize
	case 18:
		n += AETHSize + 8
	case 19, 20:
		n += atomic
	}
	return n
}

// acknowledges reports whether a packet has an AETH.
func (o Opcode) acknowledges() bool {
	op := o & 0x1F
	return o>>5 != 4 && (op == 13 || op >= 15 && op <= 18)
}
