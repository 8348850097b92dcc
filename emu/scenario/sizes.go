package scenario

import (
	"fmt"
	"path/filepath"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/node/traffic"
	"fabemu/wire/param"
)

// Sizes is a distribution of sizes, as text that traffic.ParseSizes reads.
type Sizes struct{ Text string }

// SizesOf returns the distribution of a text.
func SizesOf(text string) (Sizes, error) {
	d, err := traffic.ParseSizes(text)
	if err != nil && !strings.ContainsAny(text, "0123456789") {
		names := traffic.Distributions()
		return Sizes{}, fmt.Errorf("%q is neither a size nor a distribution of sizes%s: expected %s",
			text, spelling.DidYouMean(spelling.Nearest(text, names)), Sizes{}.Form().Wanted)
	}
	if err != nil {
		return Sizes{}, err
	}
	return Sizes{d.String()}, nil
}

func (s Sizes) Distribution() traffic.Sizes {
	d, _ := traffic.ParseSizes(s.Text)
	return d
}

func (s Sizes) String() string { return s.Text }

// Form describes the texts of a distribution (param.Formed).
func (Sizes) Form() param.Form {
	names := traffic.Distributions()
	return param.Form{
		Wanted: "a size such as 1MB, a distribution such as " + strings.Join(names, ", ") +
			", points such as \"0B:0 10KB:15 1MB:100\", or a file such as sizes.txt",
		Pattern: param.Spaced(param.SizePattern) + "|" + param.Spaced(strings.Join(names, "|")) +
			"|" + param.Spaced(`[^:]+:[0-9.]+(\s+[^:]+:[0-9.]+)*`) + "|" + `\.(txt|csv|cdf)\s*$`,
		Read: func(text string) (any, error) {
			text = strings.TrimSpace(text)
			if file := (Sizes{text}); file.IsFile() {
				return file, nil
			}
			return SizesOf(text)
		},
	}
}

// IsFile reports whether the text is the name of a file.
func (s Sizes) IsFile() bool {
	switch filepath.Ext(s.Text) {
	case ".txt", ".csv", ".cdf":
		return true
	}
	return false
}
