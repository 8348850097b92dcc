package campaign

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Cell is one run of a campaign.
type Cell struct {
	Number int     // from 1, in the order of the plan
	ID     string  // of NewID
	Name   string  // for people: the values that distinguish it
	Cost   float64 // about, in a unit of the campaign's own; 0: not known
}

// hash is the hash in the ID of the cell: of all that its result depends on.
func (c *Cell) hash() string {
	_, hash, _ := strings.Cut(c.ID, "-")
	return hash
}

// File returns the name of the cell's file in CellsDir.
func (c *Cell) File() string { return c.hash() + ".json" }

// NewID makes the ID of a cell: its number, and a hash of all that its result depends on.
func NewID(number int, parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d\n%s", len(p), p)
	}
	return fmt.Sprintf("%06d-%s", number, hex.EncodeToString(sum.Sum(nil)[:6]))
}

// numberOf returns the number in an ID. The error shows the form of an ID.
func numberOf(id string) (int, error) {
	number, hash, found := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	_, e := hex.DecodeString(hash)
	if err != nil || e != nil || n < 1 || !found || fmt.Sprintf("%06d", n) != number || len(hash) != 12 {
		return 0, fmt.Errorf("%q is not the ID of a cell, such as 000017-9f3a1c02b4d5: --plan lists them", id)
	}
	return n, nil
}

// IndexOf returns the index of the cell with an ID in a plan of this many cells, by its number.
func IndexOf(id string, cells int) (int, error) {
	n, err := numberOf(id)
	if err == nil && n > cells {
		err = fmt.Errorf("there is no cell %s: the plan has %d", id, cells)
	}
	return n - 1, err
}

// Share is which cells of a campaign a call does: all for the zero value.
type Share struct {
	Cell      string // the ID of the only one
	Index, Of int    // the shard Index, from 1, of so many
}

// All reports whether a share is all cells.
func (s Share) All() bool { return s == Share{} }

// String names the share in messages.
func (s Share) String() string {
	switch {
	case s.Cell != "":
		return "cell " + s.Cell
	case s.Of > 0:
		return fmt.Sprintf("shard %d/%d", s.Index, s.Of)
	}
	return "all cells"
}

// Pick returns the cells of a share, which are in the order of the plan. Shards are of the same
// cost as nearly as may be: the dearest cell goes first, each to the shard that has least. An ID
// without a cell is an error.
func (s Share) Pick(cells []Cell) ([]Cell, error) {
	switch {
	case s.Cell != "":
		return pickOne(s.Cell, cells)
	case s.Of == 0:
		return cells, nil
	}
	dearest := slices.Clone(cells)
	slices.SortStableFunc(dearest, func(a, b Cell) int { return cmp.Compare(b.Cost, a.Cost) })
	costs, counts := make([]float64, s.Of), make([]int, s.Of)
	var mine []Cell
	for _, c := range dearest {
		least := 0
		for i := range costs {
			if cmp.Or(cmp.Compare(costs[i], costs[least]), cmp.Compare(counts[i], counts[least])) < 0 {
				least = i
			}
		}
		costs[least] += c.Cost
		counts[least]++
		if least == s.Index-1 {
			mine = append(mine, c)
		}
	}
	slices.SortFunc(mine, func(a, b Cell) int { return cmp.Compare(a.Number, b.Number) })
	return mine, nil
}

func pickOne(id string, cells []Cell) ([]Cell, error) {
	number, err := numberOf(id)
	if err != nil {
		return nil, err
	}
	for _, c := range cells {
		switch {
		case c.ID == id:
			return []Cell{c}, nil
		case c.Number == number:
			return nil, fmt.Errorf("cell %d of this plan is %s, not %s, which is of another plan, of another scenario, "+
				"or of another version of this program", number, c.ID, id)
		}
	}
	return nil, fmt.Errorf("there is no cell %s: the plan has %d", id, len(cells))
}

// ParseShare reads which cells a call does: the ID of one, or a shard, "i/n", "auto" or
// "auto/n", or all, if both are empty. auto takes the shard from the variables that a batch
// system gives the tasks of an array, which environment looks up. Where these do not give the
// number of tasks, n does.
func ParseShare(cell, shard string, environment func(string) string) (s Share, err error) {
	s.Cell = cell
	if cell != "" {
		_, err = numberOf(cell)
	}
	if shard != "" {
		var wrong error
		if s.Index, s.Of, wrong = parseShard(shard, environment); wrong != nil {
			err = errors.Join(err, fmt.Errorf("--shard %s: %w", shard, wrong))
		}
	}
	return s, err
}

func parseShard(text string, environment func(string) string) (index, of int, err error) {
	first, second, slash := strings.Cut(text, "/")
	if slash {
		if of, err = strconv.Atoi(second); err != nil || of < 1 {
			return 0, 0, fmt.Errorf("%q shards: expected a whole number of 1 or more", second)
		}
	}
	if first == "auto" {
		return shardOfTask(of, environment)
	}
	if index, err = strconv.Atoi(first); err != nil || !slash {
		return 0, 0, errors.New("expected the number of a shard and of all shards, such as 1/4, or auto in an array job")
	}
	if index < 1 || index > of {
		return 0, 0, fmt.Errorf("shards are counted from 1 to %d", of)
	}
	return index, of, nil
}
