package node

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// few is a transport that is not in the table: a flow may send this many packets, and its
// destination refuses all.
type few struct {
	Datagrams
	most uint64
}

type fewSender struct {
	*packets
	most uint64
}

func (t few) sender(s *source, _ *Endpoint) sender { return &fewSender{s.packets.of(s), t.most} }

func (f *fewSender) next(now unit.Time) (port.Answer, unit.Size) {
	if f.source.count == f.most {
		return port.Answer{Block: port.Idle, Until: unit.Never}, 0
	}
	return f.packets.next(now)
}

// "A file in node with a Transport": one outside the table works, and what it does not define is as
// in the transport that it embeds.
func TestTransportIsASeam(t *testing.T) {
	flow := Flow{Family: wire.Ethernet, Transport: few{most: 3}, QP: 7, Dst: 2, Payload: 1000, Stop: unit.Never,
		Limiter: NewInterPacketDelay(unit.Rate(1e9))}
	e, err := New(Config{LID: 1, Port: port.Config{Rate: unit.Rate(1e10), Propagation: unit.Microsecond,
		FlowControl: port.NoFlowControl}, Flows: []Flow{flow}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for now := e.Deadline(); now != unit.Never; now = e.Deadline() {
		for e.Advance(now); ; sent++ {
			if _, ok := e.Poll(); !ok {
				break
			}
		}
	}
	if sent != 3 {
		t.Errorf("%d packets were sent, of 3", sent)
	}
}

// What differs between transports is behind the interfaces Transport, sender and receiver: none is
// asked for its type.
func TestNoTransportIsAskedForItsType(t *testing.T) {
	behind := map[string]bool{"Datagrams": true, "Acknowledged": true, "TCP": true, "RoCE": true, "packets": true, "bodies": true,
		"stream": true, "roceSender": true, "roceReceiver": true, "packetReceiver": true, "streamReceiver": true}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	look := func(n ast.Node) bool {
		var asked []ast.Expr
		switch n := n.(type) {
		case *ast.TypeSpec:
			if behind[n.Name.Name] {
				declared++
			}
		case *ast.TypeAssertExpr:
			asked = []ast.Expr{n.Type}
		case *ast.CaseClause:
			asked = n.List
		}
		for _, e := range asked {
			if star, ok := e.(*ast.StarExpr); ok {
				e = star.X
			}
			if id, ok := e.(*ast.Ident); ok && behind[id.Name] {
				t.Errorf("a type is asked whether it is %s", id.Name)
			}
		}
		return true
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, look)
	}
	if declared != len(behind) {
		t.Errorf("%d of %d types exist", declared, len(behind))
	}
}

// Each slot has one owner, and is found from it again.
func TestSlotsAndTheirOwners(t *testing.T) {
	numbers := [owners]int{node: 3, flows: 4, pacers: 2, workloads: 1, calls: 1}
	s, slot := newSlots(numbers), 0
	for want, n := range numbers {
		for i := range n {
			kind, at := s.owner(slot)
			if kind != owner(want) || kind != node && (at != i || s.of(kind, i) != slot) {
				t.Errorf("slot %d is of owner %d of kind %d, want %d of kind %d", slot, at, kind, i, want)
			}
			slot++
		}
	}
}
