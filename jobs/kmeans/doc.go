// Package kmeans is a job that divides the rows of a dataset into k clusters. Each row belongs to the nearest centre by
// squared Euclidean distance, and each centre is the mean of its rows (Lloyd, Least squares quantization in PCM, 1982):
//
//	round 1        largest values, sample of rows ─▶ centres of the sample
//	round 2 …      rows of each centre, their sums, inertia ─▶ means          until the inertia falls little
//	last round     rows and clusters ─▶ output, if the job has one
//
// The inertia is the sum of the squared distances of all rows to their centres. The columns are used as they are:
// divide them by their spread before if their units differ.
//
// # The first centres
//
// Round 1 takes a sample of rows, and the job clusters the sample several times. Each time begins with k rows that
// are drawn one after the other, with a probability in proportion to the squared distance to the nearest row that was
// drawn before (Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, 2007). The clustering with
// the least inertia gives the first centres (Bradley and Fayyad, Refining initial points for k-means clustering,
// 1998). The sample consists of the different rows with the lowest hash of their values and the parameter seed, with
// the number of times that each occurs. An input with fewer different rows than the sample is its own sample.
//
// A job that continues from an earlier one begins with the last centres of that job. It must have the same k and columns, and may
// have another input.
//
// # The same bytes
//
// The result depends on the values of the rows and the parameters alone: not on the workers, the block size, or the
// order of the rows and objects. Sums are exact sums of numbers with 62 bits below the largest value of their column,
// which is more than the 53 bits of the values themselves. A row that is equally near to two centres belongs to the
// first of them. A centre to which no row is nearest keeps its place, and its cluster has no rows. The centres are in
// the order of the columns of the first centres. Only the number and the sizes of the objects of an output depend on
// the block size and the names of the input.
//
// # What can fail
//
//   - A value is empty, text, NaN, infinite or above 1e100: the job fails with an error that names the object, the
//     offset of the row (of its row group in Parquet) and the column. With on-error=skip such rows are skipped and
//     counted.
//   - There are fewer different rows than k: the job fails after the first round.
//   - The rows do not fit into the memory of the workers: they are read again in each round, see jobs.Cache.
//   - Rows of CSV have quoted fields that are longer than a block: see the Rounds of package dataset.
package kmeans
