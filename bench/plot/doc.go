// Package plot draws charts as SVG files. A chart has lines and bars over axes, in panels one below
// the other. The same figure always gives the same bytes.
//
//	Figure ── layout ──▶ shapes ──▶ WriteSVG
//
// NaN, infinities, and values that a logarithmic axis cannot show are not drawn. Only WriteSVG returns an
// error.
//
// The package gonum.org/v1/plot draws the same figures less well. With gonum, bars, marks and
// legends need custom plotters, long labels of axes overlap, ticks have values such as 0.4 and 1.6,
// and the program contains the Liberation fonts.
package plot
