package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"fabemu/emu/base/spelling"
	"fabemu/wire/param"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag is declared once, as a field of the struct that its value goes to: of emu.Options, of the
// options of another package, or of a struct of this one. The comment of the field is its help. The
// tags are those of package param (def, words, low, high), and
//
//	flag   its name and, after a comma, its letter
//	arg    the name of its value, in the help
//	lone   the value of the flag if none is given, as in --pcap
//	each   "true": a list that takes one value for each use of the flag, commas and all
//	needs  another flag: "pcap" must be given; "clock=wall" must have the value; "!replay" must not be given; several
//	       are separated by ";"
//	idle   "clock=virtual": the flag is ignored, with a warning, if the other one has the value
//	group  the heading in the help for this flag and those behind it
//
// Help, manual pages, the completion of shells and the checks of a call follow from it.

// flagTexts are the comments of all fields with a flag, a line each (TestFlagTexts writes it).
//
//go:embed flags.txt
var flagTexts string

// The annotations of a flag.
const (
	inGroup, takesWords, needsFlag, idleWith, argument = "group", "words", "needs", "idle", "arg"
)

// add adds to a command the flags of a struct, to which to points, and of embedded ones. With names
// it adds these alone.
func add(c *cobra.Command, to any, names ...string) {
	group := ""
	addFields(c.Flags(), reflect.ValueOf(to).Elem(), &group, names)
}

func addFields(flags *pflag.FlagSet, v reflect.Value, group *string, names []string) {
	for i := range v.NumField() {
		field, to := v.Type().Field(i), v.Field(i)
		if title, ok := field.Tag.Lookup("group"); ok {
			*group = title
		}
		tag, declared := field.Tag.Lookup("flag")
		name, letter, _ := strings.Cut(tag, ",")
		switch {
		case field.Anonymous:
			addFields(flags, to, group, names)
		case declared && (names == nil || slices.Contains(names, name)):
			f := flagOf(flags, field, to.Addr().Interface(), name, letter, textOf(v.Type(), field))
			f.Annotations = map[string][]string{inGroup: {*group}, argument: {field.Tag.Get("arg")}}
			for _, key := range []string{needsFlag, idleWith} {
				if rule := field.Tag.Get(key); rule != "" {
					f.Annotations[key] = strings.Split(rule, ";")
				}
			}
			if v, ok := f.Value.(*flagValue); ok && v.Kind == param.Word {
				f.Annotations[takesWords] = v.Words
			}
		}
	}
}

// helps has the help of flags by the fields that declare them.
var helps = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(flagTexts) {
		field, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		all[field] = text
	}
	return all
})

// textOf returns the help of a flag.
func textOf(of reflect.Type, field reflect.StructField) string {
	return helps()[of.String()+"."+field.Name]
}

// flagOf declares the flag of a field.
func flagOf(flags *pflag.FlagSet, field reflect.StructField, to any, name, letter, usage string) *pflag.Flag {
	tag := field.Tag
	switch to := to.(type) {
	case *[]string:
		declare := flags.StringSliceVarP
		if tag.Get("each") != "" {
			declare = flags.StringArrayVarP
		}
		declare(to, name, letter, nil, usage)
	case *[]float64:
		flags.Float64SliceVarP(to, name, letter, nil, usage)
	case *time.Duration:
		usual, _ := time.ParseDuration(tag.Get("def")) // zero without one
		flags.DurationVarP(to, name, letter, usual, usage)
	default:
		if field.Type.Kind() == reflect.String && tag.Get("words") == "" {
			field.Tag += ` form:"text"`
		}
		v := &flagValue{param.OfField(reflect.TypeFor[struct{}](), field, texts), reflect.ValueOf(to).Elem()}
		if usual := v.Usual(); usual != nil {
			v.Put(v.to, usual)
		}
		f := flags.VarPF(v, name, letter, usage)
		if f.NoOptDefVal = tag.Get("lone"); v.Kind == param.Flag {
			f.NoOptDefVal = "true"
		}
	}
	return flags.Lookup(name)
}

// texts has the form of a flag that takes any text.
var texts = param.Forms{"text": {Kind: param.Text, Form: &param.Form{Read: func(s string) (any, error) { return s, nil }}}}

// flagValue is the value of a flag: a parameter and its field.
type flagValue struct {
	param.Param
	to reflect.Value
}

func (v *flagValue) String() string { return fmt.Sprint(v.to.Interface()) }

func (v *flagValue) Set(text string) error {
	value, err := v.Read(text)
	if err == nil {
		v.Put(v.to, value)
	}
	return err
}

func (v *flagValue) Type() string {
	if v.Kind == param.Flag {
		return "bool"
	}
	return "string"
}

// usual gives a flag another default for a command and, with words, a choice of its words.
func usual(c *cobra.Command, name, value string, words ...string) {
	f := c.Flags().Lookup(name)
	if v := f.Value.(*flagValue); words != nil {
		v.Kind, v.Form, v.Words, f.Annotations[takesWords] = param.Word, nil, words, words
	}
	if err := f.Value.Set(value); err != nil {
		panic("fabemu: --" + name + ": " + err.Error())
	}
	f.DefValue = value
}

// checkFlags refuses flags without the other flag that they need, and warns of flags that have no
// effect.
func checkFlags(c *cobra.Command, _ []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Name == "out" {
			err = checkOut(f.Value.String(), slices.Equal(f.Annotations[argument], []string{"DIR"}))
		}
		for _, rule := range f.Annotations[needsFlag] {
			other, value, valued := strings.Cut(rule, "=")
			name, without := strings.CutPrefix(other, "!")
			switch of := c.Flags().Lookup(name); {
			case of == nil || err != nil:
			case without && of.Changed:
				err = fmt.Errorf("--%s and --%s exclude each other", f.Name, name)
			case valued && !slices.Contains(strings.Split(value, "|"), of.Value.String()):
				err = fmt.Errorf("--%s requires --%s %s", f.Name, name, strings.ReplaceAll(value, "|", " or "))
			case !without && !valued && !of.Changed:
				err = fmt.Errorf("--%s requires --%s", f.Name, name)
			}
		}
		if rule := f.Annotations[idleWith]; rule != nil && f.Annotations[needsFlag] == nil {
			name, value, _ := strings.Cut(rule[0], "=")
			if of := c.Flags().Lookup(name); of != nil && of.Value.String() == value {
				fmt.Fprintf(os.Stderr, "fabemu: warning: --%s is ignored with --%s %s\n", f.Name, name, value)
			}
		}
	})
	return err
}

// fileEndings are the ends of the names of files that fabemu writes. A folder has none of them.
var fileEndings = []string{".json", ".jsonl", ".csv", ".html", ".svg", ".png", ".pdf", ".txt", ".yaml", ".yml", ".md", ".log", ".bin", ".pcap", ".pcapng", ".gz"}

// checkOut refuses an --out that names a file where the command writes a folder, or the other way
// round.
func checkOut(name string, folder bool) error {
	info, err := os.Stat(name)
	switch there := err == nil; {
	case folder && there && !info.IsDir():
		return fmt.Errorf("--out %s: that is a file, and --out names a folder for all results", name)
	case folder && !there && isFile(name):
		stem := name
		for isFile(stem) {
			stem = strings.TrimSuffix(stem, filepath.Ext(stem))
		}
		return fmt.Errorf("--out %s: it looks like a file, and --out names a folder for all results, such as %s; make the folder first if you want that name",
			name, cmp.Or(stem, "results/x"))
	case !folder && there && info.IsDir():
		return fmt.Errorf("--out %s: that is a folder, and this command writes one file", name)
	}
	return nil
}

func isFile(name string) bool {
	return slices.Contains(fileEndings, strings.ToLower(filepath.Ext(name)))
}

// flagMistake explains the mistake in a flag.
func flagMistake(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		c.Flags().VisitAll(func(f *pflag.Flag) { // a flag by the name of its value: --sizes of --traffic SIZES
			if arg := f.Annotations[argument]; arg != nil && spelling.Same(arg[0], unknown.GetSpecifiedName()) {
				names = []string{f.Name}
			}
		})
		near := spelling.Nearest(unknown.GetSpecifiedName(), names)
		if len(names) == 1 {
			near = names[0]
		}
		if near != "" {
			return fmt.Errorf("%w%s", err, spelling.DidYouMean("--"+near))
		}
	}
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := value.GetFlag()
		if words := f.Annotations[takesWords]; words != nil {
			last := len(words) - 1
			return fmt.Errorf("--%s %s: use %s or %s", f.Name, value.GetValue(), strings.Join(words[:last], ", "), words[last])
		}
		return fmt.Errorf("--%s: %w", f.Name, value.Unwrap())
	}
	return err
}
