// Package plot draws charts as SVG files: lines and bars over axes, in panels one below the other.
// The package knows nothing about the meaning of the data, and writes the same bytes for the same
// figure.
//
//	Figure ── layout ──▶ shapes ──▶ WriteSVG
//
// NaN, infinities, and values that a logarithmic axis cannot show are not drawn. Only WriteSVG returns an
// error.
//
// gonum.org/v1/plot was tried on the same figures. It needed its own plotters for bars, marks
// and legends, let long labels of axes overlap, chose ticks such as 0.4 and 1.6, and adds the
// Liberation fonts to the program.
package plot
