// Package glm is a job that fits a generalised linear model: linear, logistic or Poisson regression of a column, the
// target, on other columns of a dataset. The result has a table with estimate, standard error, t or z and p of each
// coefficient, and the deviance, which the fit minimises.
//
//	rows ─ round 1: extremes and means of the columns ─▶ scales, null model
//	     ─ round 2, 3, …: X'WX, X'(y-μ), deviance ─▶ Newton's step ─▶ coefficients of the next round
//	                                                    └─▶ done if the deviance has converged
//
// Each round is a pass over the rows, which workers keep in memory between rounds (see package dataset). The links
// are the canonical ones, identity, logit and log, so Newton's method is iteratively reweighted least squares. A
// linear model needs three rounds, the others usually six to ten. If a step makes the deviance larger, the next round
// tries half of it.
//
// A job that continues from an earlier one computes the sums of the null model in round 2 too, because the result has its
// deviance. Round 3 then begins with the best coefficients of the earlier job, if they fit better than the null model; with the same rows it
// is the last round or the last but one. Family, target,
// columns and intercept must be those of the earlier job. Input, ridge and tolerance may differ.
//
// # The same bytes for every block size
//
// The result does not depend on the order of the rows, on their division into objects and partitions, or on the
// number of workers. All sums over rows are sums of integers, which have no rounding errors:
//
//   - The columns are centred at their mean, if the model has an intercept, and divided by a power of two, so that
//     they are at most 1 in magnitude. X'WX of scaled columns can also be solved if those of the columns cannot: for
//     the data of Longley, a test of least squares, 12 of the 15 certified digits are right.
//   - Each product of a row is cut off 52 bits after the leading bit of the row's weight for X'WX, and 52 bits after
//     that of the residual for X'(y-μ). What is left is added as integers. The error of a sum is about the sum of the
//     rows' weights times 2^-52 at most, which is not more than that of a sum of floats.
//   - Deviance, means and the likelihood's constants are exact sums of the rows' numbers.
//
// Package portable has exp, log and the distributions, so that all architectures compute the same bits.
//
// # Convergence
//
// The fit ends if the deviance d, with the penalty of a ridge, changes by less than tolerance·(|d|+0.1) in a step, as
// in R's glm, or if the next step would change it by less than rounding errors do. Unlike in R, the fit begins with
// the null model, which has only the intercept, and standard errors are those at the final coefficients, so
// iterations may differ, and the last digits of standard errors too if the tolerance is not small. Estimates and
// standard errors agree with certified and exact values to at least 10 digits with tolerance=1e-13. With the default,
// 1e-8 as in R, those of logistic and Poisson models usually have 8 digits or more.
//
// # Errors
//
// A job fails with an error that names the object, the byte and the column if a value is not a number from -1e100 to
// 1e100, is missing or is NaN, or if a target is not 0 or 1 (logistic) or not a count (poisson). With on-error=skip
// such rows are skipped and counted.
//
// After the first passes it fails, for good and with the names of columns,
//
//   - if a column is a linear combination of others or constant. R leaves such columns out; here the user must
//     decide. A column counts as a combination if the others explain all but 1e-12 of its variance.
//   - if coefficients grow without end, because a combination of columns separates targets 0 from others. R shows
//     large coefficients and standard errors in this case. The next Newton step after convergence tells: it still
//     moves the linear predictor.
//   - if there are not more rows than coefficients, or all targets are the same.
//
// A fit that the largest number of rounds ends is not an error. Its result says that it has not converged.
//
// # Ridge
//
// With a ridge the fit minimises deviance + ridge·Σβ², in the units of the columns and without the intercept: as
// alpha of scikit-learn's Ridge and 1/C of its LogisticRegression. Standard errors are then roots of the diagonal of
// the inverse of X'WX and the ridge.
package glm
