// Package exact adds decimal numbers without rounding. A [Number] is parsed from the text of a field,
// and a [Sum] of numbers does not depend on their order or on where they are cut. Means and
// variances are rounded once, when they are computed from exact sums:
//
//	text "15.20" ─▶ Number 1520·10^-2 ─▶ Sum, 128 bits, or any size if that is too small
//
// What can fail: [Parse] reports false for text that is no decimal number, such as "NaN", and for
// numbers with more than [MaxDigits] digits when they are written without an exponent.
package exact
