// Package scan compares the speed at which systems aggregate a file: the minimum, mean and maximum
// of a column by 413 keys.
//
//	Bellwether  the job scan, run in one process
//	DuckDB      its Node.js package, which the benchmark installs from npm in its temporary folder
//
// Each system reads the same CSV file, and a Parquet file with half of its rows, which DuckDB has
// written with its defaults. Both have a thread for each core. The time of DuckDB is that of the
// query, with the types of the CSV columns given. The time of Bellwether is that of its whole
// process. All minima and maxima must be equal, and the means nearly: those of DuckDB depend on the
// order in which it adds floats.
package scan
