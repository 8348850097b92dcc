package plot

import (
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Stack is figures below one another in one picture.
type Stack []*Figure

// SVG writes a stack as SVG.
func (s Stack) SVG(w io.Writer) error { return writeSVG(w, s, screen) }

func (s Stack) title() string { return s.each((*Figure).title, "; ") }

// Words describes each figure.
func (s Stack) Words() string { return s.each((*Figure).Words, " ") }

func (s Stack) each(text func(*Figure) string, between string) string {
	texts := make([]string, len(s))
	for i, f := range s {
		texts[i] = text(f)
	}
	return strings.Join(texts, between)
}

func (s Stack) height(y form) (sum vg.Length) {
	for _, f := range s {
		sum += f.height(y)
	}
	return sum
}

func (s Stack) rows() (all [][]string) {
	for i, f := range s {
		all = append(all, f.rows()[min(i, 1):]...) // one head
	}
	return all
}

func (s Stack) draw(canvas draw.Canvas, y form) error {
	for _, f := range s {
		part := canvas
		part.Min.Y = canvas.Max.Y - f.height(y)
		if err := f.draw(part, y); err != nil {
			return err
		}
		canvas.Max.Y = part.Min.Y
	}
	return nil
}
