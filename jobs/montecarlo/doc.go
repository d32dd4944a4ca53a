// Package montecarlo is a job that prices an option by simulation. The option is a European, an
// Asian (on the arithmetic average) or a barrier option. The price of the asset follows geometric
// Brownian motion. The result is the price, its standard error and a 95 % confidence interval.
//
//	seed ─┐
//	      Philox4x32-10 ─ two uniforms ─ inverse normal ─ two steps of the path
//	path ─┘                                                       │
//	                            payoff ─ count, mean, squares ─ merge ─ price
//
// A path's random numbers depend on the seed and the path's number alone, so a path is the
// same in any partition and on any machine. Partials are merged by the pairwise formula
// for mean and variance, which has small rounding errors.
//
// Workers of different architectures compute the same bytes. Each product is rounded before it is
// added. Package portable has exp and log, because math.Exp and math.Log differ in the last bit between
// processors.
//
// For Asian and barrier options, the parameter steps divides the time to maturity into equal
// periods. Only the prices at the ends of the periods are used. A barrier that is observed only at
// these times is hit less often than a barrier that is observed continuously, so the computed price
// differs from the price with continuous observation. A European option needs only the last price,
// so its paths have one step.
//
// A running job has estimates of the price. Their intervals hold at all rungs at once with 95 % (see package
// jobs/estimate). With the parameter error or relative-error the job stops at the first rung whose standard error
// is small enough, after at least 1,000 paths and not before some payoffs differ. The interval in the result is that
// of one look, because this rule does not look at the price.
//
// The job fails only if the context is done.
package montecarlo
