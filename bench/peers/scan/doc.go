// Package scan compares the speed at which systems aggregate a file. The queries are the minimum, mean
// and maximum of a column by 413 keys, those of ClickBench on a CSV file with the columns of its table, and the count and the
// sum by a key that is in one row each, more keys than fit into memory, written to CSV files.
//
//	Bellwether  the job scan, run in one process; the last query in a cluster of worker processes with one slot and 1 GiB each
//	DuckDB      its Node.js package, which the benchmark installs from npm in its temporary folder; the last query with 2 GB
//
// For the first query, each system reads the same CSV file, and a Parquet file with half of its rows, which DuckDB has
// written with its defaults. Each system has a thread for each core. For DuckDB, the
// benchmark measures the query, which gives the types of the CSV columns, except in the last query. For Bellwether, the
// benchmark measures the whole process, or in a cluster the time from the submission to the durable result. All minima and maxima
// must be equal, and all lines of the last query. Means may differ in their last digits,
// because the means of DuckDB depend on the order in which it adds floats.
package scan
