// Package scan compares the speed at which systems aggregate a file. The queries are the minimum, mean
// and maximum of a column by 413 keys, and those of ClickBench on a CSV file with the columns of its table.
//
//	Bellwether  the job scan, run in one process
//	DuckDB      its Node.js package, which the benchmark installs from npm in its temporary folder
//
// For the first query, each system reads the same CSV file, and a Parquet file with half of its rows, which DuckDB has
// written with its defaults. Each system has a thread for each core. For DuckDB, the
// benchmark measures the query, which gives the types of the CSV columns. For Bellwether, the
// benchmark measures the whole process. All minima and maxima must be equal. Means may differ in their last digits,
// because the means of DuckDB depend on the order in which it adds floats.
package scan
