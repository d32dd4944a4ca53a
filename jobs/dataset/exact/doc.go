// Package exact adds decimal numbers without rounding. A [Number] is parsed from the text of a
// field. A [Sum] of numbers depends neither on the order of the additions nor on the division into
// partial sums. Means and variances are computed from exact sums and are rounded only once:
//
//	text "15.20" ─▶ Number 1520·10^-2 ─▶ Sum, 128 bits, or any size if that is too small
//
// [Parse] returns false for text that is not a decimal number, such as "NaN", and for numbers that
// have more than [MaxDigits] digits when written without an exponent.
package exact
