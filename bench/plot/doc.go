// Package plot draws what the benchmarks measure: lines and bars over axes, one
// panel below the other, as an SVG file. It knows nothing of what it
// draws, and draws the same bytes for the same figure.
//
//	Figure ── layout ──▶ shapes ──▶ WriteSVG
//
// What can fail is only the writing: values that a logarithmic axis cannot show,
// and values that are no numbers, are left out.
package plot
