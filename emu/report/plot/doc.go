// Package plot draws figures of the kind that papers print: curves over an
// axis, with units, a legend, what a source states as reference lines or bands, and
// in the corner what the figure is worth. As SVG, or as PNG.
//
// A Figure is data: fill it in and call Write. What is too much for one frame has one for each
// curve (Figure.Panels), and what is compared by its ranks is a table, Ranks. The same figure gives the same
// bytes. Colours are those of Okabe and Ito, which readers who do not see all
// colours can tell apart; each curve has a pattern of dashes (or, where single
// points are measured, a shape of points) of its own besides.
//
// The package knows nothing of runs and results: who draws says on the axis
// whether time is model time or wall time, and gives the verdict as Stamp.
//
// # Limitations
//
// Axes are linear. There is one axis on the left, so that curves of one figure
// have one unit. A frame shows at most MaxCurves curves and of each at most two
// thousand points, evenly chosen; what is left out is said in the legend. Names of
// events that stand close together are left out of the picture. Text in SVG is set in the
// reader's own sans-serif font where Liberation Sans is missing, and is stretched or
// squeezed to the width of that.
package plot
