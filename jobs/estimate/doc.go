// Package estimate has confidence intervals for the estimates of running jobs: of means ([Moments]) and of
// proportions ([Proportion]). A definition's Estimate and Stop, described in package jobs, can use them:
//
//	Estimate: func(_ context.Context, _ params, prefix estimate.Moments, n uint64) (any, error) {
//		return prefix.Interval(estimate.Look(0.95, n)), nil
//	},
//	Stop: func(_ context.Context, p params, prefix estimate.Moments, n uint64) (bool, error) {
//		return prefix.Count >= 1000 && prefix.StandardError() <= p.Error, nil
//	},
//
// # Repeated looks
//
// A 95 % interval that is computed once is wrong in 5 % of the runs. Somebody who looks at every rung of a job,
// and stops when an interval shows what he hoped for, is wrong far more often. [Look] therefore splits the error
// budget over the rungs. By Bonferroni's inequality the intervals of all rungs of a run are right at once with at
// least the given confidence, whatever rule stops the job and however the estimates of the rungs depend on each
// other. The number of rungs grows with the logarithm of the number of partitions, so the price is small: at the
// 76 rungs of a million partitions a 95 % interval has at most 4.5 standard errors on each side in place of 2.0.
// Spending the budget over geometrically growing sample sizes is also how confidence sequences are built: Darling,
// Robbins, Confidence sequences for mean, variance, and median, PNAS 58, 1967; Howard, Ramdas, McAuliffe, Sekhon,
// Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of Statistics 49, 2021.
//
// A job that stops when its standard error is small enough does not look at the value, and needs no larger
// interval: for this rule the interval of one look stays right as the accuracy becomes finer (Chow, Robbins, On the
// asymptotic theory of fixed-width sequential confidence intervals for the mean, Annals of Mathematical Statistics
// 36, 1965). The rule must not stop after a few numbers, whose standard error may be small by chance.
//
// # Bit identity
//
// The functions round each product before it is added, and use no function of package math that differs between
// processors.
package estimate
