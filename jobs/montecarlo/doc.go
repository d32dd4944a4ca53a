// Package montecarlo is a job that prices an option by simulation: a European,
// an Asian (on the arithmetic average) or a barrier option on an asset whose
// price follows geometric Brownian motion. The result is the price, its standard
// error and a 95 % confidence interval.
//
//	seed ─┐
//	      Philox4x32-10 ─ two uniforms ─ inverse normal ─ two steps of the path
//	path ─┘                                                       │
//	                            payoff ─ count, mean, squares ─ merge ─ price
//
// A path's random numbers are a function of the seed and the path's number alone,
// so it is the same path in whichever partition and on whichever machine it is
// simulated. Partials are merged by the pairwise formula for mean and variance,
// which loses little to rounding.
//
// Every product that is added is rounded first, and exp and log are the package's
// own: those of package math differ in the last bit between processors. So a
// fleet of mixed architectures gives the same bytes.
//
// Asian and barrier options look at the price at the end of each of steps equal
// periods. A barrier that is watched at discrete times is hit less often than one
// that is watched continuously, and its option priced accordingly. Neither looks
// at the price at the beginning. A European option needs the last price only,
// which takes one step.
//
// Nothing here fails but for a context that is done.
package montecarlo
