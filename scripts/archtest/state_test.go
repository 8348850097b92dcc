package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// Two runs in one process must not meet. So nothing registers itself behind the
// reader's back, and a variable at package level is a table: filled where it is
// declared, and never written again.
func TestNoPackageState(t *testing.T) {
	for _, p := range packages(t) {
		for _, s := range stateOf(p) {
			t.Error(s)
		}
	}
}

// stateOf lists what breaks the rule in a package: functions named init (in
// tests too), and variables at package level that can change after their
// declaration.
//
// It is careful rather than clever. It reports an assignment to the variable or
// to a part of it, ++ and --, its address taken (by a method with a pointer
// receiver as well), delete, clear and copy into it, and types made to be
// changed: channels, and all of sync. It does not follow a slice or a map that
// is handed on.
func stateOf(p *pkg) []string {
	var found []string
	report := func(pos token.Pos, format string, args ...any) {
		at := p.fset.Position(pos)
		found = append(found, fmt.Sprintf("%s:%d: %s", at.Filename, at.Line, fmt.Sprintf(format, args...)))
	}
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				report(fn.Pos(), "func init runs unseen: let the caller call it")
			}
		}
	}

	info := p.resolve()
	// target returns the name of the variable at package level, here or in
	// another package of the module, that an expression is or is a part of.
	target := func(e ast.Expr) string {
		for {
			switch x := e.(type) {
			case *ast.ParenExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.SliceExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.SelectorExpr:
				if id, ok := x.X.(*ast.Ident); ok {
					if _, ok := info.Uses[id].(*types.PkgName); ok {
						return id.Name + "." + x.Sel.Name
					}
				}
				e = x.X
			case *ast.Ident:
				if v, ok := info.Uses[x].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
					return v.Name()
				}
				return ""
			default:
				return ""
			}
		}
	}
	write := func(e ast.Expr, how string) {
		if name := target(e); name != "" {
			report(e.Pos(), "%s, a variable at package level, %s", name, how)
		}
	}

	for _, f := range p.product() {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if what := changeable(v, info); what != "" {
					report(v.Pos(), "%s, a variable at package level, is %s, made to be changed", v.Names[0].Name, what)
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						write(e, "is assigned to")
					}
				}
			case *ast.IncDecStmt:
				write(n.X, "is assigned to")
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					for _, e := range []ast.Expr{n.Key, n.Value} {
						if e != nil {
							write(e, "is assigned to")
						}
					}
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					write(n.X, "has its address taken")
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
					if b, ok := info.Uses[id].(*types.Builtin); ok && slices.Contains([]string{"delete", "clear", "copy"}, b.Name()) {
						write(n.Args[0], "is written by "+b.Name())
					}
				}
			case *ast.SelectorExpr:
				s := info.Selections[n]
				if s == nil || s.Kind() != types.MethodVal {
					break
				}
				sig, ok := s.Obj().Type().(*types.Signature)
				if !ok || sig.Recv() == nil {
					break
				}
				_, wants := sig.Recv().Type().(*types.Pointer)
				_, has := s.Recv().Underlying().(*types.Pointer)
				if wants && !has {
					write(n.X, "has its address taken by the method "+n.Sel.Name)
				}
			}
			return true
		})
	}
	return found
}

// changeable says why a variable of this declaration is made to be changed, or
// returns the empty string.
func changeable(v *ast.ValueSpec, info *types.Info) string {
	for _, name := range v.Names {
		if obj := info.Defs[name]; obj != nil {
			if _, ok := obj.Type().Underlying().(*types.Chan); ok {
				return "a channel"
			}
		}
	}
	exprs := slices.Clone(v.Values)
	if v.Type != nil {
		exprs = append(exprs, v.Type)
	}
	what := ""
	for _, e := range exprs {
		if l, ok := e.(*ast.CompositeLit); ok {
			e = l.Type
		}
		if s, ok := e.(*ast.StarExpr); ok {
			e = s.X
		}
		if x, ok := e.(*ast.IndexExpr); ok { // atomic.Pointer[T]
			e = x.X
		}
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		id, ok := s.X.(*ast.Ident)
		if !ok {
			continue
		}
		if pn, ok := info.Uses[id].(*types.PkgName); ok && within(pn.Imported().Path(), "sync") {
			what = id.Name + "." + s.Sel.Name
		}
	}
	return what
}

func TestStateOf(t *testing.T) {
	const head = "package x\nimport (\"sync\"; \"sync/atomic\"; \"fabemu/other\"; \"regexp\")\n" +
		"type T struct{ n int; a [4]int }\nfunc (t *T) Set() { t.n = 1 }\nfunc (t T) Get() int { return t.n }\n" +
		"var n int\nvar v T\nvar tab = [4]int{1}\nvar m = map[string]int{}\nvar re = regexp.MustCompile(`a`)\n"
	for _, tc := range []struct {
		src  string
		want string // part of the report; empty: nothing to report
	}{
		{"func f() int { return n + v.Get() + tab[2] + m[`a`] }", ""},
		{"func f(s string) bool { return re.MatchString(s) }", ""},
		{"func f() { n := 1; n++; _ = &n }", ""},
		{"func f(n int) { n = 2 }", ""},
		{"func f() { var v T; v.Set(); v.n = 1 }", ""},
		{"func f() (n int) { other.Call(func() { n = 3 }); return }", ""},
		{"func f() { for i := range tab { _ = i } }", ""},
		{"func f() { n = 1 }", "n, a variable at package level, is assigned to"},
		{"func f() { other.Call(func() { n = other.V }) }", "n, a variable"},
		{"func f() { _, n = other.Two() }", "n, a variable"},
		{"func f() { n++ }", "is assigned to"},
		{"func f() { n |= 4 }", "is assigned to"},
		{"func f() { tab[1] = 2 }", "tab, a variable"},
		{"func f() { (v).a[1] = 2 }", "v, a variable"},
		{"func f() { m[`a`]++ }", "m, a variable"},
		{"func f() { delete(m, `a`) }", "written by delete"},
		{"func f() { clear(m) }", "written by clear"},
		{"func f() { copy(tab[:], other.X) }", "written by copy"},
		{"func f() { for n = range 3 { } }", "is assigned to"},
		{"func f() *int { return &n }", "address taken"},
		{"func f() *int { return &tab[1] }", "address taken"},
		{"func f() { v.Set() }", "address taken by the method Set"},
		{"func f() func() { return v.Set }", "address taken by the method Set"},
		{"func f() { other.V = 1 }", "other.V, a variable"},
		{"var ch = make(chan int)", "a channel"},
		{"var mu sync.Mutex", "sync.Mutex"},
		{"var pool = sync.Pool{New: nil}", "sync.Pool"},
		{"var p atomic.Pointer[T]", "atomic.Pointer"},
		{"var c atomic.Int64", "atomic.Int64"},
		{"func init() {}", "func init"},
	} {
		p := &pkg{dir: "x", fset: token.NewFileSet()}
		if err := p.add("x.go", []byte(head+tc.src)); err != nil {
			t.Fatalf("%s: %v", tc.src, err)
		}
		got := strings.Join(stateOf(p), "\n")
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s\n got %q\nwant %q", tc.src, got, tc.want)
		}
	}
}
