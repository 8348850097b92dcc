package draw

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// colours of groups. People who see colours in different ways can distinguish them
// (Okabe and Ito).
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c8c00"}

func colour(group int) string { return colours[group%len(colours)] }

// svg is a picture as it is written.
type svg struct {
	strings.Builder
}

func (s *svg) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

// SVG draws a scenario, laid out as f. Links that are equal outputs have their loads, if there are
// some.
func SVG(w io.Writer, s *scenario.Scenario, f *fabric.Fabric, l *Loads) error {
	p := newPicture(s, f, l)
	width, height := p.layout()
	legend := p.legend()
	head := 70.0
	if s.Description == "" {
		head -= 18
	}
	wide := max(width, letter*float64(len(s.Description)), small*float64(len(p.caption())))
	for _, text := range legend {
		wide = max(wide, 40+small*1.05*float64(len(text)))
	}
	total := head + height + 22 + 20*float64(len(legend))

	out := &svg{}
	out.line(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" class="fabric" role="img" aria-label="%s">`,
		wide+2*margin, total+2*margin, wide+2*margin, total+2*margin, html.EscapeString("The fabric of "+s.Name))
	out.line(`<title>%s</title>`, html.EscapeString("The fabric of "+s.Name))
	out.line(`<desc>%s</desc>`, html.EscapeString(p.words()))
	out.line(`<style>%s</style>`, dark)
	out.line(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	out.line(`<text x="%.0f" y="%.0f" font-size="17" font-weight="bold" fill="#1f2933">%s</text>`,
		margin, margin+13, html.EscapeString(s.Name))
	y := margin + 13
	if s.Description != "" {
		y += 19
		out.line(`<text x="%.0f" y="%.0f" font-size="12.5" fill="#3e4c59">%s</text>`,
			margin, y, html.EscapeString(s.Description))
	}
	out.line(`<text x="%.0f" y="%.0f" font-size="11.5" fill="#7b8794">%s</text>`,
		margin, y+18, html.EscapeString(p.caption()))
	out.line(`<g transform="translate(%.1f %.1f)">`, margin+(wide-width)/2, margin+head)
	for i := range p.edges {
		p.drawLink(out, i)
	}
	for i := range p.edges {
		p.drawStrands(out, i)
	}
	for i := range p.nodes {
		p.drawNode(out, &p.nodes[i])
	}
	p.drawLabels(out)
	out.line(`</g>`)
	for i, text := range legend {
		at := margin + head + height + 30 + 20*float64(i)
		if i < len(p.groups) && i < mostLegend {
			out.line(`<path d="M%.0f %.1fh24" stroke="%s" stroke-width="3" stroke-linecap="round"/>`,
				margin, at-4, colour(i))
		}
		out.line(`<text x="%.0f" y="%.1f" font-size="12" fill="#3e4c59">%s</text>`, margin+34, at, text)
	}
	out.line(`</svg>`)
	_, err := io.WriteString(w, out.String())
	return err
}

// dark changes the colours for a dark ground.
const dark = `@media (prefers-color-scheme: dark) { .fabric rect[fill="#ffffff"] { fill: #1b1b1b; } .fabric rect[fill="#323f4b"] { fill: #46586a; } ` +
	`.fabric [fill="#1f2933"], .fabric [fill="#3e4c59"] { fill: #ddd; } .fabric [fill="#7b8794"] { fill: #aaa; } ` +
	`.fabric [stroke="#d9dfe5"] { stroke: #444; } .fabric [stroke="#ffffff"] { stroke: #1b1b1b; } }`

// words describes the picture for readers who do not see it.
func (p *picture) words() string {
	var parts []string
	if p.scenario.Description != "" {
		parts = append(parts, strings.TrimSuffix(p.scenario.Description, "."))
	}
	var links []string
	for i := range p.edges {
		e := &p.edges[i]
		link := p.nodes[e.a].label + " - " + p.nodes[e.b].label
		if e.label != "" {
			link += " (" + e.label + ")"
		}
		links = append(links, link)
	}
	if links != nil {
		parts = append(parts, "Links: "+strings.Join(links, "; "))
	}
	for i := range p.groups {
		parts = append(parts, "Flows "+p.groups[i].Name+": "+p.describe(&p.groups[i]))
	}
	parts = append(parts, p.loads.lines()...)
	if c := p.changes(); c != nil {
		parts = append(parts, "Changes: "+strings.Join(c, "; "))
	}
	return strings.Join(parts, ". ") + "."
}

// caption gives the common properties of most links.
func (p *picture) caption() string {
	return fmt.Sprintf("Links: %v, unless labelled otherwise. %s of model time.", p.common, unit.Text(p.scenario.Model.Duration))
}

// mostLegend is how many groups the legend explains.
const mostLegend = 24

// legend explains the colours, and lists the changes.
func (p *picture) legend() []string {
	var lines []string
	for i := range p.groups[:min(len(p.groups), mostLegend)] {
		g := &p.groups[i]
		lines = append(lines, fmt.Sprintf(`<tspan font-weight="bold">%s</tspan><tspan dx="7">%s</tspan>`,
			html.EscapeString(g.Name), html.EscapeString(p.describe(g))))
	}
	if more := len(p.groups) - mostLegend; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d groups more, in the same colours again", more))
	}
	for _, c := range slices.Concat(p.loads.lines(), p.changes()) {
		lines = append(lines, html.EscapeString(c))
	}
	return lines
}

// curve is the path of an edge: a cubic Bézier curve, with the shift of a strand.
type curve [4][2]float64

// curve returns the curve of an edge, shifted to the side by so much.
func (p *picture) curve(i int, shift float64) curve {
	e := &p.edges[i]
	a, b := &p.nodes[e.a], &p.nodes[e.b]
	switch {
	case e.beside:
		return curve{{e.ax, e.ay + shift}, {e.ax, e.ay + shift}, {e.bx, e.by + shift}, {e.bx, e.by + shift}}
	case a.rank == b.rank: // over those between
		up := 34 + min(math.Abs(e.ax-e.bx)*0.06, 50)
		return curve{{e.ax + shift, e.ay}, {e.ax + shift, e.ay - up + shift}, {e.bx - shift, e.by - up + shift},
			{e.bx - shift, e.by}}
	default:
		// A shift to the right on the steep parts becomes a shift up or down where the
		// path goes to the side, so that strands stay apart.
		aside, down := e.bx-e.ax, e.by-e.ay
		turn := min(math.Abs(aside/down), 1)
		if aside*down > 0 {
			turn = -turn
		}
		middle := (e.ay+e.by)/2 + 4./3*turn*shift
		return curve{{e.ax + shift, e.ay}, {e.ax + shift, middle}, {e.bx + shift, middle}, {e.bx + shift, e.by}}
	}
}

// aside returns how far a strand of an edge is shifted.
func (p *picture) aside(e *edge, k int) float64 {
	return p.gap * (float64(k) - float64(len(e.strands)-1)/2)
}

func (c curve) path() string {
	if c[0] == c[1] && c[2] == c[3] {
		return fmt.Sprintf("M%.1f %.1fL%.1f %.1f", c[0][0], c[0][1], c[3][0], c[3][1])
	}
	return fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f",
		c[0][0], c[0][1], c[1][0], c[1][1], c[2][0], c[2][1], c[3][0], c[3][1])
}

// at returns the point at a part t of the path, and the direction there in degrees.
func (c curve) at(t float64) (x, y, degrees float64) {
	u := 1 - t
	weigh := func(k int) float64 {
		return u*u*u*c[0][k] + 3*u*u*t*c[1][k] + 3*u*t*t*c[2][k] + t*t*t*c[3][k]
	}
	slope := func(k int) float64 {
		return 3*u*u*(c[1][k]-c[0][k]) + 6*u*t*(c[2][k]-c[1][k]) + 3*t*t*(c[3][k]-c[2][k])
	}
	return weigh(0), weigh(1), math.Atan2(slope(1), slope(0)) * 180 / math.Pi
}

func (p *picture) drawLink(out *svg, i int) {
	e := &p.edges[i]
	link := p.fabric.Wires[e.links[0]].Link
	wider := 3.0
	if !math.IsNaN(e.over) {
		wider = 7
	}
	out.line(`<path d="%s" fill="none" stroke="%s" stroke-width="%.1f"><title>%s: %s</title></path>`,
		p.curve(i, 0).path(), loadColour(e.over), p.thickness(i)+wider, html.EscapeString(link.Name),
		html.EscapeString(propertiesOf(link).String()))
}

// drawStrands draws the groups that cross a link, with heads that show where they
// go.
func (p *picture) drawStrands(out *svg, i int) {
	e := &p.edges[i]
	between := p.nodes[e.a].rank > 0 && p.nodes[e.b].rank > 0
	for k, st := range e.strands {
		c := p.curve(i, p.aside(e, k))
		out.line(`<path d="%s" fill="none" stroke="%s" stroke-width="2.4"><title>%s</title></path>`,
			c.path(), colour(st.group), html.EscapeString(p.groups[st.group].Name))
		at, turn := 0.54, 0.0 // an arrow's head in the middle, or where the path ends
		if st.arrives {
			at = 1
		}
		if !st.forward {
			at, turn = 1-at, 180
		}
		if st.arrives || between {
			head(out, c, at, turn, st.group)
		}
	}
}

// head draws an arrow's head at a part of a curve; at an end of it, before the
// node that is there.
func head(out *svg, c curve, t, turn float64, group int) {
	x, y, degrees := c.at(t)
	if t == 0 || t == 1 {
		_, _, degrees = c.at(0.05 + 0.9*t)
		back := (degrees + turn) * math.Pi / 180
		x, y = x-5*math.Cos(back), y-5*math.Sin(back)
	}
	out.line(`<path d="M-5 -4.5L4.5 0L-5 4.5Z" fill="%s" transform="translate(%.1f %.1f) rotate(%.0f)"/>`,
		colour(group), x, y, degrees+turn)
}

// drawNode draws a node, or a pile of them.
func (p *picture) drawNode(out *svg, n *node) {
	x, y := n.x-n.w/2, n.y-n.h/2
	if n.rank == 0 {
		out.line(`<g><title>%s</title>`, html.EscapeString(n.label))
		for k := min(len(n.nodes)-1, 2); k >= 0; k-- {
			d := 3 * float64(k)
			out.line(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="13" fill="#ffffff" stroke="#9aa5b1" stroke-width="1.2"/>`,
				x+d, y+d, n.w, n.h)
		}
		out.line(`<text x="%.1f" y="%.1f" font-size="12" text-anchor="middle" fill="#1f2933">%s</text></g>`,
			n.x, n.y+4, html.EscapeString(n.label))
		return
	}
	out.line(`<g><title>switch %s</title>`, html.EscapeString(n.label))
	out.line(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" fill="#323f4b"/>`, x, y, n.w, n.h)
	text := n.y + 5
	if n.note != "" {
		text = n.y - 3
		out.line(`<text x="%.1f" y="%.1f" font-size="10.5" text-anchor="middle" fill="#cbd2d9">%s</text>`,
			n.x, n.y+13, html.EscapeString(n.note))
	}
	out.line(`<text x="%.1f" y="%.1f" font-size="14" font-weight="bold" text-anchor="middle" fill="#ffffff">%s</text></g>`,
		n.x, text, html.EscapeString(n.label))
}

// labelAt returns the place of a link's label: on the far side of an endpoint,
// above a link between neighbours, on any other, at a part t of its length.
func (p *picture) labelAt(i int, t float64) (x, y float64) {
	e := &p.edges[i]
	a, b := &p.nodes[e.a], &p.nodes[e.b]
	half := p.thickness(i) / 2
	switch {
	case a.rank == 0 || b.rank == 0:
		end := a
		if b.rank == 0 {
			end = b
		}
		x, y = end.x, end.y-boxHeight/2-7
		if end.below {
			y = end.y + boxHeight/2 + 16
		}
	case e.beside:
		x, y = (e.ax+e.bx)/2, e.ay-half-7
	default:
		x, y, _ = p.curve(i, 0).at(t)
		if a.rank == b.rank {
			y -= half + 8
		}
		y += 4
	}
	return x, y
}

// labelParts are the possible places of a label, as parts of the link's length, the best first.
var labelParts = [...]float64{0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8, 0.14, 0.86}

// box is the area that a label covers, by its middle.
type box struct{ x, y, w, h float64 }

// over returns the area that two boxes have in common.
func (a box) over(b box) float64 {
	w := (a.w+b.w)/2 - math.Abs(a.x-b.x)
	h := (a.h+b.h)/2 - math.Abs(a.y-b.y)
	return max(w, 0) * max(h, 0)
}

// labelBoxes returns the places of the labels of links, apart from nodes and from one another
// where there is room: those that have one place first.
func (p *picture) labelBoxes() map[int]box {
	boxes := make(map[int]box)
	var taken []box
	for i := range p.nodes {
		n := &p.nodes[i]
		taken = append(taken, box{n.x, n.y, n.w, n.h})
	}
	place := func(i int, parts []float64) {
		best, least := box{}, math.Inf(1)
		for _, t := range parts {
			x, y := p.labelAt(i, t)
			b := box{x, y - 4, small*float64(len(p.edges[i].label)) + 8, 13}
			over := 0.0
			for _, other := range taken {
				over += b.over(other)
			}
			if over < least {
				best, least = b, over
			}
		}
		boxes[i], taken = best, append(taken, best)
	}
	for _, movable := range []bool{false, true} {
		for i := range p.edges {
			e := &p.edges[i]
			fixed := e.beside || p.nodes[e.a].rank == 0 || p.nodes[e.b].rank == 0
			switch {
			case e.label == "" || fixed == movable:
			case fixed:
				place(i, labelParts[:1])
			default:
				place(i, labelParts[:])
			}
		}
	}
	return boxes
}

// drawLabels writes the special properties of links.
func (p *picture) drawLabels(out *svg) {
	boxes := p.labelBoxes()
	for i := range p.edges {
		if b, ok := boxes[i]; ok {
			out.line(`<text x="%.1f" y="%.1f" font-size="11.5" text-anchor="middle" fill="#3e4c59" stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke">%s</text>`,
				b.x, b.y+4, html.EscapeString(p.edges[i].label))
		}
	}
}
