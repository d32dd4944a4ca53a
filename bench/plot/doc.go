// Package plot draws charts as SVG files: lines and bars over axes, in panels one below the other.
// The package knows nothing about the meaning of the data, and writes the same bytes for the same
// figure.
//
//	Figure ── layout ──▶ shapes ──▶ WriteSVG
//
// NaN, infinities, and values that a logarithmic axis cannot show are not drawn. Only WriteSVG returns an
// error.
//
// gonum.org/v1/plot was tried on the same figures. With gonum, bars, marks and legends needed their own
// plotters, long labels of axes overlapped, ticks had values such as 0.4 and 1.6, and the Liberation fonts were
// added to the program.
package plot
