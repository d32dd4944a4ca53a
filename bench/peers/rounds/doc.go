// Package rounds compares the speed at which systems pass over the same rows again and again. Each system clusters
// points by Lloyd's algorithm (k-means) and fits a logistic regression by Newton's steps, and is measured together with
// a plain loop in the system's programming language. The loops of different languages differ in speed, so systems are
// compared by the ratio of the system's time to the loop's time.
//
//	Bellwether   Go     worker processes, which keep the rows
//	Open MPI     C      processes, which keep the rows: local sums, then MPI_Allreduce
//	Dask         NumPy  worker processes, which keep the rows; the sums of a round are added by one of them
//
// The loops have a thread, goroutine or process for each core. The time begins when all rows are in memory. The
// programs of other systems make the same rows, and each run checks that system and loop agree in the number of rounds
// and in the loss: the sum of the squared distances, or the deviance. The command "bellwether bench rounds" compares
// Bellwether alone with a plain loop, and generates other points, and other rows of the same regression.
package rounds
