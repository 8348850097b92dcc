package papers

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"fabemu/wire/unit"
)

// language evaluates the expressions in words/PAPER.yaml. An expression has the syntax of Go.
// Its values are numbers, texts, lists, runs (Run), quantities (Quantity), and values that only
// functions of the table use. doc.go describes it.
type language struct {
	definitions map[string]definition
	functions   map[string]any
}

// definition is an entry under define in words/PAPER.yaml.
type definition struct {
	parameters []string
	body       string
	value      any // a list that needs no evaluation; nil: evaluate the body
}

// scope is the set of names that an expression sees.
type scope struct {
	*language
	names map[string]any
}

// fault panics about an expression: the files of words belong to the program, and a test evaluates
// all of them.
func fault(format string, args ...any) {
	panic("reproduce: words: " + fmt.Sprintf(format, args...))
}

// newLanguage reads definitions. A key is a name, or a function with its parameters: "cell(b, t)".
func newLanguage(define map[string]any) *language {
	l := &language{definitions: map[string]definition{}, functions: functions()}
	for key, value := range define {
		name, rest, function := strings.Cut(key, "(")
		var d definition
		if function {
			for p := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
				d.parameters = append(d.parameters, strings.TrimSpace(p))
			}
		}
		if text, ok := value.(string); ok {
			d.body = text
		} else {
			d.value = plainValue(value)
		}
		l.definitions[name] = d
	}
	return l
}

// plainValue returns a value of a YAML file with all its numbers as float64.
func plainValue(v any) (plain any) {
	if err := json.Unmarshal(must(json.Marshal(v)), &plain); err != nil {
		fault("%v: %v", v, err)
	}
	return plain
}

// with returns the scope with further names.
func (s scope) with(names map[string]any) scope {
	all := map[string]any{}
	maps.Copy(all, s.names)
	maps.Copy(all, names)
	return scope{s.language, all}
}

// eval evaluates an expression.
func (s scope) eval(text string) any {
	x, err := parser.ParseExpr(text)
	if err != nil {
		fault("%s: %v", text, err)
	}
	return s.value(x)
}

// value returns the value of a part of an expression.
func (s scope) value(x ast.Expr) any {
	switch x := x.(type) {
	case *ast.BasicLit:
		return s.literal(x.Value)
	case *ast.Ident:
		return s.name(x.Name)
	case *ast.ParenExpr:
		return s.value(x.X)
	case *ast.SelectorExpr:
		fields, _ := s.value(x.X).(map[string]any)
		return fields[x.Sel.Name]
	case *ast.CallExpr:
		return s.call(nameOf(x.Fun), x.Args)
	case *ast.UnaryExpr:
		return arithmetic(x.Op, 0.0, s.value(x.X))
	case *ast.BinaryExpr:
		return arithmetic(x.Op, s.value(x.X), s.value(x.Y))
	}
	fault("%T has no meaning in an expression", x)
	return nil
}

// nameOf returns the name that an expression consists of.
func nameOf(x ast.Expr) string {
	name, ok := x.(*ast.Ident)
	if !ok {
		fault("a name is needed in place of %T", x)
	}
	return name.Name
}

// literal returns a number or a text. In a text in double quotes {x} stands for a value; a text in
// back quotes stays as it is.
func (s scope) literal(written string) any {
	if v, err := strconv.ParseFloat(written, 64); err == nil {
		return v
	}
	text, err := strconv.Unquote(written)
	if err != nil {
		fault("%s: %v", written, err)
	}
	if written[0] == '`' {
		return text
	}
	return s.fill(text)
}

// name returns the value of a name: a parameter, or a definition.
func (s scope) name(name string) any {
	if v, ok := s.names[name]; ok {
		return v
	}
	d, ok := s.definitions[name]
	switch {
	case !ok:
		fault("nothing has the name %s", name)
	case d.value != nil:
		return d.value
	}
	return scope{language: s.language}.eval(d.body)
}

// call calls a definition with parameters, or a function of the table. each(x, list, body) is
// the list of the values of body.
func (s scope) call(name string, of []ast.Expr) any {
	if name == "each" {
		var values []any
		for _, item := range s.value(of[1]).([]any) {
			values = append(values, s.with(map[string]any{nameOf(of[0]): item}).value(of[2]))
		}
		return values
	}
	args := make([]any, len(of))
	for i, x := range of {
		args[i] = s.value(x)
	}
	if d, ok := s.definitions[name]; ok {
		if len(args) != len(d.parameters) {
			fault("%s has %d parameters", name, len(d.parameters))
		}
		names := map[string]any{}
		for i, p := range d.parameters {
			names[p] = args[i]
		}
		return scope{s.language, names}.eval(d.body)
	}
	f, ok := s.functions[name]
	if !ok {
		fault("there is no function %s", name)
	}
	return call(name, reflect.ValueOf(f), args)
}

// call calls a function of Go. A list among the last arguments of a variadic function stands for
// its elements.
func call(name string, f reflect.Value, args []any) any {
	t := f.Type()
	fixed := t.NumIn()
	if t.IsVariadic() {
		fixed--
		args = append(args[:fixed:fixed], flat(args[fixed:])...)
	}
	if len(args) != fixed && !t.IsVariadic() {
		fault("%s has %d parameters", name, fixed)
	}
	in := make([]reflect.Value, len(args))
	for i, x := range args {
		to := t.In(min(i, t.NumIn()-1))
		if i >= fixed {
			to = to.Elem()
		}
		in[i] = as(name, x, to)
	}
	return f.Call(in)[0].Interface()
}

// flat returns the elements of lists in lists.
func flat(args []any) (all []any) {
	for _, x := range args {
		if list, ok := x.([]any); ok {
			all = append(all, flat(list)...)
		} else {
			all = append(all, x)
		}
	}
	return all
}

// as converts an argument. A text is the run of a scenario where a function wants a run. A number
// is a quantity, an instant in ms of model time, or a count.
func as(name string, x any, to reflect.Type) reflect.Value {
	v, number := x.(float64)
	text, word := x.(string)
	switch {
	case x != nil && reflect.TypeOf(x).AssignableTo(to):
		return reflect.ValueOf(x)
	case word && to == reflect.TypeFor[Run]():
		return reflect.ValueOf(Run{Scenario: text})
	case number && to == reflect.TypeFor[Quantity]():
		return reflect.ValueOf(constant(v))
	case number && to == reflect.TypeFor[unit.Time]():
		return reflect.ValueOf(unit.Time(math.Round(v * float64(ms))))
	case number && to.Kind() == reflect.Int:
		return reflect.ValueOf(int(v))
	}
	fault("%s needs %v, and has %v", name, to, x)
	return reflect.Value{}
}

// converted returns an argument as a T.
func converted[T any](name string, x any) T { return as(name, x, reflect.TypeFor[T]()).Interface().(T) }

// arithmetic computes with two numbers, or with quantities.
func arithmetic(op token.Token, x, y any) any {
	if op == token.LAND {
		return x.(bool) && y.(bool)
	}
	a, b := converted[Quantity](op.String(), x), converted[Quantity](op.String(), y)
	var q Quantity
	switch op {
	case token.ADD:
		q = sum(a, b)
	case token.SUB:
		q = minus(a, b)
	case token.MUL:
		q = Combine(func(v []float64) float64 { return v[0] * v[1] }, a, b)
	case token.QUO:
		q = Over(a, b)
	case token.GTR:
		return a.of(nil) > b.of(nil)
	case token.LSS:
		return a.of(nil) < b.of(nil)
	case token.EQL:
		return a.of(nil) == b.of(nil)
	default:
		fault("there is no operator %v", op)
	}
	_, first := x.(float64)
	if _, second := y.(float64); first && second {
		return q.of(nil)
	}
	return q
}

// inBraces is a part of a text that stands for a value: an expression, and how it is printed.
var inBraces = regexp.MustCompile(`\{([^{}:]+)(?::(%[^{}]+))?\}`)

// fill puts values into a text: {x} is the value of x, {x:%.2f} is that with two digits.
func (s scope) fill(text string) string {
	return inBraces.ReplaceAllStringFunc(text, func(braces string) string {
		m := inBraces.FindStringSubmatch(braces)
		v := s.eval(m[1])
		if q, ok := v.(Quantity); ok {
			v = q.of(nil) // one that needs no run
		}
		switch v := v.(type) {
		case float64:
			if m[2] == "" {
				return strconv.FormatFloat(v, 'f', -1, 64)
			}
			return fmt.Sprintf(m[2], v)
		case string:
			return v
		default:
			fault("%s is neither a number nor a text", braces)
		}
		return ""
	})
}

// items returns the scopes of a row that stands for several: one for each item of a list. An item
// is a mapping of names to values. {n: [1, 2]} is short for [{n: 1}, {n: 2}]; a text is an
// expression.
func (s scope) items(each any) (all []scope) {
	if each == nil {
		return []scope{s}
	}
	if short, ok := each.(map[string]any); ok {
		for name, list := range short {
			all = append(all, s.over(name, list)...)
		}
		return all
	}
	return s.over("", each)
}

// over returns a scope for each value of a list: a mapping of names to values, or the value of a
// name.
func (s scope) over(name string, list any) (all []scope) {
	if text, ok := list.(string); ok {
		list = s.eval(text)
	}
	for _, v := range plainValue(list).([]any) {
		names, ok := v.(map[string]any)
		if !ok {
			names = map[string]any{name: v}
		}
		all = append(all, s.with(names))
	}
	return all
}

// quantity evaluates an expression whose value is a quantity.
func (s scope) quantity(text string) Quantity { return converted[Quantity](text, s.eval(text)) }

// number evaluates an expression whose value is a number.
func (s scope) number(text string) float64 { return converted[float64](text, s.eval(text)) }
