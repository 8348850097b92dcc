// Package plot draws figures of the kind that papers print: curves over an
// axis, with units, a legend, the statements of a source as reference lines or bands, and
// the value of the figure in the corner.
//
// A Style gives the formats, SVG, PNG, PDF and CSV, and for papers the width and the size of the
// text.
//
// A Figure is data: fill it in and call Write. Where one frame is too small, each
// curve has its own (Figure.Panels). Several figures make one picture, a Stack. A comparison by
// ranks is a table, Ranks. Fabrics are pictures of a leaf-spine with values of its links. The same
// figure gives the same bytes. The colours are by Okabe and Ito: readers who do not see all colours
// can distinguish them. Dashes, or shapes of points, distinguish curves without colours.
//
// The package does not depend on runs and results: the caller names model time or wall time
// on the axis, and gives the verdict as Stamp where timing limits the figure.
//
// # Limitations
//
// The X axis is linear. There is one axis on the left, so that curves of one figure
// have one unit. A frame shows at most MaxCurves curves and of each at most two
// thousand points, evenly chosen; the legend counts the curves left out. Names of
// events that are close together are left out of the picture. Text in SVG is set in the
// reader's own sans-serif font where Liberation Sans is missing, and is stretched or
// squeezed to the width of that. PDF has no bold text, and leaves out letters that Windows-1252
// lacks.
package plot
