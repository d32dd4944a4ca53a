// Package hostile tests a cluster of real processes with jobs that misbehave on purpose. Each function of a
// definition (Plan, Open, Fork, Map, Merge, Finish, the Codec's Encode and Decode, and the mapper's Close)
// misbehaves in each of the following ways:
//
//	exit       end the process
//	panic      panic in another goroutine, which ends the process
//	overflow   overflow the stack, which ends the process after a traceback that takes time
//	allocate   allocate until the process reaches its memory limit
//	goexit     call runtime.Goexit
//	hang       not return, whatever its context says
//	slow       take long
//	garbage    return what the function must not return
//
// A supervisor restarts each worker that ends. For each case the tests check:
//
//   - The job fails with an error that names the function and its misbehaviour. A slow job, and a
//     job whose Close misbehaves, completes.
//   - At most five worker processes die.
//   - Another job continues at no less than half of its normal speed. The normal speed is
//     measured on the same cluster without a hostile job, and measured again after the case if
//     the case seems slow.
//   - Other jobs can be cancelled at any time: the median cancellation takes at most 2 s.
//   - All workers end on SIGTERM even while code of a job hangs in them.
//
// In the end the other job must complete with the same result as without a hostile job.
//
// # Running it
//
//	make hostile STORAGE=azure CASE=open_exit
//
// The ordinary tests run only some of the cases, one for each mechanism of protection, on
// JetStream.
package hostile
