// Package aggregate compares the speed at which systems add vectors of numbers. Each system is
// measured together with a plain loop in the system's programming language. The loops of different
// languages differ in speed, so systems are compared by the ratio of the system's time to the
// loop's time.
//
//	Bellwether   Go     4 worker processes; its run in one process
//	Open MPI     C      4 processes: local sums, then MPI_Reduce
//	Dask         NumPy  4 worker processes: a tree of sums
//	Redis        NumPy  4 worker processes take partitions from a list and keep a sum
//
// The loops, and Bellwether's run in one process, have a goroutine, thread or process for each
// core, and reuse their memory. All systems compute the same numbers, and each run checks the sum.
package aggregate
