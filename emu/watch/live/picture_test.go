package live

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
)

var nothing = cdp.Empty{}

// Pictures are compared loosely, since another version of a browser draws edges and letters
// otherwise: both are shrunk, each square of shrink x shrink pixels to its mean. A square differs
// when one of its colours is off by more than apart of 255, and differing of all squares may. So
// a letter that is another one passes, and a part that is missing, moved or of another colour
// does not. Letters are those of DejaVu Sans, since the widths of others would move the lines.
const (
	shrink    = 8
	apart     = 30
	differing = 0.01
)

// shrunk returns the means of the squares of a picture.
func shrunk(p image.Image) *image.RGBA {
	r := p.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, r.Dx()/shrink, r.Dy()/shrink))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var sum [3]int
			for i := range shrink * shrink {
				c := color.RGBAModel.Convert(p.At(r.Min.X+x*shrink+i%shrink, r.Min.Y+y*shrink+i/shrink)).(color.RGBA)
				sum[0], sum[1], sum[2] = sum[0]+int(c.R), sum[1]+int(c.G), sum[2]+int(c.B)
			}
			const n = shrink * shrink
			out.SetRGBA(x, y, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	return out
}

// difference returns the share of the squares that differ; 1 where the sizes do.
func difference(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 1
	}
	r := a.Bounds()
	n := 0
	for y := range r.Dy() {
		for x := range r.Dx() {
			c, d := color.RGBAModel.Convert(a.At(x, y)).(color.RGBA), color.RGBAModel.Convert(b.At(x, y)).(color.RGBA)
			for _, v := range [3]int{int(c.R) - int(d.R), int(c.G) - int(d.G), int(c.B) - int(d.B)} {
				if v > apart || v < -apart {
					n++
					break
				}
			}
		}
	}
	return float64(n) / float64(r.Dx()*r.Dy())
}

// dejaVu has the page written in DejaVu Sans; without that font there is nothing to compare.
func (b *tab) dejaVu() {
	b.t.Helper()
	if !value[bool](b, `(c => { const w = f => { c.font = "40px " + f; return c.measureText("mMwWiI10").width };
		return w("'DejaVu Sans', monospace") !== w("monospace") || w("'DejaVu Sans', serif") !== w("serif") })(document.createElement("canvas").getContext("2d"))`) {
		b.t.Skip("there is no font DejaVu Sans (fonts-dejavu-core)")
	}
	value[bool](b, "(document.body.style.fontFamily = 'DejaVu Sans', dispatchEvent(new Event('resize')))")
	b.until("fabemu.settled") // the charts are of their size
}

func decode(t testing.TB, b []byte) image.Image {
	t.Helper()
	p, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compare compares a picture with one that is kept, shrunk, or writes that with -update.
func compare(t testing.TB, file string, got []byte) {
	t.Helper()
	small := shrunk(decode(t, got))
	if *update {
		var out bytes.Buffer
		if err := png.Encode(&out, small); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := difference(decode(t, b), small)
	if t.Logf("%s: %.2f %% of it differs", file, 100*d); d > differing {
		t.Errorf("%.1f %% of %s differs, more than %.0f %%", 100*d, file, 100*differing)
	}
}

// TestModelPicturesTellApart: the comparison is loose, but sees that nothing is stopped any more,
// that a part is not there, and that the colours are others.
func TestModelPicturesTellApart(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	c, moments := congested(t)
	_, address := serve(t, c, moments, Options{Control: turning(func(string) error { return nil })})
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments === 300 && fabemu.settled")
	b.dejaVu()
	same := shrunk(decode(t, b.shot()))
	if d := difference(same, shrunk(decode(t, b.shot()))); d > 0.005 {
		t.Errorf("two pictures of the same page differ in %.2f %%", 100*d)
	}
	for _, x := range []struct{ what, script string }{
		{"nothing is stopped", "document.querySelectorAll('.lane').forEach(e => e.classList.remove('stop', 'root')), document.querySelectorAll('.wait, .pill, .wait-head, .gauge').forEach(e => e.remove())"},
		{"there is no chart", "document.querySelectorAll('.lane').forEach(e => e.classList.add('stop')), document.querySelector('#charts').remove()"},
		{"the ground is dark", "document.documentElement.style.setProperty('--ground', '#222')"},
	} {
		value[bool](b, "("+x.script+", true)")
		if d := difference(same, shrunk(decode(t, b.shot()))); d <= differing {
			t.Errorf("%s: only %.2f %% of the picture differs", x.what, 100*d)
		} else {
			t.Logf("%s: %.1f %% differs", x.what, 100*d)
		}
	}
}
