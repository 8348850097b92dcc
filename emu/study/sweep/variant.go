package sweep

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/files"
	"fabemu/emu/scenario"

	"go.yaml.in/yaml/v4"
)

// Variant is a scheme with other values than its sets have. Its name is a value of the axis Scheme.
type Variant struct {
	Name   string
	Scheme string         // as in Schemes of package generate
	Sets   []scenario.Set // after those of the scheme
}

// mostVariantBytes is how long the file of a variant may be.
const mostVariantBytes = 1 << 20

// IsFile reports whether a scheme is the name of a file with a variant.
func IsFile(scheme string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(scheme)))
}

// LoadSchemes is ParseSchemes where a name may also be that of a file with a variant, as
// WriteVariant writes it. Such a scheme is named like its file, without folder and extension.
func LoadSchemes(lists []string) (Axis, []Variant, error) {
	a := ParseSchemes(lists)
	var all []Variant
	for i, name := range a.Values {
		if !IsFile(name) {
			continue
		}
		v, err := readVariant(name)
		if err != nil {
			return a, nil, err
		}
		if slices.Contains(a.Values, v.Name) {
			return a, nil, errs.Errorf("--scheme %s: there is another scheme %s: give the file another name", name, v.Name)
		}
		a.Values[i] = v.Name
		all = append(all, v)
	}
	return a, all, nil
}

// readVariant reads the file of a variant. An error names the file and the line.
func readVariant(path string) (Variant, error) {
	wrong := func(line int, format string, args ...any) error {
		return errs.Errorf("%s:%d: %s; the file has a scheme, and values under set: {defaults.flow.control.KEY: VALUE}", path, line, fmt.Sprintf(format, args...))
	}
	v := Variant{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
	b, err := files.Read(path, mostVariantBytes)
	if err != nil {
		return v, errs.Errorf("--scheme %s: %w", path, err)
	}
	var file yaml.Node
	if err := yaml.Unmarshal(b, &file); err != nil {
		return v, errs.Errorf("--scheme %s: %w", path, err)
	}
	if len(file.Content) == 0 || file.Content[0].Kind != yaml.MappingNode {
		return v, wrong(1, "it is not a mapping")
	}
	root := file.Content[0].Content
	for i := 0; i < len(root); i += 2 {
		key, value := root[i], root[i+1]
		switch {
		case key.Value == "scheme" && value.Kind == yaml.ScalarNode:
			v.Scheme = value.Value
		case key.Value == "set" && value.Kind == yaml.MappingNode:
			for k := 0; k < len(value.Content); k += 2 {
				path, to := value.Content[k], value.Content[k+1]
				if to.Kind != yaml.ScalarNode {
					return v, wrong(to.Line, "%s is not a value", path.Value)
				}
				set, err := scenario.ParseSet(path.Value + "=" + to.Value)
				if err != nil {
					return v, wrong(path.Line, "%v", err)
				}
				v.Sets = append(v.Sets, set)
			}
		default:
			return v, wrong(key.Line, "%q is not expected there", key.Value)
		}
	}
	if v.Scheme == "" {
		return v, wrong(1, "there is no scheme")
	}
	return v, nil
}

// WriteVariant writes the file of a variant, with lines of comment above it.
func WriteVariant(w io.Writer, v *Variant, comment ...string) error {
	var b strings.Builder
	for _, line := range comment {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	fmt.Fprintf(&b, "scheme: %s\n", strconv.Quote(v.Scheme))
	if len(v.Sets) > 0 {
		b.WriteString("set:\n")
	}
	for _, s := range v.Sets {
		fmt.Fprintf(&b, "  %s: %s\n", s.Path, s.Value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
