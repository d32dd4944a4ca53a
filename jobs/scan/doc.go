// Package scan is a job for those who write no code: it filters, groups, aggregates and sorts the
// records of files or blobs, and its result is a table.
//
//	bellwether run scan -p 'input=logs/*.csv.zst' -p by=station -p 'aggregate=count,min(t),mean(t),p99(t)'
//	bellwether submit scan -p input=azblob://logs/2026-11/ -p 'where=status >= 500' -p by=host \
//		-p 'aggregate=count,distinct(user)' -p order=-count -p limit=20 --wait
//
//	record ─▶ where ─▶ group of by ─▶ states of the aggregates     partial: a table
//	                                                               Merge: by group
//	                                                               Finish: results, order, limit
//
// The records come from package dataset, which has the formats, the sources and their errors.
//
// # Values
//
// A field is text. Where a number is needed, it is an exact decimal. An empty field, null and a
// missing JSON member are no values: aggregates leave them out, and comparisons with numbers are
// not true.
//
//	count          rows                             integer
//	count(x)       values                           integer
//	sum(x)         exact                            decimal, a string in JSON
//	min(x) max(x)  of numbers, or of texts by bytes decimal or text
//	mean(x)        of exact sums, rounded once      float
//	var(x)         of a sample, of exact sums       float
//	stddev(x)      square root of var(x)            float
//	distinct(x)    HyperLogLog above 4096 values    integer; the column's note has the error
//	p50(x) …       from a histogram of relative     float; the column's note has the error
//	               bins; the value of rank ⌈qn⌉
//
// All states are independent of the order of records and of the block size, so the result is
// the same bytes for every block size, number of workers and processor. The result is sorted by
// order, then by the groups; rows without aggregates stay in the order of the objects.
//
// The parameter where is an expression of package expr. Comparisons of a column with a constant,
// and their combinations by and, or and not, compare exact decimals. Other expressions see a number as
// a float64, and a column that is compared with text as text.
//
// # What can fail
//
//   - The parameters: an unknown function, a syntax error in where, a column in order that the
//     result does not have. They are refused when the job is submitted.
//   - A column does not exist: the plan fails and the error names the columns that do. They are known
//     only when the first object is opened.
//   - A field is no number where one is needed: an error of the record, which fails the job or is
//     skipped, depending on on-error.
//   - A column of min or max has numbers and texts: Finish fails and names one of each.
//   - A result without aggregates has more than 100,000 rows: Finish fails.
package scan
