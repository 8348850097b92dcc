package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"fabemu/emu/base/files"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/node/traffic"
)

// readSizes replaces the name of a file by the distribution in it.
func readSizes(r *source, s *scenario.Sizes, v yaml.View) {
	if !s.IsFile() {
		return
	}
	n := v.Node("size")
	got, shares, err := sizesIn(beside(r, s.Text, n))
	switch {
	case err != nil:
		r.Add(n.Spot, "%s: %v", s.Text, unread(err))
		got, _ = scenario.SizesOf("1MB")
	case shares:
		r.Warn(n.Spot, "%s: the last point has 1: its numbers are taken for shares of the flows, not for per cents", s.Text)
	}
	*s = got
}

// beside returns the absolute path of a file that a value names: relative to the folder of the
// scenario, or for a value of a --set to the folder of the caller.
func beside(r *source, name string, n *yaml.Node) string {
	if !filepath.IsAbs(name) && n.At.Set == nil {
		name = filepath.Join(filepath.Dir(filepath.FromSlash(r.Name)), name)
	}
	if path, err := filepath.Abs(name); err == nil { // without a folder of the process it stays relative
		return path
	}
	return name
}

// unread returns an error of reading a file without the path of the file, which the scenario gives.
func unread(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// mostSizes bounds a file with a distribution.
const mostSizes = 1 << 20

// sizesIn reads a distribution from a file: on each line a number of bytes and the per cent of the
// transfers that are no larger, with spaces or a comma between. Lines that begin with # are
// comments. If the last point has 1, the numbers are shares instead of per cents.
func sizesIn(path string) (sizes scenario.Sizes, shares bool, err error) {
	src, err := files.Read(path, mostSizes)
	if err != nil {
		return scenario.Sizes{}, false, err
	}
	var bytes, parts []string
	var at []int // the line of each point
	number := 0
	for line := range strings.Lines(string(src)) {
		number++
		words := strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' || c == '\r' || c == '\n' })
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return scenario.Sizes{}, false, fmt.Errorf("line %d has %d values: expected a number of bytes and a percentage", number, len(words))
		}
		bytes, parts, at = append(bytes, words[0]), append(parts, words[1]), append(at, number)
	}
	if n := len(parts); n > 0 {
		all, err := strconv.ParseFloat(parts[n-1], 64)
		shares = err == nil && all == 1
	}
	points := make([]string, len(parts))
	for i, part := range parts {
		if share, err := strconv.ParseFloat(part, 64); shares && err == nil && share >= 0 && share <= 1 {
			part = strconv.FormatFloat(100*share, 'f', 12, 64)
		}
		points[i] = bytes[i] + "B:" + part
	}
	sizes, err = scenario.SizesOf(strings.Join(points, " "))
	if wrong := (*traffic.PointError)(nil); errors.As(err, &wrong) {
		err = fmt.Errorf("line %d: %w", at[wrong.Point], err)
	}
	return sizes, shares, err
}
