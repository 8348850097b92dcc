package archtest

import (
	"go/ast"
	"testing"
)

// bare are the files whose goroutines do not catch a panic, with the reason.
var bare = map[string]string{
	"emu/host/child.go":               "it starts processes",
	"emu/run/process/conduct.go":      "it accepts connections",
	"emu/run/process/part.go":         "it writes what is encoded already; it tells how far a part is",
	"emu/run/process/participant.go":  "it waits for a process",
	"emu/run/process/promises.go":     "it writes what is encoded already",
	"emu/host/fleet/meet.go":          "it accepts connections",
	"emu/run/program/talk.go":         "it reads to the end of a pipe",
	"emu/run/program/process.go":      "it waits for a process",
	"emu/run/guest/programs.go":       "it waits for a process",
	"emu/run/carrier/links.go":        "it closes sockets",
	"emu/watch/live/server.go":        "net/http catches what its handlers panic with",
	"emu/watch/openmetrics/server.go": "net/http catches what its handlers panic with",
	"cmd/fabemu/signals.go":           "it waits for a signal",

	"emu/host/netns/thread_linux.go": "all that it calls is called by called",
	"emu/host/netns/inside_linux.go": "it starts processes",
	"emu/watch/observe/hub.go":       "it starts methods, which catch",
	"emu/run/drive/domains.go":       "it does domains and begins windows, which catch",
	"emu/study/pool.go":              "it calls one, which catches",
	"emu/watch/capture/capture.go":   "it calls work, which catches",
}

// TestGoroutinesCatchPanics: a panic ends the process, and with it namespaces stay and what was
// measured is lost, unless its goroutine catches it.
func TestGoroutinesCatchPanics(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		if !p.isProduct() || p.forTests() {
			continue
		}
		for _, f := range p.product() {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				var begun *ast.FuncLit
				switch n := n.(type) {
				case *ast.GoStmt:
					begun, _ = n.Call.Fun.(*ast.FuncLit)
				case *ast.CallExpr:
					sel, ok := n.Fun.(*ast.SelectorExpr)
					if !ok || sel.Sel.Name != "Go" || len(n.Args) != 1 {
						return true
					}
					begun, _ = n.Args[0].(*ast.FuncLit)
				default:
					return true
				}
				if begun == nil || !catches(begun.Body) {
					used[f.name] = true
					if bare[f.name] == "" {
						t.Errorf("%s: a goroutine begins, and nothing catches its panic: defer errs.Catch or errs.Into in it", p.fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	for name := range bare {
		if !used[name] {
			t.Errorf("%s is excused, and each of its goroutines catches its panic", name)
		}
	}
}

// catches reports whether a function defers what catches a panic.
func catches(body *ast.BlockStmt) bool {
	for _, s := range body.List {
		d, ok := s.(*ast.DeferStmt)
		if !ok {
			continue
		}
		if sel, ok := d.Call.Fun.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "errs" {
				return true
			}
		}
	}
	return false
}
