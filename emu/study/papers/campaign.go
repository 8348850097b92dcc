package papers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fabemu/emu"
	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/study/campaign"
)

// Kind names figures of papers among campaigns: the plan is in Kind.json.
const Kind = "reproduce"

// Campaign is figures of a paper whose runs are done by many calls, which share a directory:
// a cell is a run with one of its seeds.
type Campaign struct {
	paper   *Paper
	figures []*Figure
	name    string
	batch   *batch
	jobs    map[string]*job // by the ID of their cell
	plan    campaign.Plan
}

// header is the content of reproduce.json.
type header struct {
	Fabemu   string `json:"fabemu"`
	Figures  string `json:"figures"` // as Find has them
	Clock    string `json:"clock"`
	Link     string `json:"link,omitempty"`
	Dilation int64  `json:"dilation,omitempty"`
	Seeds    int    `json:"seeds"`
	Codec    bool   `json:"codec,omitempty"`
	Digest   bool   `json:"digest,omitempty"`
	Runs     int    `json:"runs"`
	Hash     string `json:"hash"` // over the IDs of all cells
}

// NewCampaign plans the cells of the figures that Find returns for a name. With the ID of a cell it plans
// this cell alone, if the directory has the plan already.
func NewCampaign(name, dir, only string, o Options) (*Campaign, error) {
	paper, figures, err := Find(name)
	if err != nil {
		return nil, err
	}
	c := &Campaign{paper: paper, figures: figures, name: name, batch: collect(figures, o), jobs: make(map[string]*job)}
	o = c.batch.options
	jobs := c.batch.jobs
	c.plan.Whole = only == "" || !campaign.Begun(dir, Kind)
	if c.plan.Whole {
		err = c.batch.open()
	} else {
		var i int
		if i, err = campaign.IndexOf(only, len(jobs)); err == nil {
			err = jobs[i].open()
		}
	}
	if err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	h := header{
		Fabemu: o.Version, Figures: name, Clock: string(o.Clock), Dilation: o.Dilation, Seeds: o.Seeds,
		Codec: o.Codec, Digest: o.Digest, Runs: len(jobs),
	}
	if o.Clock == emu.WallClock {
		h.Link = string(o.Link)
	}
	what, err := json.Marshal(h) // the results of all cells depend on it
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for i, j := range jobs {
		if j.sc == nil {
			continue
		}
		resolved, err := j.sc.Resolved()
		if err != nil {
			return nil, err
		}
		cell := campaign.Cell{Number: i + 1, Name: fmt.Sprintf("%v, seed %d", j.run, j.seed), Cost: j.cost}
		cell.ID = campaign.NewID(cell.Number, string(what), keyOf(j.run, j.index), string(resolved))
		c.jobs[cell.ID] = j
		c.plan.Cells = append(c.plan.Cells, cell)
		fmt.Fprintln(sum, cell.ID)
	}
	h.Hash = hex.EncodeToString(sum.Sum(nil))
	c.plan.Kind, c.plan.What, c.plan.Header, c.plan.Files = Kind, "reproduction", h, Files(figures)
	c.plan.Earlier = func(b []byte) (differs error, drawn []string, err error) {
		var before header
		err = json.Unmarshal(b, &before)
		return h.differs(before, c.plan.Whole), nil, err
	}
	return c, nil
}

// differs returns an error that names the differences from a plan that was begun, or nil.
func (h header) differs(before header, whole bool) error {
	var parts []string
	say := func(differs bool, format string, args ...any) {
		if differs {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	say(before.Fabemu != h.Fabemu, "it was begun by version %s of this program", before.Fabemu)
	say(before.Figures != h.Figures, "its figures are %s", before.Figures)
	say(before.Clock != h.Clock || before.Link != h.Link, "it is on the %s clock %s", before.Clock, before.Link)
	say(before.Dilation != h.Dilation, "its dilation is %d", before.Dilation)
	say(before.Seeds != h.Seeds, "it has %d seeds", before.Seeds)
	say(before.Codec != h.Codec, "only one of them is with --codec")
	say(before.Digest != h.Digest, "only one of them is with --digest")
	say(len(parts) == 0 && (before.Runs != h.Runs || whole && before.Hash != h.Hash), "its runs are others")
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

// Cells returns the cells, in their order.
func (c *Campaign) Cells() []campaign.Cell { return c.plan.Cells }

// Do does the cells of a share that are not done yet, and returns how many of the share are
// void. When ctx is done, it stops and returns the error of ctx; finished cells stay. A mistake about the
// share or the directory is a *emu.Mistake.
func (c *Campaign) Do(
	ctx context.Context, dir string, share campaign.Share, progress func(campaign.Status),
) (void, cells int, err error) {
	mine, err := share.Pick(c.plan.Cells)
	if err != nil {
		return 0, 0, &emu.Mistake{Err: err}
	}
	d, err := campaign.Claim(dir, &c.plan, campaign.Part)
	if err != nil {
		return 0, 0, err
	}
	defer d.Close()
	o := campaign.Options{Workers: c.batch.options.Workers, Progress: progress}
	done, err := campaign.Do(ctx, d, mine, o, func(ctx context.Context, cell *campaign.Cell) (*outcome, error) {
		out, err := c.batch.measure(ctx, c.jobs[cell.ID])
		if err == nil && out == nil {
			err = fmt.Errorf("%s: it ended before its time", cell.Name)
			if ctx.Err() != nil {
				err = ctx.Err()
			}
		}
		if err == nil && c.batch.options.Clock == emu.VirtualClock { // where it was done has no part in it
			out.Run.WallSeconds, out.Machine = report.Missing(), host.Computer{}
		}
		return out, err
	})
	for _, out := range done {
		if out.Run.Verdict.Level == report.Void {
			void++
		}
	}
	return void, len(done), err
}

// Draw makes a result of the cells that are done, has it written into the directory, and
// returns it with the cells that are missing.
func (c *Campaign) Draw(dir string, write func(*Result) error) (missing []campaign.Cell, err error) {
	d, err := campaign.Claim(dir, &c.plan, campaign.Drawing)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for i, out := range campaign.Results[outcome](d, c.plan.Cells) {
		cell := c.plan.Cells[i]
		j := c.jobs[cell.ID]
		if out == nil || len(out.Values) != len(j.leaves) || len(out.Courses) != len(j.courses) {
			missing = append(missing, cell)
			continue
		}
		if out.Run.Resolved, err = j.sc.Resolved(); err != nil {
			return nil, err
		}
		if c.batch.options.Clock == emu.VirtualClock {
			out.Machine = host.ThisComputer()
		}
		c.batch.take(j, out)
	}
	if err := d.Retire(); err != nil {
		return nil, err
	}
	return missing, write(c.batch.result(c.paper, c.figures))
}

// float is a number that JSON has exactly, whatever it is.
type float float64

// MarshalJSON writes f, or its name in a string.
func (f float) MarshalJSON() ([]byte, error) {
	if v := float64(f); math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(fmt.Sprint(v))
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (f *float) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*f = float(v)
	return err
}
