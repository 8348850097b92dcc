package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
)

// A File is a file with its name in messages.
type File struct {
	Name string
	Text []byte
}

// deepest is how deep values of a configuration may be nested. SONiC's have three levels.
const deepest = 16

// sonicValue is a value in a configuration of SONiC.
type sonicValue struct {
	line   int
	text   string   // of a string or a number; the items of a list with commas between them
	keys   []string // of an object, in order
	fields map[string]*sonicValue
	used   bool // it is in the scenario
}

// get returns a field and notes that it is used; nil: there is none.
func (v *sonicValue) get(key string) *sonicValue {
	if v == nil || v.fields[key] == nil {
		return nil
	}
	v.fields[key].used = true
	return v.fields[key]
}

// ignore notes that fields need no mention, because what they belong to has one.
func (v *sonicValue) ignore() {
	for _, f := range v.fields {
		f.used = true
	}
}

// word returns the text of a field, or nothing.
func (v *sonicValue) word(key string) string {
	if f := v.get(key); f != nil {
		return f.text
	}
	return ""
}

// sonicParser reads JSON with the lines of its values.
type sonicParser struct {
	file  string
	in    *json.Decoder
	lines []int  // offsets behind the ends of lines
	left  *notes // what a later value replaces
}

// parseSONiC reads a configuration. Of two fields with one key the later counts, as in SONiC, and
// the other is noted.
func parseSONiC(f File, left *notes) (*sonicValue, error) {
	if err := checkSize(f.Name, f.Text); err != nil {
		return nil, err
	}
	p := &sonicParser{file: f.Name, in: json.NewDecoder(bytes.NewReader(f.Text)), left: left}
	p.in.UseNumber()
	for at, b := range f.Text {
		if b == '\n' {
			p.lines = append(p.lines, at+1)
		}
	}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if v.fields == nil {
		return nil, p.wrong("a configuration is an object of tables, such as {\"PORT\": {}}")
	}
	if _, err := p.in.Token(); !errors.Is(err, io.EOF) {
		return nil, p.wrong("something follows the configuration")
	}
	return v, nil
}

// line is the line of what was read last.
func (p *sonicParser) line() int {
	return 1 + sort.SearchInts(p.lines, max(int(p.in.InputOffset()), 1))
}

func (p *sonicParser) wrong(format string, args ...any) error {
	return errs.Errorf("%s:%d: %s", p.file, p.line(), fmt.Sprintf(format, args...))
}

// value reads a value.
func (p *sonicParser) value(depth int) (*sonicValue, error) {
	token, err := p.in.Token()
	if err != nil {
		return nil, p.wrong("not JSON: %v", err)
	}
	v := &sonicValue{line: p.line()}
	if depth == deepest {
		return nil, p.wrong("more than %d levels of objects and lists", deepest)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return v, p.items(v, depth)
		}
		return v, p.object(v, depth)
	case nil:
	default:
		v.text = fmt.Sprint(t)
	}
	return v, nil
}

// items reads the items of a list.
func (p *sonicParser) items(v *sonicValue, depth int) error {
	var all []string
	for p.in.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		all = append(all, item.text)
	}
	v.text = strings.Join(all, ",")
	return p.end()
}

// object reads the fields of an object.
func (p *sonicParser) object(v *sonicValue, depth int) error {
	v.fields = map[string]*sonicValue{}
	for p.in.More() {
		token, err := p.in.Token()
		if err != nil {
			return p.wrong("not JSON: %v", err)
		}
		key := token.(string) // the decoder accepts no other key
		if before := v.fields[key]; before != nil {
			p.left.add(before.line, "%.40q is there again in line %d, and the later one counts", key, p.line())
			v.keys = slices.DeleteFunc(v.keys, func(k string) bool { return k == key })
		}
		line := p.line()
		field, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		field.line = line
		v.keys, v.fields[key] = append(v.keys, key), field
	}
	return p.end()
}

// end reads the end of an object or a list.
func (p *sonicParser) end() error {
	if _, err := p.in.Token(); err != nil {
		return p.wrong("not JSON: %v", err)
	}
	return nil
}

// unused lists what of a configuration is not in the scenario: whole tables, and the fields of
// tables.
func (v *sonicValue) unused(file string) (left []string) {
	var tables []string
	first := 0
	for _, name := range v.keys {
		table := v.fields[name]
		if !table.used {
			tables = append(tables, name)
			if first == 0 {
				first = table.line
			}
			continue
		}
		var fields []string
		line := 0
		note := func(key string, at int) {
			if !slices.Contains(fields, key) {
				fields = append(fields, key)
			}
			if line == 0 {
				line = at
			}
		}
		for _, key := range table.keys {
			entry := table.fields[key]
			if !entry.used {
				note(key, entry.line)
				continue
			}
			for _, field := range entry.keys {
				if f := entry.fields[field]; !f.used {
					note(field, f.line)
				}
			}
		}
		if fields != nil {
			left = append(left, fmt.Sprintf("%s:%d: %s: %s", file, line, name, shortened(fields)))
		}
	}
	if tables != nil {
		left = append(left, fmt.Sprintf("%s:%d: tables that no scenario has: %s", file, first, shortened(tables)))
	}
	return left
}

// shortened lists words, the first twenty of many.
func shortened(words []string) string {
	const most = 20
	more := ""
	if n := len(words) - most; n > 0 {
		words, more = words[:most], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(words, ", ") + more
}

// wrong returns a mistake in a line.
func (w *sonicSwitch) wrong(line int, format string, args ...any) error {
	return errs.Errorf("%s:%d: %s", w.file, line, fmt.Sprintf(format, args...))
}

// number reads a whole number in a field; fallback: there is none.
func (w *sonicSwitch) number(v *sonicValue, key string, low, high, fallback int64) (int64, error) {
	f := v.get(key)
	if f == nil {
		return fallback, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(f.text), 10, 64)
	if err != nil || n < low || n > high {
		return 0, w.wrong(f.line, "%s %.40q is not a whole number from %d to %d", key, f.text, low, high)
	}
	return n, nil
}
