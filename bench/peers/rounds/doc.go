// Package rounds compares the speed at which systems pass over the same points again and again. Each system clusters
// points by Lloyd's algorithm (k-means), and is measured together with a plain loop in the system's programming
// language. The loops of different languages differ in speed, so systems are compared by the ratio of the system's
// time to the loop's time.
//
//	Bellwether   Go     worker processes, which keep the points
//	Open MPI     C      processes, which keep the points: local sums, then MPI_Allreduce
//	Dask         NumPy  worker processes, which keep the points; the sums of a round are added by one of them
//
// The loops have a thread, goroutine or process for each core. The time begins when all points are in memory. The
// programs of other systems make points around centres, and each run checks that the losses of system and loop agree.
// The command "bellwether bench rounds" compares Bellwether alone with a plain loop, and generates other points.
package rounds
