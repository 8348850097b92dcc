package papers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/study/campaign"
)

// Kind names figures of papers among campaigns.
const Kind = "reproduce"

// Campaign is figures of a paper whose runs are done by many calls, which share a directory:
// a cell is a run with one of its seeds.
type Campaign struct {
	paper   *Paper
	figures []*Figure
	batch   *batch
	jobs    map[string]*job // by the ID of their cell
	plan    campaign.Plan
}

// NewCampaign plans the cells of the figures that Find returns for a name. With the ID of a cell it
// plans only this cell.
func NewCampaign(name, only string, o Options) (*Campaign, error) {
	paper, figures, err := Find(name)
	if err != nil {
		return nil, err
	}
	c := &Campaign{paper: paper, figures: figures, batch: collect(figures, o), jobs: make(map[string]*job)}
	c.plan.What, c.plan.Files = "reproduction", Files(figures)
	first, end := 0, len(c.batch.jobs)
	if only != "" {
		if first, err = campaign.IndexOf(only, end); err != nil {
			return nil, &emu.Mistake{Err: err}
		}
		end = first + 1
	}
	if err := c.batch.open(c.batch.jobs[first:end]); err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	for i, j := range c.batch.jobs[first:end] {
		resolved, err := resolve.Text(j.sc)
		if err != nil {
			return nil, err
		}
		cell := campaign.Cell{Number: first + i + 1, Name: fmt.Sprintf("%v, seed %d", j.run, j.seed), Cost: j.cost}
		cell.ID = campaign.NewID(cell.Number, c.batch.options.inputs(name), keyOf(j.run, j.index), string(resolved))
		c.jobs[cell.ID] = j
		c.plan.Cells = append(c.plan.Cells, cell)
	}
	return c, nil
}

// inputs names what the results of all runs depend on in addition to their scenarios: the program,
// the clock, and the figures, which choose the measurements of a run.
func (o *Options) inputs(figures string) string {
	link := emu.Carrier("")
	if o.Clock == emu.WallClock {
		link = o.Link
	}
	return fmt.Sprintf("%q %q %q %q %d %v %v", o.Version, figures, o.Clock, link, o.Seeds, o.Codec, o.Digest)
}

// Cells returns the cells, in their order.
func (c *Campaign) Cells() []campaign.Cell { return c.plan.Cells }

// Do does the cells of a share that are not done yet, and returns how many of the share are
// void. When ctx is done, it stops and returns the error of ctx; finished cells stay. A mistake
// about the share or the directory is a *emu.Mistake.
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
			err = fmt.Errorf("%s: it ended too early", cell.Name)
			if ctx.Err() != nil {
				err = ctx.Err()
			}
		}
		if err == nil && c.batch.options.Clock == emu.VirtualClock { // where it was done has no part in it
			out.Run.WallSeconds, out.Machine = report.Missing(), emu.Computer{}
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
// returns the cells that are missing. If none is, it does the further seeds of claims near a bound.
// If all are, it writes nothing: the files that are there may be of another reproduction.
func (c *Campaign) Draw(ctx context.Context, dir string, write func(*Result) error) (missing []campaign.Cell, err error) {
	d, err := campaign.Claim(dir, &c.plan, campaign.Drawing)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	results, err := campaign.Results[outcome](d, c.plan.Cells)
	if err != nil {
		return nil, err
	}
	for i, out := range results {
		cell := c.plan.Cells[i]
		j := c.jobs[cell.ID]
		if out == nil || len(out.Values) != len(j.leaves) || len(out.Courses) != len(j.courses) {
			missing = append(missing, cell)
			continue
		}
		if out.Run.Resolved, err = resolve.Text(j.sc); err != nil {
			return nil, err
		}
		if c.batch.options.Clock == emu.VirtualClock {
			out.Machine = emu.ThisComputer()
		}
		c.batch.take(j, out)
	}
	if len(missing) == len(c.plan.Cells) {
		return missing, nil
	}
	if err := c.batch.sharpen(ctx, c.figures); err != nil {
		return missing, err
	}
	for _, j := range c.batch.jobs[len(c.plan.Cells):] {
		if j.outcome != nil {
			j.outcome.Run.WallSeconds = report.Missing()
		}
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
