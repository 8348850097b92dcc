package plot

import (
	"image/color"
	"math"
	"testing"
)

// linear returns the red, green and blue of a colour as shares of light (IEC 61966-2-1).
func linear(c color.RGBA) (out [3]float64) {
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		x := float64(v) / 255
		if out[i] = x / 12.92; x > 0.04045 {
			out[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return out
}

// seen are the colours as readers see them who lack one kind of cones (G. M. Machado, M. M.
// Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency", 2009, table 1, severity 1.0), and as others do.
var seen = map[string][3][3]float64{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// lab converts shares of light to CIE L*a*b* (D65).
func lab(c [3]float64) (out [3]float64) {
	x := 0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]
	y := 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
	z := 0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]
	f := func(t float64) float64 {
		if t > 0.008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16.0/116
	}
	a, b, d := f(x/0.9505), f(y), f(z/1.089)
	return [3]float64{116*b - 16, 500 * (a - b), 200 * (b - d)}
}

// TestPalette: any two colours of curves differ for all readers, by at least five times what is
// just noticeable (2.3 in L*a*b*), and each differs from the white ground in lightness. The bounds
// are ours. Curves differ in dashes and points as well (TestCurvesInGrey).
func TestPalette(t *testing.T) {
	const apart, contrast = 11.5, 1.9
	for who, matrix := range seen {
		var all [][3]float64
		for _, c := range palette {
			in, out := linear(c), [3]float64{}
			for i := range out {
				for k := range in {
					out[i] += matrix[i][k] * in[k]
				}
				out[i] = min(max(out[i], 0), 1)
			}
			if r := 1.05 / (0.2126*out[0] + 0.7152*out[1] + 0.0722*out[2] + 0.05); r < contrast { // WCAG 2.1, contrast ratio
				t.Errorf("%s: %v has a contrast of %.1f on white", who, c, r)
			}
			all = append(all, lab(out))
		}
		for i := range all {
			for k := range i {
				if d := math.Sqrt(math.Pow(all[i][0]-all[k][0], 2) + math.Pow(all[i][1]-all[k][1], 2) + math.Pow(all[i][2]-all[k][2], 2)); d < apart {
					t.Errorf("%s: %v and %v differ by %.1f", who, palette[i], palette[k], d)
				}
			}
		}
	}
}
